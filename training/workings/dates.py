"""Dates, month by month; a walk over a month's end is walked back, and the options are read until one fits."""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from random import Random

from thinkcap.tasks.families.problem import LETTERS, Problem
from thinkcap.tasks.families.told_dates import MONTHS, Move, moved, slashed
from training.workings.piece import Piece, looks_again

_UNITS = {"d": "days", "m": "months", "y": "years"}


def _path(problem: Problem) -> list[tuple[date, Move, date]]:
    """(from, move, to) of every move, the asked one last."""
    work = problem.work
    path, now = [], work["base"]
    for move in (*work["moves"], work["last"]):
        path.append((now, move, moved(now, move)))
        now = path[-1][2]
    return path


def steps_of(problem: Problem) -> int:
    return 1 if "days" in problem.work else len(problem.work["moves"]) + 2


def brief(problem: Problem, rng: Random, start: int = 0) -> str:
    work = problem.work
    if "days" in work:
        if start or rng.random() < 0.6:
            return ""
        return f"{slashed(work['start'])} {slashed(work['end'])}\n"
    days = [work["base"], *(to for _, _, to in _path(problem))]
    if rng.random() < 0.6:
        # Only where it leads; the base and a move by nothing are left out.
        days = [d for i, d in enumerate(days) if i >= max(start, 1) and (i == len(days) - 1 or d != days[i - 1])]
        return "".join(f"{slashed(d)}\n" for d in days)
    return "".join(f"{slashed(d)}\n" for d in days[start:])


def quick(problem: Problem, rng: Random) -> str:
    return brief(problem, rng)


