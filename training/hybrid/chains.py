"""Makes training examples of attempts: thoughts of several tries, single tries, and answers from cut thoughts.

    python -m training.hybrid.chains out/attempts.jsonl --out out/chains.jsonl

A thought is tries in a row until one answer leads by two; it is kept where that answer is right. A wrong try in it
is read but not learned. Without thinking, the shortest right try is the example. A few examples answer from a
thought that was cut, as the answer pass of the cascades asks for.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from training.hybrid.attempts import Attempt, Problem, leader
from training.hybrid.ways import announcement, tally

_LAST_LINE = re.compile(r"\s*####[^\n]*\s*$")
_MOST_TRIES = 5
_ANSWER_SHARE = 0.15
"""Chains of which an answer pass is made too."""


@dataclass(frozen=True)
class Part:
    """A stretch of what the model is to write; one that is not learned is only read."""

    text: str
    learned: bool = True


@dataclass(frozen=True)
class Example:
    mode: str
    """`think`, `nothink`, or `answer`: without thinking, from the cut thought in `trace`."""
    question: str
    kind: str
    parts: tuple[Part, ...]
    trace: str = ""
    tries: int = 1


def stated(answer: str, kind: str) -> str:
    """The answer in the form that the task asks for."""
    return (
        f"The answer is {answer}.\n#### {answer}" if kind == "number" else f"The answer is $\\boxed{{{answer}}}$."
    )


def thought(tries: Sequence[Attempt], kind: str, rng: Random) -> Example | None:
    """The tries in this order, up to the one that decides; None where the decision is not right."""
    said: dict[int, str] = {}
    counts: Counter[int] = Counter()
    parts = [Part("<think>\n")]
    for number, one in enumerate(tries):
        assert one.answer is not None
        counts[one.vote] += 1
        said.setdefault(one.vote, one.answer)
        votes = [(said[vote], counts[vote]) for vote in said]
        ahead = leader(list(counts.elements()))
        if ahead is None and number + 1 == len(tries) >= _MOST_TRIES:
            ahead = leader(list(counts.elements()), lead=1)
        begin = "" if number == 0 else "\n\n"
        parts.append(Part(f"{begin}{announcement(one.way, rng)}\n"))
        parts.append(Part(_LAST_LINE.sub("", one.text), learned=one.right))
        parts.append(Part("\n\n" + tally(votes, said[one.vote], ahead is not None, rng)))
        if ahead is None:
            continue
        if not next(t.right for t in tries if t.vote == ahead):
            return None
        parts.append(Part(f"\n</think>\n\n{stated(said[ahead], kind)}"))
        return Example("think", "", kind, tuple(parts), tries=number + 1)
    return None


def orders(tries: Sequence[Attempt], rng: Random) -> Iterator[list[Attempt]]:
    """As it was tried; where tries disagreed, once more in another order, since such questions teach the most."""
    yield list(tries)
    if len({one.vote for one in tries}) > 1:
        yield rng.sample(list(tries), len(tries))


def cut_thought(chain: Example, rng: Random) -> Example | None:
    """An answer pass over a thought that was cut after its first try, or in the middle of a right one."""
    texts = [part.text for part in chain.parts]
    whole = "".join(texts[:-1])
    final = chain.parts[-1].text.partition("</think>")[2].strip()
    at = rng.randrange(1, len(chain.parts) - 1)
    part = chain.parts[at]
    if part.text.startswith("\n\n") or not part.learned or len(part.text) < 40 or at + 2 > len(chain.parts) - 1:
        start = len("".join(texts[: min(4, len(texts) - 1)]))
        end = rng.randrange(start, len(whole)) if start < len(whole) else start
        return Example("answer", "", chain.kind, (Part(final),), trace=whole[:end])
    middle = rng.randrange(len(part.text) // 2, len(part.text))
    rest = part.text[middle:].lstrip()
    trace = "".join(texts[:at]) + part.text[:middle]
    return Example("answer", "", chain.kind, (Part(f"{rest}\n\n{final}".strip()),), trace=trace)


def examples(line: dict[str, Any], rng: Random) -> Iterator[Example]:
    """All examples of one question."""
    problem = Problem(**{name: line[name] for name in ("id", "text", "gold", "kind")})
    tries = [Attempt(**one) for one in line["attempts"]]
    usable = [one for one in tries if one.answer is not None and _plain(one)]
    right = [one for one in usable if one.right]
    about = {"question": problem.text, "kind": problem.kind}
    if right:
        # The way of the plain prompt first: the mode without thinking should stay what the base does.
        best = min(right, key=lambda one: (one.way != "steps", one.tokens))
        yield Example("nothink", parts=(Part(best.text),), **about)
    for tried in orders(usable, rng):
        chain = thought(tried, problem.kind, rng)
        if chain is None:
            continue
        yield Example("think", parts=chain.parts, tries=chain.tries, **about)
        if rng.random() < _ANSWER_SHARE:
            cut = cut_thought(chain, rng)
            if cut is not None:
                yield Example("answer", parts=cut.parts, trace=cut.trace, **about)


def _plain(one: Attempt) -> bool:
    """No code, no marks of a thought, and an answer short enough to be counted."""
    return "```" not in one.text and "<think>" not in one.text and 0 < len(one.answer or "") <= 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attempts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = Random(args.seed)
    lines = [json.loads(line) for line in args.attempts.read_text(encoding="utf-8").splitlines()]
    made = [example for line in lines for example in examples(line, rng)]
    with args.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(asdict(example)) + "\n" for example in made)
    ways: dict[str, list[bool]] = {}
    for line in lines:
        for one in line["attempts"]:
            ways.setdefault(f"{line['kind']}, {one['way']}", []).append(one["right"])
    for name, right in sorted(ways.items()):
        print(f"{name}: {sum(right) / len(right):.1%} of {len(right):,} tries right")
    for (mode, kind, tries), count in sorted(Counter((e.mode, e.kind, e.tries) for e in made).items()):
        print(f"{mode}, {kind}, {tries} tries: {count:,} examples")


if __name__ == "__main__":
    main()
