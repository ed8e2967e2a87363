"""Arithmetic, digit by digit; hard products are done a second time the other way round."""

from __future__ import annotations

from random import Random

from thinkcap.tasks.families.problem import Problem
from training.workings.piece import Piece, looks_again


def brief(problem: Problem, rng: Random, start: int = 0) -> str:
    lines = []
    for a, op, b, result in problem.work["steps"][start:]:
        if op == "*" and b > 9 and rng.random() < 0.4:
            tens, ones = b - b % 10, b % 10
            lines.append(f"{a}*{b}={a}*{tens}+{a}*{ones}={a * tens}+{a * ones}={result}\n")
        else:
            lines.append(f"{a}{op}{b}={result}\n")
    return "".join(lines)


def quick(problem: Problem, rng: Random) -> str:
    """Two steps at a time, which is short and often wrong; now and then one at a time."""
    steps = problem.work["steps"]
    if len(steps) < 2 or rng.random() < 0.4:
        return brief(problem, rng)
    lines = []
    for at in range(0, len(steps) - 1, 2):
        a, op, b, _ = steps[at]
        _, then, c, result = steps[at + 1]
        first = f"({a}{op}{b})" if op in "+-" and then in "*/" else f"{a}{op}{b}"
        lines.append(f"{first}{then}{c}={result}\n")
    if len(steps) % 2:
        a, op, b, result = steps[-1]
        lines.append(f"{a}{op}{b}={result}\n")
    return "".join(lines)


def steps_of(problem: Problem) -> int:
    return len(problem.work["steps"])


def _row(a: int, digit: int, slip: int = -1, off: int = 0) -> tuple[list[tuple[str, bool]], int]:
    """a * digit from the last digit on; at position `slip` the partial result is `off` too large."""
    pieces: list[tuple[str, bool]] = []
    text, carry, out = f"{a}*{digit}: ", 0, ""
    for at, d in enumerate(reversed(str(a))):
        value = int(d) * digit + carry
        text += f"{d}*{digit}" + (f"+{carry}" if at else "") + "="
        if at == slip:
            value += off
            pieces += [(text, True), (str(value), False)]
            text = "; "
        else:
            text += f"{value}; "
        out = str(value % 10) + out
        carry = value // 10
    row = int((str(carry) if carry else "") + out)
    pieces.append((text + f"{row}\n", True))
    return pieces, row


def _add(a: int, b: int) -> str:
    x, y = str(a)[::-1], str(b)[::-1]
    text, carry = f"{a}+{b}: ", 0
    for at in range(max(len(x), len(y))):
        p = int(x[at]) if at < len(x) else 0
        q = int(y[at]) if at < len(y) else 0
        value = p + q + carry
        text += f"{p}+{q}" + (f"+{carry}" if carry else "") + f"={value}; "
        carry = value // 10
    return text + f"{a + b}\n"


def _subtract(a: int, b: int) -> str:
    x, y = str(a)[::-1], str(b)[::-1].ljust(len(str(a)), "0")
    text, borrow = f"{a}-{b}: ", 0
    for p, q in zip(x, y, strict=True):
        value = int(p) - int(q) - borrow
        lent = 10 if value < 0 else 0
        text += f"{int(p) + lent}-{q}" + (f"-{borrow}" if borrow else "") + f"={value + lent}; "
        borrow = 1 if lent else 0
    return text + f"{a - b}\n"


def _divide(a: int, b: int) -> str:
    text, rest = f"{a}/{b}: ", 0
    for d in str(a):
        now = rest * 10 + int(d)
        text += f"{now}/{b}={now // b} r{now % b}; "
        rest = now % b
    return text + f"{a // b}\n"


def _multiply(a: int, b: int, slip: tuple[int, int, int] | None = None) -> tuple[list[tuple[str, bool]], int]:
    pieces: list[tuple[str, bool]] = []
    total = 0
    for at, digit in enumerate(reversed(str(b))):
        at_slip = slip if slip and slip[0] == at else (0, -1, 0)
        row_pieces, row = _row(a, int(digit), at_slip[1], at_slip[2])
        pieces += row_pieces
        shifted = row * 10**at
        if at:
            pieces.append((_add(total, shifted), True))
        total += shifted
    return pieces, total


def hard(a: int, b: int) -> bool:
    """Worth a second look: two factors of several digits, with large digits among them."""
    return a > 9 and b > 9 and sum(d in "6789" for d in f"{a}{b}") >= 2


def think(problem: Problem, rng: Random, slip: bool = False) -> list[Piece]:
    steps = problem.work["steps"]
    pieces = [Piece(f"{steps[0][0]}" + "".join(f"; {op}{b}" for _, op, b, _ in steps) + "\n", 0)]
    for at, (a, op, b, result) in enumerate(steps):
        if op == "+":
            pieces.append(Piece(_add(a, b), at + 1))
        elif op == "/":
            pieces.append(Piece(_divide(a, b), at + 1))
        elif op == "-":
            pieces.append(Piece(_subtract(a, b), at + 1))
            if looks_again(a > 999, rng):
                pieces.append(Piece("Check: " + _add(result, b), at + 1))
        else:
            slip = _product(pieces, rng, at, a, b, slip)
    return pieces


def _product(pieces: list[Piece], rng: Random, at: int, a: int, b: int, slip: bool) -> bool:
    """Adds the working of one product; True when a wanted slip still has to find its place."""
    result = a * b
    checked = (slip and hard(a, b)) or looks_again(hard(a, b), rng)
    where = None
    if slip and checked:
        row = rng.randrange(len(str(b)))
        where = (row, rng.randrange(len(str(a))), rng.choice((1, 2, 3, 9, 10)))
    written, found = _multiply(a, b, where)
    for i, (text, learn) in enumerate(written):
        last = i == len(written) - 1
        pieces.append(Piece(text, at + 1 if last and not where else at, learn, sound=where is None))
    if not checked:
        return slip
    again, _ = _multiply(b, a)
    pieces.append(Piece("Let me check.\n", at if where else at + 1, sound=where is None))
    pieces += [Piece(text, at if where else at + 1, learn, sound=where is None) for text, learn in again]
    if found == result:
        pieces.append(Piece(f"Same, {result}.\n", at + 1))
        return slip and where is None
    pieces.append(Piece(f"Wait, not {found}. Again.\n", at))
    pieces += [Piece(text, at, learn) for text, learn in _multiply(a, b)[0]]
    pieces.append(Piece(f"So {result}.\n", at + 1))
    return False