def _length(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def _month_text(day: date) -> str:
    name = MONTHS[day.month - 1][:3]
    if day.month == 1:
        # A walk over several years has to know which one it is in.
        return f"{day.year} {name} 31"
    if day.month == 2:
        return f"{day.year} {'leap' if _length(day) == 29 else 'plain'}, {name} {_length(day)}"
    return f"{name} {_length(day)}"


def _walk(day: date, days: int, slip: int = -1, off: int = 0) -> tuple[list[tuple[str, bool]], date, bool]:
    """A walk by days with the count left after each month; at month `slip` it goes wrong by `off`."""
    sign = "+" if days >= 0 else "-"
    text = f"{slashed(day)}{sign}{abs(days)} days: "
    left = day.day + days
    text += f"{day.day}{sign}{abs(days)}={left}; "
    pieces: list[tuple[str, bool]] = []
    month = day.replace(day=1)
    crossed = False
    at = 0
    while True:
        if days >= 0:
            text += _month_text(month)
            if left <= _length(month):
                break
            left -= _length(month)
            month = moved(month, ("m", 1))
        else:
            if left >= 1:
                break
            month = moved(month, ("m", -1))
            left += _length(month)
            text += _month_text(month)
        crossed = True
        if at == slip:
            left += off
            pieces += [(text + ": ", True), (str(left), False)]
            text = "; "
        else:
            text += f": {left}; "
        at += 1
        if left < -2000 or left > 2000:
            break
    end = month.replace(day=max(1, min(left, _length(month))))
    if text.endswith("; "):
        text = text[:-2]
    pieces.append((f"{text}; {slashed(end)}\n", True))
    return pieces, end, crossed


def think(problem: Problem, rng: Random, slip: bool = False) -> list[Piece]:
    if "days" in problem.work:
        return _count(problem, rng)
    work = problem.work
    pieces = [Piece(f"{work['reading']}Read {slashed(work['base'])}\n", 1)]
    path = _path(problem)
    for at, (start, move, end) in enumerate(path):
        settled = at + 1
        if move == ("d", 0):
            pass
        elif move[0] != "d":
            count = f"{'+' if move[1] > 0 else '-'}{abs(move[1])} {_UNITS[move[0]]}"
            note = _sum_text(start, move, end)
            pieces.append(Piece(f"{slashed(start)}{count}: {note}{slashed(end)}\n", settled + 1))
        else:
            slip = _move_days(pieces, rng, start, move[1], end, settled, slip)
        if at == len(path) - 2:
            pieces.append(Piece(f"Today {slashed(end)}\n", settled + 1))
    total = len(path) + 1
    pieces.append(Piece(f"So {slashed(work['right'])}\n", total))
    told = []
    for letter, text in zip(LETTERS, work["options"], strict=False):
        fits = text == slashed(work["right"])
        told.append(f"{letter} {text} {'yes' if fits else 'no'}")
        if fits:
            break
    pieces.append(Piece("; ".join(told) + "\n", total))
    return pieces


def _sum_text(start: date, move: Move, end: date) -> str:
    """The month or year counted out, with the month's length where the day had to give way."""
    unit, amount = move
    sign = "+" if amount > 0 else "-"
    if unit == "y":
        text = f"{start.year}{sign}{abs(amount)}={end.year}; "
    else:
        text = f"{start.month}{sign}{abs(amount)}={start.month + amount}; "
        if start.month + amount != end.month:
            turn = 12 if start.month + amount < 1 else -12
            text += f"{start.month + amount}{turn:+d}={end.month}, {end.year}; "
    return text + (f"{_month_text(end)}; " if end.day != start.day else "")


def _move_days(
    pieces: list[Piece], rng: Random, start: date, days: int, end: date, settled: int, slip: bool
) -> bool:
    """Adds one walk, with its way back where it crossed a month's end; True while a slip is still wanted."""
    written, found, crossed = _walk(start, days)
    wrong = False
    if slip and crossed and abs(days) > 20:
        off = rng.choice((-2, -1, 1, 2))
        slipped, other, _ = _walk(start, days, 0, off)
        if other != end and abs((other - end).days) < 25:
            written, found, wrong = slipped, other, True
    for i, (text, learn) in enumerate(written):
        last = i == len(written) - 1 and not wrong
        pieces.append(Piece(text, settled + last, learn, sound=not wrong))
    if not wrong and not looks_again(crossed, rng):
        return slip
    state = settled + (not wrong)
    back, _, _ = _walk(found, -days)
    pieces.append(Piece("Let me go back.\n", state, sound=not wrong))
    pieces += [Piece(text, state, learn, sound=not wrong) for text, learn in back]
    if not wrong:
        pieces.append(Piece("Same.\n", settled + 1))
        return slip
    pieces.append(Piece(f"Wait, not {slashed(start)}. Again.\n", settled))
    written, _, _ = _walk(start, days)
    pieces += [Piece(text, settled, learn) for text, learn in written]
    pieces.append(Piece(f"So {slashed(end)}\n", settled + 1))
    return False


def _count(problem: Problem, rng: Random) -> list[Piece]:
    start, end, days = problem.work["start"], problem.work["end"], problem.work["days"]
    pieces = [Piece(f"Read {slashed(start)}; {slashed(end)}\n", 0)]
    month = start.replace(day=1)
    if (start.year, start.month) == (end.year, end.month):
        pieces.append(Piece(f"{end.day}-{start.day}={days}\n", 1))
        return pieces
    total = _length(month) - start.day
    text = f"{_month_text(month)}-{start.day}={total}"
    month = moved(month, ("m", 1))
    while (month.year, month.month) != (end.year, end.month):
        year = f"{month.year}{'<' if month.year < end.year else '='}" if month.month == 1 else ""
        named = f"{end.year} Jan 31" if year else _month_text(month)
        text += f"; {year}{named}: {total}+{_length(month)}={total + _length(month)}"
        total += _length(month)
        month = moved(month, ("m", 1))
    year = f"{end.year}={end.year} " if end.month == 1 else ""
    text += f"; {year}{MONTHS[end.month - 1][:3]}: {total}+{end.day}={days}\n"
    pieces.append(Piece(text, 1))
    if looks_again(days > 45, rng):
        walk, _, _ = _walk(start, days)
        pieces.append(Piece("Let me check.\n", 1))
        pieces += [Piece(t, 1) for t, _ in walk]
        pieces.append(Piece(f"Same, {days}.\n", 1))
    return pieces
