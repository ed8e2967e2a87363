"""Measures Pebble with the product's own embedded engine, greedy, on seeds training never saw.

    python -m training.evaluate --bbh ../shared/data/bbh --out training/evaluation.json

Prints every figure the model card states. An hour on two busy cores at the default size; `--count 100` for a look.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from thinkcap.core.prompts import PROMPTS
from thinkcap.model import pebble_gguf, pebble_hf
from thinkcap.tasks.families import FAMILIES, questions
from thinkcap.tasks.families.problem import Problem
from training.encoder import Encoder
from training.engine import Llama
from training.probe import BENCHMARKS, benchmark
from training.render import Renderer, answer_text, wrong_answer

SEED = 20
GRID = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
THINK_LIMIT = 2600
QUICK_LIMIT = 384
EXTRACT_LIMIT = 96


class Judge:
    def __init__(self) -> None:
        self.encoder = Encoder(pebble_hf() / "tokenizer.json")
        self.renderer = Renderer(self.encoder)

    def ended(self, ids: Sequence[int]) -> bool:
        return bool(ids) and ids[-1] == self.encoder.end

    def answered(self, ids: Sequence[int]) -> str:
        """What stands after the thought; nothing when the thought never closed."""
        ids = list(ids)
        if self.encoder.think in ids[:1]:
            if self.encoder.close not in ids:
                return ""
            ids = ids[ids.index(self.encoder.close) + 1 :]
        return str(self.encoder.tokenizer.decode(ids, skip_special_tokens=True)).strip()

    def right(self, problem: Problem, ids: Sequence[int]) -> bool:
        return self.ended(ids) and self.answered(ids).endswith(answer_text(problem))

    def said(self, ids: Sequence[int]) -> str:
        """The final line, which these forms make the answer."""
        return (self.answered(ids).splitlines() or [""])[-1] if self.ended(ids) else ""

    def ask(self, problems: Sequence[Problem], think: bool, extra: Sequence[str] | None = None) -> list[list[int]]:
        lines = extra or [""] * len(problems)
        return [
            self.renderer.prompt(self.renderer.asked(p) + line, think)
            for p, line in zip(problems, lines, strict=True)
        ]


def share(hits: Sequence[bool]) -> float:
    return round(100 * sum(hits) / len(hits), 2) if hits else float("nan")


def quantile(values: Sequence[int], q: float) -> int:
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


def curves(judge: Judge, llama: Llama, problems: list[Problem], result: dict[str, Any]) -> None:
    """Both modes once at the largest budget, cut at every smaller one; extraction decoded at a few."""
    quick = llama.complete(judge.ask(problems, False), QUICK_LIMIT)
    thought = llama.complete(judge.ask(problems, True), THINK_LIMIT)
    by: dict[str, Any] = {}
    for family in (*FAMILIES, "mix"):
        chosen = [i for i, p in enumerate(problems) if family in (p.family, "mix")]
        closed = [i for i in chosen if judge.ended(thought[i])]
        lengths = [len(thought[i]) for i in chosen]
        spent = [len(quick[i]) for i in chosen]
        by[family] = {
            "n": len(chosen),
            "nothink": share([judge.right(problems[i], quick[i]) for i in chosen]),
            "nothink_tokens": round(sum(spent) / len(spent), 1),
            "think_when_complete": share([judge.right(problems[i], thought[i]) for i in closed]),
            "think_completed": share([judge.ended(thought[i]) for i in chosen]),
            "think_tokens": round(sum(lengths) / len(lengths), 1),
            "p50": quantile(lengths, 0.5),
            "p95": quantile(lengths, 0.95),
            "longest": max(lengths),
        }
    result["families"] = by
    result["token_ratio"] = round(by["mix"]["nothink_tokens"] / by["mix"]["think_tokens"], 3)
    result["tail"] = round(by["mix"]["p95"] / by["mix"]["p50"], 2)
    grid: list[dict[str, Any]] = []
    for budget in GRID:
        grid.append(
            {
                "budget": budget,
                "nothink": share(
                    [len(q) <= budget and judge.right(p, q) for p, q in zip(problems, quick, strict=True)]
                ),
                "think": share(
                    [len(t) <= budget and judge.right(p, t) for p, t in zip(problems, thought, strict=True)]
                ),
                "completed": round(sum(len(t) <= budget and judge.ended(t) for t in thought) / len(thought), 3),
            }
        )
    ahead = [row["budget"] for row in grid if row["think"] >= row["nothink"]]
    result["crossover"] = ahead[0] if ahead else None
    half = quantile([len(t) for t in thought], 0.5)
    for budget in sorted({128, half, 256}):
        found = [judge.right(p, t) and len(t) <= budget for p, t in zip(problems, thought, strict=True)]
        cut = [i for i, t in enumerate(thought) if len(t) > budget]
        contents = [judge.renderer.asked(problems[i]) + "\n" + PROMPTS.extraction(problems[i].form) for i in cut]
        prompts = [
            judge.renderer.prompt(c, False, "", thought[i][:budget]) for c, i in zip(contents, cut, strict=True)
        ]
        split = list(found)
        for i, ids in zip(cut, llama.complete(prompts, EXTRACT_LIMIT), strict=True):
            split[i] = judge.right(problems[i], ids)
        done = sum(len(t) <= budget for t in thought) / len(thought)
        grid.append(
            {
                "budget": budget,
                "completed": round(done, 3),
                "think": share(found),
                "split": share(split),
                "gain": round(share(split) - share(found), 2),
            }
        )
    result["grid"] = grid
    result["kept"] = {"nothink": quick, "think": thought}


def refinement(judge: Judge, llama: Llama, problems: list[Problem]) -> dict[str, float]:
    rng = Random(5)
    found = {}
    for name, given in (
        ("from_wrong", [wrong_answer(p, rng) for p in problems]),
        ("from_right", [p.answer for p in problems]),
    ):
        written = llama.complete(judge.ask(problems, True, ["\n" + PROMPTS.hinted(g) for g in given]), THINK_LIMIT)
        found[name] = share([judge.right(p, ids) for p, ids in zip(problems, written, strict=True)])
    return found


def voting(judge: Judge, llama: Llama, problems: list[Problem], greedy: list[list[int]]) -> dict[str, Any]:
    """Five samples a question; the answer most of them give, the first of equals."""
    said: list[list[str]] = [[] for _ in problems]
    alone: list[bool] = []
    for k in range(5):
        prompts = judge.ask(problems, False)
        seeds = [1000 * k + i for i in range(len(prompts))]
        for i, ids in enumerate(llama.complete(prompts, QUICK_LIMIT, 0.7, seeds)):
            said[i].append(judge.said(ids))
            alone.append(judge.right(problems[i], ids))
    won = []
    for problem, lines in zip(problems, said, strict=True):
        counted = Counter(line for line in lines if line)
        best = counted.most_common(1)[0][0] if counted else ""
        won.append(best.endswith(answer_text(problem)))
    base = share([judge.right(p, ids) for p, ids in zip(problems, greedy, strict=True)])
    different = sum(len(set(lines)) > 1 for lines in said) / len(said)
    return {
        "n": len(problems),
        "greedy": base,
        "one_sample": share(alone),
        "majority_of_5": share(won),
        "gain": round(share(won) - base, 2),
        "questions_with_different_answers": round(100 * different, 1),
    }


def real_files(judge: Judge, llama: Llama, folder: Path) -> dict[str, Any]:
    items = benchmark(folder)
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for mode, think, limit in (("nothink", False, QUICK_LIMIT), ("think", True, THINK_LIMIT)):
        written = llama.complete(judge.ask(items, think), limit)
        for name in BENCHMARKS:
            mine = [(p, ids) for p, ids in zip(items, written, strict=True) if p.family == f"bbh:{name}"]
            found[name]["n"] = len(mine)
            found[name][mode] = share([judge.right(p, ids) for p, ids in mine])
            found[name][f"{mode}_completed"] = share([judge.ended(ids) for _, ids in mine])
    path = folder / "causal_judgement.json"
    causal = json.loads(path.read_text())["examples"] if path.exists() else []
    if causal:
        asked = [judge.renderer.prompt(PROMPTS.asked(c["input"], "yesno"), True) for c in causal]
        written = llama.complete([a[-3000:] for a in asked], 160)
        hits = [c["target"].lower() in judge.said(ids).lower() for c, ids in zip(causal, written, strict=True)]
        found["causal_judgement"] = {"n": len(hits), "think": share(hits)}
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="questions of the mix")
    parser.add_argument("--some", type=int, default=300, help="questions for refinement and voting")
    parser.add_argument("--bbh", type=Path, help="folder of the real BBH files")
    parser.add_argument("--out", type=Path, default=Path("training/evaluation.json"), help="where figures go")
    parser.add_argument("--slots", type=int, default=16, help="sequences at once, on each of two servers")
    options = parser.parse_args()
    judge = Judge()
    problems = questions("mix", options.count, SEED)
    result: dict[str, Any] = {
        "seed": SEED,
        "questions": len(problems),
        "engine": "llama.cpp (xllamacpp), F16, greedy",
    }

    def note(part: str) -> None:
        # Written after each part: on a busy machine the whole takes long.
        print(part, json.dumps(result[part], indent=1), flush=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n")

    with Llama(pebble_gguf(), options.slots) as llama:
        curves(judge, llama, problems, result)
        kept = result.pop("kept")
        print(json.dumps(result, indent=1), flush=True)
        some = problems[: options.some]
        result["voting"] = voting(judge, llama, some, kept["nothink"][: options.some])
        note("voting")
        if options.bbh:
            result["bbh"] = real_files(judge, llama, options.bbh)
            note("bbh")
        result["refinement"] = refinement(judge, llama, some)
        note("refinement")
        result["tokens_per_second"] = round(llama.tokens / llama.seconds)
        result["tokens_generated"] = llama.tokens
        note("tokens_per_second")


if __name__ == "__main__":
    main()
