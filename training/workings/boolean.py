"""Boolean expressions, one reduction a line; those with many `not` are read a second time from the right."""

from __future__ import annotations

from random import Random

from thinkcap.tasks.families.boolean import reducible, reductions
from thinkcap.tasks.families.problem import Problem
from training.workings.piece import Piece, looks_again


def steps_of(problem: Problem) -> int:
    return len(reductions(list(problem.work["tokens"])))


def brief(problem: Problem, rng: Random, start: int = 0) -> str:
    steps = reductions(list(problem.work["tokens"]))[start:]
    if len(steps) < 4 or rng.random() < 0.6:
        return ""
    stride = rng.choice((3, 4))
    return "".join(f"{after}\n" for _, _, after in steps[stride - 1 : -1 : stride])


def quick(problem: Problem, rng: Random) -> str:
    return brief(problem, rng)


def deserves_second(tokens: list[str]) -> bool:
    # Very long ones are long enough as they are.
    return len(tokens) <= 36 and (tokens.count("not") >= 3 or tokens.count("(") >= 3)


def _pass(tokens: list[str], done: bool, slip_at: int = -1, leftmost: bool = True) -> tuple[list[Piece], str]:
    """One reading; with `done` its reductions count as settled steps."""
    pieces: list[Piece] = []
    count = 0
    while len(tokens) > 1:
        for at in range(len(tokens)) if leftmost else range(len(tokens) - 1, -1, -1):
            found = reducible(tokens, at)
            if not found:
                continue
            size, value = found
            piece = " ".join(tokens[at : at + size])
            if count == slip_at:
                value = "False" if value == "True" else "True"
            tokens = [*tokens[:at], value, *tokens[at + size :]]
            count += 1
            settled = count if done else -1
            line = f": {' '.join(tokens)}\n"
            if count - 1 == slip_at:
                pieces += [
                    Piece(f"{piece} =", settled),
                    Piece(f" {value}", settled, learn=False),
                    Piece(line, settled),
                ]
            else:
                pieces.append(Piece(f"{piece} = {value}{line}", settled))
            break
    return pieces, tokens[0]


def think(problem: Problem, rng: Random, slip: bool = False) -> list[Piece]:
    tokens = list(problem.work["tokens"])
    total = steps_of(problem)
    second = (slip and deserves_second(tokens)) or looks_again(deserves_second(tokens), rng)
    second = second and len(tokens) <= 36
    slip_at = rng.randrange(total) if slip and second else -1
    first, found = _pass(tokens, True, slip_at)
    if slip_at >= 0:
        first = [p._replace(done=min(p.done, slip_at), sound=False) for p in first]
    if not second:
        return first
    wrong = slip_at >= 0
    settled = slip_at if wrong else total
    again, value = _pass(tokens, False, leftmost=False)
    pieces = [*first, Piece("Now from the right.\n", settled, sound=not wrong)]
    pieces += [p._replace(done=settled, sound=not wrong) for p in again]
    if found == value:
        # A slip may leave the value as it was; nothing is then left to repair.
        pieces.append(Piece(f"Both {value}.\n", total))
        return pieces
    pieces.append(Piece(f"{found} and {value} differ. Again.\n", 0))
    third, _ = _pass(tokens, True)
    return pieces + third
