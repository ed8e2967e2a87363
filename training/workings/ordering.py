"""Clues in option letters, then places filled from the left with tests and dead ends, then the clues checked."""

from __future__ import annotations

from random import Random

from thinkcap.tasks.families.problem import LETTERS, Problem
from training.workings.piece import Piece, looks_again


def steps_of(problem: Problem) -> int:
    return 1


def _order(problem: Problem) -> list[str]:
    return [LETTERS[t] for t in problem.work["order"]]


def _short(clue: tuple[str, int, int]) -> str:
    kind, a, b = clue
    return f"{LETTERS[a]}={b + 1}" if kind == "=" else f"{LETTERS[a]}<{LETTERS[b]}"


def brief(problem: Problem, rng: Random, start: int = 0) -> str:
    if start:
        return ""
    clues = ""
    if rng.random() < 0.4:
        clues = "; ".join(_short(c) for c in problem.work["clues"]) + "\n"
    return clues + " ".join(_order(problem)) + "\n"


def quick(problem: Problem, rng: Random) -> str:
    """The answer at once; now and then the order first."""
    return brief(problem, rng) if rng.random() < 0.4 else ""


def think(problem: Problem, rng: Random, slip: bool = False) -> list[Piece]:
    work = problem.work
    count = len(work["order"])
    pieces = [Piece(", ".join(f"{LETTERS[i]} {t}" for i, t in enumerate(work["things"])) + "\n", 0)]
    for words, clue in zip(work["lettered"], work["clues"], strict=True):
        pieces.append(Piece(f"{words}: {_short(clue)}\n", 0))
    facts = []
    for t in range(count):
        pin = f"@{work['pins'][t] + 1}" if t in work["pins"] else ""
        facts.append(f"{LETTERS[t]}{pin}" + "".join(f"<{LETTERS[n]}" for n in work["needs"][t]))
    pieces.append(Piece("; ".join(facts) + "\n", 0))
    search, dead = _search(problem)
    pieces += search
    order = _order(problem)
    deserved = dead or count >= 5
    second = (slip and deserved) or looks_again(deserved, rng)
    if slip and second:
        at = rng.randrange(count - 1)
        wrong = list(order)
        wrong[at], wrong[at + 1] = wrong[at + 1], wrong[at]
        pieces.append(Piece("Order", 0, sound=False))
        pieces.append(Piece(f" {' '.join(wrong)}\n", 0, learn=False, sound=False))
        text, good = _checked(problem, wrong)
        pieces.append(Piece(text, 0, sound=False))
        if not good:
            pieces.append(Piece("Wait, no. Again.\n", 0))
            pieces += search
    pieces.append(Piece(f"Order {' '.join(order)}\n", 1))
    if second:
        pieces.append(Piece(_checked(problem, order)[0], 1))
    asked = work["asked"]
    pieces.append(Piece(f"{work['claim']}: {asked + 1} {order[asked]}\n", 1))
    return pieces


def _search(problem: Problem) -> tuple[list[Piece], bool]:
    """The search node by node, and whether it met a dead end."""
    pieces = []
    dead = False
    for placed, tests in problem.work["nodes"]:
        told = []
        for thing, why, which in tests:
            mark = {"@": f"@{which + 1}", "<": f"<{LETTERS[which]}", "+": "+"}[why]
            told.append(f"{LETTERS[thing]}{mark}")
        if not tests or tests[-1][1] != "+":
            told.append("dead")
            dead = True
        before = " ".join(LETTERS[t] for t in placed)
        pieces.append(Piece(f"{before}{' ' if before else ''}{len(placed) + 1}: {', '.join(told)}\n", 0))
    return pieces, dead


def _checked(problem: Problem, order: list[str]) -> tuple[str, bool]:
    """Every clue against the order, up to the first that fails."""
    told = []
    for kind, a, b in problem.work["clues"]:
        x = order.index(LETTERS[a]) + 1
        y = b + 1 if kind == "=" else order.index(LETTERS[b]) + 1
        holds = x == y if kind == "=" else x < y
        told.append(f"{_short((kind, a, b))} {x}{kind}{y} {'yes' if holds else 'no'}")
        if not holds:
            return "; ".join(told) + "\n", False
    return "; ".join(told) + "\n", True
