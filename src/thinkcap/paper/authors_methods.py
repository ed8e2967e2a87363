"""The shapes of nips-adathink JSON that hold methods: cascades, refinement, splits, the 2x2, stored texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.logs.arms import Arm, Questions, Stages, with_counted_end
from thinkcap.logs.builder import ArmBuilder
from thinkcap.logs.place import numbered
from thinkcap.logs.reading import verdict, whole
from thinkcap.paper.authors_about import TEST_ROWS, Format, about_run, finish, gold_content, seed_order

_STAGE = {1: "probe", 2: "think", 3: "answer"}


def _stage(row: Mapping[str, Any], key: str, file: str, line: object) -> str:
    number = whole(row[key], file, line, key)
    if number not in _STAGE:
        raise DataError(f"{file}, {line}, column '{key}': stage {number} is unknown; wanted 1, 2 or 3")
    return _STAGE[number]


def _builder(path: Path, policy: str, stages: Stages, form: str, **about: Any) -> ArmBuilder:
    """A cascade under the budgets it was given; its cap is their sum, where all are told."""
    named = (("first", stages.first), ("think", stages.think), ("answer", stages.answer or None))
    options = {name: value for name, value in named if value is not None}
    return ArmBuilder(
        path.name, policy, stages.total, options=options, stages=stages, provenance={"format": form}, **about
    )


def _stage_rows(
    build: ArmBuilder,
    rows: Sequence[Mapping[str, Any]],
    path: Path,
    where: tuple[str, ...],
    names: Mapping[str, str],
) -> None:
    """Cascade rows: `names` maps right, stage, tokens, reason to their keys; position is the id without idx."""
    for i, (line, row) in enumerate(numbered(rows, path, where)):
        extra: dict[str, Any] = {"stage": _stage(row, names["stage"], build.file, line)}
        if "reason" in names:
            extra["s2_stop"] = str(row.get(names["reason"]) or "")
        if row.get("pred_source") is not None:
            extra["pred_source"] = str(row["pred_source"])
        build.add(
            str(row.get("idx", i)),
            right=verdict(row[names["right"]], build.file, line, names["right"]),
            tokens=whole(row[names["tokens"]], build.file, line, names["tokens"]),
            content=gold_content(row),
            line=line,
            columns={"question": "idx", "tokens": names["tokens"]},
            **extra,
        )


_IRIS = {"right": "correct", "stage": "final_stage", "tokens": "tokens_total", "reason": "s2_stop_reason"}
_TOWN = {"right": "correct", "stage": "stage", "tokens": "tokens_total"}


def cascade(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows = data.get("per_sample_iris") or data["iris_results"]
    config = data.get("iris_config") or {}
    about = about_run(data, path, len(rows))
    first, second, answer = config.get("b1"), config.get("b2_max"), config.get("b_answer")
    if second is None:
        used = [r.get("s2_tokens_used") or 0 for r in rows]
        second = max(used) or None
        found = re.search(r"_ba(\d+)", str(path))
        answer = int(found[1]) if found else None
    iris = _builder(path, "iris", Stages(first, second, answer), Format.CASCADE, **about)
    _stage_rows(iris, rows, path, ("per_sample_iris" if "per_sample_iris" in data else "iris_results",), _IRIS)
    builders = [iris]
    if data.get("per_sample_town"):
        town = _builder(path, "town", Stages(first, second, 0), Format.CASCADE, **about)
        _stage_rows(town, data["per_sample_town"], path, ("per_sample_town",), _TOWN)
        builders.append(town)
    return [b.done(questions) for b in builders], []


def compact(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    is_iris = "sr" in data[0]
    found = re.search(r"b(\d+)_", path.name)
    budget = int(found[1]) if found else max(int(r.get("s2t") or 0) for r in data) or None
    longest = max(int(r["t"]) for r in data if int(r["s"]) > 1) if any(int(r["s"]) > 1 for r in data) else 0
    # A cascade arm without an answer pass spends at most B1 + B2, so its longest row reveals B1.
    first = longest - budget if budget and not is_iris and longest > budget else None
    if is_iris and budget:
        whole_cap = [int(r["t"]) for r in data if int(r["s"]) == 2]
        first = max(whole_cap) - budget if whole_cap and max(whole_cap) > budget else None
    names = {"right": "c", "stage": "s", "tokens": "t"} | ({"reason": "s2sr"} if is_iris else {})
    # Likewise B_a: the longest row with an answer pass used B1 + B2 + B_a.
    answer = longest - budget - first if is_iris and budget and first and longest > budget + first else None
    order = f"file order of {len(data)} rows"
    policy = "iris" if is_iris else "town"
    stages = Stages(first, budget, answer if is_iris else 0)
    build = _builder(path, policy, stages, Format.COMPACT, order=order)
    _stage_rows(build, data, path, (), names)
    return [build.done(questions)], [f"{path.name}: no ids are stored; the position serves as the id"]


def mrsd(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows, config = data["per_sample"], data.get("config") or {}
    about = about_run(data, path, len(rows))
    first, think, answer, most = (config.get(k) for k in ("b1", "b_think", "b_answer", "max_rounds"))
    passes = {
        "nothink": Stages(),
        "town": Stages(first, think, 0),
        "iris": Stages(first, think, answer),
        "mrsd": Stages(first, think, answer, most),
    }
    arms = {policy: _builder(path, policy, stages, Format.MRSD, **about) for policy, stages in passes.items()}
    # Their answer without thinking is the first try that all methods share.
    arms["nothink"].budget = first
    for line, row in numbered(rows, path, ("per_sample",)):
        for policy, build in arms.items():
            extra: dict[str, Any] = {}
            tokens = None
            if policy == "nothink":
                tokens = whole(row["s0_tokens"], build.file, line, "s0_tokens")
            elif policy == "town":
                extra = {"stage": "think" if row["s0_hit_budget"] else "probe"}
            elif policy == "mrsd":
                tokens = whole(row["mrsd_tokens"], build.file, line, "mrsd_tokens")
                rounds, agreed = whole(row["mrsd_round"], build.file, line, "mrsd_round"), row["mrsd_converged"]
                late = f"round{rounds}" if agreed else "majority"
                extra = {
                    "rounds": rounds,
                    "converged": bool(agreed),
                    "stage": late if row["s0_hit_budget"] else "probe",
                    "tokens_first": whole(row["s0_tokens"], build.file, line, "s0_tokens"),
                }
                if row.get("r1_raw_think") is not None:
                    extra |= {"trace": str(row["r1_raw_think"]), "gold": str(row.get("gold", ""))}
            build.add(
                str(row["idx"]),
                right=verdict(row[f"{policy}_correct"], build.file, line, f"{policy}_correct"),
                tokens=tokens,
                content=gold_content(row),
                line=line,
                columns={"question": "idx"},
                **extra,
            )
    return [b.done(questions) for b in arms.values()], []


def split(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    about = about_run(data, path, int((data.get("meta") or {}).get("n_samples", 0)))
    builders: dict[tuple[str, int, int, int], ArmBuilder] = {}
    for line, row in numbered(data["per_sample"], path, ("per_sample",)):
        total, reasoning, answer = (whole(row[k], path.name, line, k) for k in ("B_total", "Br", "Ba"))
        key = (str(row["method"]), total, reasoning, answer)
        if key not in builders:
            given = {"think": reasoning, "answer": answer} if key[0] == "split" else {}
            stages = Stages() if key[0] in ("think", "nothink") else Stages(None, reasoning, answer)
            form = {"format": Format.SPLIT}
            builders[key] = ArmBuilder(
                path.name, key[0], total, options=given, stages=stages, provenance=form, **about
            )
            if key[0] == "split":
                builders[key].about["criterion"] = "thought closed before the cut"
        hit = row.get("hit_budget", row.get("truncated"))
        builders[key].add(
            str(row["idx"]),
            right=verdict(row["correct"], path.name, line, "correct"),
            tokens=whole(row["tokens_used"], path.name, line, "tokens_used"),
            flag=None if hit is None or key[0] == "split" else not hit,
            ended=row.get("think_complete"),
            content=gold_content(row),
            line=line,
            columns={"question": "idx", "tokens": "tokens_used"},
        )
    plain = ("nothink", "think")
    arms = [b.done(questions) for b in builders.values()]
    return [with_counted_end(a) if a.policy in plain else a for a in arms], []


def factorial(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows = data["per_sample"]
    about = about_run(data, path, len(rows))
    cells = ("think_neutral", "think_extraction", "nothink_neutral", "nothink_extraction", "town")
    arms = {c: _cell(path, c, about) for c in cells if c in rows[0]}
    for line, row in numbered(rows, path, ("per_sample",)):
        for cell, build in arms.items():
            build.add(
                str(row["idx"]),
                right=verdict(row[cell], build.file, line, cell),
                content=gold_content(row),
                line=line,
                columns={"question": "idx"},
                stage=_stage(row, "stage", build.file, line),
            )
    return [b.done(questions) for b in arms.values()], []


def _cell(path: Path, cell: str, about: Mapping[str, Any]) -> ArmBuilder:
    """A corner of the 2x2: the mode of the answer pass, and whether its prompt holds the thought."""
    form = {"format": Format.FACTORIAL}
    if cell == "town":
        return ArmBuilder(path.name, cell, None, provenance=form, **about)
    mode, _, context = cell.partition("_")
    return ArmBuilder(
        path.name, "answer_pass", None, options={"mode": mode, "context": context}, provenance=form, **about
    )


def entropy(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows, meta = data["results"], data["meta"]
    about = about_run(data, path, len(rows))
    numbers = [r.get("original_idx") for r in rows]
    for task, size in TEST_ROWS.items():
        # The dataset row is stored, so a known shuffle can be recognised rather than believed.
        if numbers == seed_order(42, size)[: len(rows)]:
            about |= {"order": f"{task} shuffled by seed 42", "task": task}
    build = ArmBuilder(path.name, "think", int(meta["budget"]), provenance={"format": Format.TEXTS}, **about)
    for line, row in numbered(rows, path, ("results",)):
        build.add(
            str(row["idx"]),
            right=verdict(row["correct"], build.file, line, "correct"),
            tokens=whole(row["n_tokens"], build.file, line, "n_tokens"),
            flag=not row["hit_budget"],
            content=gold_content(row),
            line=line,
            columns={"question": "idx", "tokens": "n_tokens"},
            text=str(row["full_text"]),
            gold=str(row["gold"]),
        )
    return finish([build], questions), []
