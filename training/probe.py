"""What a fresh run can do, measured on the training device with its own decoder: quick, and only for steering.

The figures of the card come from `training.evaluate`, which uses the product's own engine.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path
from random import Random

from thinkcap.core.prompts import PROMPTS
from thinkcap.tasks.families import FAMILIES, questions
from thinkcap.tasks.families.problem import Problem
from training.data import TOKENIZER
from training.decode import Decoder
from training.encoder import Encoder
from training.network import Network
from training.render import Renderer, answer_text, wrong_answer

BENCHMARKS = {
    "boolean_expressions": "truth",
    "tracking_shuffled_objects_three_objects": "label",
    "date_understanding": "label",
    "logical_deduction_five_objects": "label",
}


def benchmark(folder: Path) -> list[Problem]:
    found = []
    for name, form in BENCHMARKS.items():
        path = folder / f"{name}.json"
        for item in json.loads(path.read_text())["examples"] if path.exists() else []:
            found.append(Problem(f"bbh:{name}", item["input"], item["target"], "label", form, 0, {}))
    return found


def probe(network: Network, out: Path, count: int, folder: Path | None, limit: int = 1700) -> None:
    begun = time.time()
    network.eval()
    encoder = Encoder(TOKENIZER)
    renderer = Renderer(encoder)
    decode = Decoder(network, encoder.end, encoder.pad)
    rng = Random(1)
    asked = [p for family in FAMILIES for p in questions(family, count, seed=11)]
    real = benchmark(folder) if folder else []
    lines: list[str] = []
    failures: dict[str, list[dict[str, str]]] = defaultdict(list)

    def report(
        name: str, problems: list[Problem], prompts: list[list[int]], cap: int, temperature: float = 0.0
    ) -> None:
        written = decode(prompts, cap, temperature)
        by: dict[str, list[tuple[bool, bool, int, int]]] = defaultdict(list)
        for problem, ids in zip(problems, written, strict=True):
            text = encoder.tokenizer.decode(ids, skip_special_tokens=True)
            ended = ids[-1:] == [encoder.end]
            right = ended and text.endswith(answer_text(problem))
            by[problem.family].append((right, ended, len(ids), problem.difficulty))
            by["all" if problem.family in FAMILIES else "real"].append(
                (right, ended, len(ids), problem.difficulty)
            )
            key = f"{name}/{problem.family}"
            if not right and len(failures[key]) < 12:
                failures[key].append({"question": problem.question, "answer": problem.answer, "wrote": text})
        for family, found in by.items():
            lengths = sorted(n for _, _, n, _ in found)
            share = sum(r for r, _, _, _ in found) / len(found)
            closed = sum(e for _, e, _, _ in found) / len(found)
            dial: dict[int, list[bool]] = defaultdict(list)
            for right, _, _, difficulty in found:
                dial[difficulty].append(right)
            hard = " ".join(f"{d}:{sum(v) / len(v):.2f}" for d, v in sorted(dial.items()))
            p50, p95 = lengths[len(lengths) // 2], lengths[int(len(lengths) * 0.95)]
            line = f"{name:12} {family:45} right {share:.3f} ended {closed:.3f} p50 {p50} p95 {p95}  {hard}"
            lines.append(line)
            print(line, flush=True)

    def plain(think: bool, problems: list[Problem]) -> list[list[int]]:
        return [renderer.prompt(renderer.asked(p), think) for p in problems]

    report("nothink", asked + real, plain(False, asked + real), 256)
    report("think", asked + real, plain(True, asked + real), limit)
    some = asked[:: max(1, len(asked) // (2 * count))]
    wrong = [PROMPTS.hinted(wrong_answer(p, rng)) for p in some]
    right = [PROMPTS.hinted(p.answer) for p in some]
    for name, hints in (("hint wrong", wrong), ("hint right", right)):
        prompts = [renderer.prompt(renderer.asked(p) + "\n" + h, True) for p, h in zip(some, hints, strict=True)]
        report(name, some, prompts, limit)
    for name, system, template in (
        ("extract", "", PROMPTS.extract),
        ("extract_only", PROMPTS.extract_only, PROMPTS.extract),
    ):
        prompts = []
        for p in some:
            trace, _ = renderer._cut(p, rng)
            content = renderer.asked(p) + "\n" + PROMPTS.extraction(p.form, template)
            prompts.append(renderer.prompt(content, False, system, trace))
        report(name, some, prompts, 192)
    report("sampled quick", some, plain(False, some), 256, 0.7)
    print(f"{time.time() - begun:.0f} s of probing", flush=True)
    (out / "probe.txt").write_text("\n".join(lines) + "\n")
    (out / "failures.json").write_text(json.dumps(failures, indent=1) + "\n")
