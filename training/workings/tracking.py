"""Who holds which option letter after each swap; then, where it deserves it, one person followed backwards."""

from __future__ import annotations

from random import Random

from thinkcap.tasks.families.problem import Problem
from training.workings.piece import Piece, looks_again


def steps_of(problem: Problem) -> int:
    return len(problem.work["swaps"])


def brief(problem: Problem, rng: Random, start: int = 0) -> str:
    work = problem.work
    count = len(work["swaps"])
    if start == count:
        return ""
    first = " ".join(work["states"][0]) + "\n" if start == 0 else ""
    if rng.random() < 0.3:
        return first + "".join(" ".join(s) + "\n" for s in work["states"][start + 1 :])
    # Many swaps are taken two at a time, which is quicker and goes wrong more often.
    stride = 1 if count - start <= 4 else 2
    lines = []
    for at in range(start, count, stride):
        taken = work["swaps"][at : at + stride]
        told = ", ".join(f"{work['people'][a]} {work['people'][b]}" for a, b in taken)
        lines.append(f"{told}: {' '.join(work['states'][at + len(taken)])}\n")
    return first + "".join(lines)


def quick(problem: Problem, rng: Random) -> str:
    """Half of the swaps at a time, which often goes wrong; now and then one at a time."""
    work = problem.work
    count = len(work["swaps"])
    if rng.random() < 0.4:
        return brief(problem, rng)
    stride = 3 if count <= 3 else -(-count // 2)
    lines = [" ".join(work["states"][min(at + stride, count)]) + "\n" for at in range(0, count, stride)]
    return " ".join(work["states"][0]) + "\n" + "".join(lines)


def _backwards(problem: Problem, start: int = 0) -> list[str]:
    """Who had, one swap earlier each time, what the asked person has in the end."""
    work = problem.work
    at = work["asked"]
    names = [work["people"][at]]
    for a, b in reversed(work["swaps"][start:]):
        at = b if at == a else a if at == b else at
        names.append(work["people"][at])
    return names


def _state(people: tuple[str, ...], letters: list[str]) -> str:
    return ", ".join(f"{p} {x}" for p, x in zip(people, letters, strict=True))


def deserves_second(problem: Problem) -> bool:
    """When the asked person is in the last swap, or the swaps are many."""
    work = problem.work
    return work["asked"] in work["swaps"][-1] or len(work["swaps"]) > 6


def think(problem: Problem, rng: Random, slip: bool = False) -> list[Piece]:
    work = problem.work
    people, swaps, asked = work["people"], work["swaps"], work["asked"]
    start = list(work["states"][0])
    said = ", ".join(f"{p} {i} {x}" for p, i, x in zip(people, work["items"], start, strict=True))
    pieces = [Piece(said + "\n", 0)]
    second = (slip and deserves_second(problem)) or looks_again(deserves_second(problem), rng)
    slip_at = rng.randrange(len(swaps)) if slip and second else -1
    found = _forward(pieces, problem, start, slip_at)
    right = work["states"][-1][asked]
    wrong = found != right
    if not wrong:
        pieces = [p._replace(sound=True) for p in pieces]
    pieces.append(Piece(f"{people[asked]} {found}\n", 0 if wrong else len(swaps), sound=not wrong))
    if not second:
        return pieces
    names = _backwards(problem)
    text = f"Back {names[0]}"
    for (a, b), name in zip(reversed(swaps), names[1:], strict=True):
        text += f"; {people[a]} {people[b]}: {name}"
    settled = 0 if wrong else len(swaps)
    pieces.append(Piece(f"{text}; {names[-1]} {right}\n", settled, sound=not wrong))
    if wrong:
        pieces.append(Piece(f"Wait, not {found}. Again.\n", 0))
        _forward(pieces, problem, start, -1)
        pieces.append(Piece(f"{people[asked]} {right}\n", len(swaps)))
    else:
        pieces.append(Piece(f"Same, {right}.\n", len(swaps)))
    return pieces


def _forward(pieces: list[Piece], problem: Problem, start: list[str], slip_at: int) -> str:
    people, swaps = problem.work["people"], problem.work["swaps"]
    now = list(start)
    for k, (a, b) in enumerate(swaps):
        settled = k + 1 if slip_at < 0 or k < slip_at else slip_at
        sound = slip_at < 0 or k < slip_at
        pieces.append(Piece(f"{people[a]} {people[b]}:", settled if k != slip_at else k, sound=sound))
        if k == slip_at:
            c = (b + 1) % len(people)
            now[a], now[c if c != a else b] = now[c if c != a else b], now[a]
            if c == a:
                now[a], now[(a + 1) % len(people)] = now[(a + 1) % len(people)], now[a]
        else:
            now[a], now[b] = now[b], now[a]
        # The names before the state are a step begun, not a step done.
        pieces[-1] = pieces[-1]._replace(done=min(k, settled))
        pieces.append(Piece(f" {_state(people, now)}\n", settled, learn=k != slip_at, sound=sound))
    return now[problem.work["asked"]]
