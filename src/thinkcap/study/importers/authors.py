"""Per-sample JSON of the nips-adathink experiments: seven shapes, recognised by content, not by file name.

Their `hit_budget` means tokens >= int(0.95 b) in most files; it is kept as a flag, never taken for the end.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.study.importers.reading import verdict, whole
from thinkcap.study.records import Arm, ArmBuilder, Questions, content_hash, with_counted_end

_SIZES = {"gsm8k": 1319, "math500": 500}
"""Rows of the test sets: what a seeded shuffle was a shuffle of."""

Shape = Callable[[Any, Path, Questions], tuple[list[Arm], list[str]]]


def recognise(data: Any) -> Shape | None:
    """The reader for this shape, or None when it is none of theirs."""
    if isinstance(data, list) and data and isinstance(data[0], dict) and {"c", "s", "t"} <= set(data[0]):
        return _compact
    if not isinstance(data, dict):
        return None
    rows = data.get("per_sample")
    if isinstance(data.get("per_sample_iris"), list) or isinstance(data.get("iris_results"), list):
        return _cascade
    if isinstance(rows, dict) and rows and all(_mode_and_budget(k) for k in rows):
        return _sweep
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
    if "mrsd_correct" in first:
        return _mrsd
    if {"B_total", "method", "Br", "Ba"} <= set(first):
        return _split
    if {"think_neutral", "nothink_extraction"} <= set(first):
        return _factorial
    if {"tokens", "hit_budget", "correct"} <= set(first):
        return _single
    results = data.get("results")
    if isinstance(results, list) and results and "full_text" in results[0]:
        return _entropy
    return None


def read(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    shape = recognise(data)
    if shape is None:
        raise DataError(f"{path}: not one of the known shapes")
    return shape(data, path, questions)


def seed_order(seed: int, size: int) -> list[int]:
    """Row x[i] of the test set is question i of a run with this seed."""
    rows = list(range(size))
    random.Random(seed).shuffle(rows)
    return rows


def _mode_and_budget(key: str) -> tuple[str, int] | None:
    found = re.fullmatch(r"(nothink|think|thinking)_(\d+)", key)
    return ("think" if found[1].startswith("think") else "nothink", int(found[2])) if found else None


def _about(data: Mapping[str, Any], path: Path, n: int) -> dict[str, Any]:
    """Model, task, seed and the declared order of the questions."""
    meta = data.get("meta") or {}
    task = str(meta.get("benchmark", ""))
    seed = meta.get("seed")
    # A run that names its benchmark and seed shuffled that benchmark; without a benchmark, rows stand as stored.
    order = f"{task} shuffled by seed {seed}" if task and seed is not None else f"file order of {n} rows"
    model = str(meta.get("model") or _model_from(path.name))
    if not task:
        task = "math500" if "math500" in path.name else ("gsm8k" if n == _SIZES["gsm8k"] else "")
    return {"model": model, "task": task, "seed": seed, "order": order}


def _model_from(name: str) -> str:
    found = re.search(r"(Qwen3(?:[._]5)?[-_]\d+B|DeepSeek[A-Za-z0-9_]*?\d+B)", name)
    return found[1] if found else ""


def _content(row: Mapping[str, Any]) -> int:
    return content_hash(str(row["gold"])) if row.get("gold") is not None else 0


def _plain(build: ArmBuilder, rows: Sequence[Mapping[str, Any]], where: str, tokens_key: str = "tokens") -> None:
    """Rows with idx, correct, tokens and hit_budget."""
    for i, row in enumerate(rows):
        line = f"row {i + 1} ({where}[{i}])"
        for key in ("idx", "correct", tokens_key):
            if row.get(key) is None:
                raise DataError(f"{build.file}, {line}, column '{key}': no value")
        extra = {k: row[k] for k in ("has_final", "level", "subject", "pred_source") if k in row}
        if "pred" in row:
            extra["pred"] = "" if row["pred"] is None else str(row["pred"])
        if row.get("gold") is not None:
            extra["gold"] = str(row["gold"])
        hit = row.get("hit_budget")
        build.add(
            str(row["idx"]),
            right=verdict(row["correct"], build.file, line, "correct"),
            tokens=whole(row[tokens_key], build.file, line, tokens_key),
            flag=None if hit is None else not hit,
            content=_content(row),
            line=line,
            columns={"question": "idx", "tokens": tokens_key},
            **extra,
        )


def _finish(builders: Sequence[ArmBuilder], questions: Questions) -> list[Arm]:
    return [with_counted_end(b.done(questions)) for b in builders]


def _sweep(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    builders = []
    for key, rows in data["per_sample"].items():
        found = _mode_and_budget(key)
        assert found is not None
        build = ArmBuilder(path.name, *found, **_about(data, path, len(rows)))
        _plain(build, rows, f"per_sample.{key}")
        builders.append(build)
    return _finish(builders, questions), []


def _single(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows = data["per_sample"]
    meta = data.get("meta") or {}
    budget = data.get("budget", meta.get("budget"))
    mode = str(data.get("mode") or data.get("label") or path.name)
    if budget is None:
        raise DataError(f"{path}: no 'budget' at the top level or in 'meta'; the cap of the run is needed")
    policy = "nothink" if mode.startswith("nothink") else "think"
    notes = []
    if not (data.get("mode") or data.get("label")):
        notes.append(f"{path.name}: the mode is not stored; read as {policy} from the file's name")
    build = ArmBuilder(path.name, policy, int(budget), **_about(data, path, len(rows)))
    _plain(build, rows, "per_sample")
    return _finish([build], questions), notes


def _stage_rows(
    build: ArmBuilder, rows: Sequence[Mapping[str, Any]], where: str, names: Mapping[str, str]
) -> None:
    """Cascade rows: `names` maps right, stage, tokens, reason to their keys; position is the id without idx."""
    for i, row in enumerate(rows):
        line = f"row {i + 1} ({where}[{i}])"
        extra: dict[str, Any] = {"stage": whole(row[names["stage"]], build.file, line, names["stage"])}
        if "reason" in names:
            extra["s2_stop"] = str(row.get(names["reason"]) or "")
        if row.get("pred_source") is not None:
            extra["pred_source"] = str(row["pred_source"])
        build.add(
            str(row.get("idx", i)),
            right=verdict(row[names["right"]], build.file, line, names["right"]),
            tokens=whole(row[names["tokens"]], build.file, line, names["tokens"]),
            content=_content(row),
            line=line,
            columns={"question": "idx", "tokens": names["tokens"]},
            **extra,
        )


_IRIS = {"right": "correct", "stage": "final_stage", "tokens": "tokens_total", "reason": "s2_stop_reason"}
_TOWN = {"right": "correct", "stage": "stage", "tokens": "tokens_total"}


def _cascade(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows = data.get("per_sample_iris") or data["iris_results"]
    config = data.get("iris_config") or {}
    about = _about(data, path, len(rows))
    first, second, answer = config.get("b1"), config.get("b2_max"), config.get("b_answer")
    if second is None:
        used = [r.get("s2_tokens_used") or 0 for r in rows]
        second = max(used) or None
        found = re.search(r"_ba(\d+)", str(path))
        answer = int(found[1]) if found else None
    settings = {"b1": first, "b2": second, "ba": answer}
    iris = ArmBuilder(path.name, "iris", second, settings=settings, **about)
    _stage_rows(iris, rows, "per_sample_iris", _IRIS)
    builders = [iris]
    if data.get("per_sample_town"):
        town = ArmBuilder(path.name, "town", second, settings=settings, **about)
        _stage_rows(town, data["per_sample_town"], "per_sample_town", _TOWN)
        builders.append(town)
    return [b.done(questions) for b in builders], []


def _compact(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
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
    settings = {"b1": first, "b2": budget, "ba": answer}
    order = f"file order of {len(data)} rows"
    policy = "iris" if is_iris else "town"
    build = ArmBuilder(path.name, policy, budget, settings=settings, order=order, task="", model="")
    _stage_rows(build, data, "", names)
    return [build.done(questions)], [f"{path.name}: no ids are stored; the position is taken for the id"]


def _mrsd(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows, config = data["per_sample"], data.get("config") or {}
    about = _about(data, path, len(rows))
    settings = {
        k: config.get(v)
        for k, v in {"b1": "b1", "b2": "b_think", "ba": "b_answer", "rounds": "max_rounds"}.items()
    }
    arms = {
        p: ArmBuilder(path.name, p, None, settings=settings, **about) for p in ("nothink", "town", "iris", "mrsd")
    }
    for i, row in enumerate(rows):
        line = f"row {i + 1} (per_sample[{i}])"
        for policy, build in arms.items():
            extra: dict[str, Any] = {}
            tokens = None
            if policy == "mrsd":
                tokens = whole(row["mrsd_tokens"], build.file, line, "mrsd_tokens")
                extra = {
                    "round": whole(row["mrsd_round"], build.file, line, "mrsd_round"),
                    "converged": bool(row["mrsd_converged"]),
                    "escalated": bool(row["s0_hit_budget"]),
                    "first_tokens": whole(row["s0_tokens"], build.file, line, "s0_tokens"),
                }
                if row.get("r1_raw_think") is not None:
                    extra |= {"trace": str(row["r1_raw_think"]), "gold": str(row.get("gold", ""))}
            build.add(
                str(row["idx"]),
                right=verdict(row[f"{policy}_correct"], build.file, line, f"{policy}_correct"),
                tokens=tokens,
                content=_content(row),
                line=line,
                columns={"question": "idx"},
                **extra,
            )
    return [b.done(questions) for b in arms.values()], []


def _split(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    about = _about(data, path, int((data.get("meta") or {}).get("n_samples", 0)))
    builders: dict[tuple[str, int, int, int], ArmBuilder] = {}
    for i, row in enumerate(data["per_sample"]):
        line = f"row {i + 1} (per_sample[{i}])"
        total, reasoning, answer = (whole(row[k], path.name, line, k) for k in ("B_total", "Br", "Ba"))
        key = (str(row["method"]), total, reasoning, answer)
        if key not in builders:
            settings = {"total": total, "br": reasoning, "ba": answer}
            builders[key] = ArmBuilder(path.name, key[0], total, settings=settings, **about)
            if key[0] == "split":
                builders[key].about["criterion"] = "thought closed before the cut"
        hit = row.get("hit_budget", row.get("truncated"))
        builders[key].add(
            str(row["idx"]),
            right=verdict(row["correct"], path.name, line, "correct"),
            tokens=whole(row["tokens_used"], path.name, line, "tokens_used"),
            flag=None if hit is None or key[0] == "split" else not hit,
            ended=row.get("think_complete"),
            content=_content(row),
            line=line,
            columns={"question": "idx", "tokens": "tokens_used"},
        )
    plain = ("nothink", "think")
    arms = [b.done(questions) for b in builders.values()]
    return [with_counted_end(a) if a.policy in plain else a for a in arms], []


def _factorial(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows = data["per_sample"]
    about = _about(data, path, len(rows))
    cells = ("think_neutral", "think_extraction", "nothink_neutral", "nothink_extraction", "town")
    arms = {c: ArmBuilder(path.name, f"cell:{c}", None, **about) for c in cells if c in rows[0]}
    for i, row in enumerate(rows):
        line = f"row {i + 1} (per_sample[{i}])"
        for cell, build in arms.items():
            build.add(
                str(row["idx"]),
                right=verdict(row[cell], build.file, line, cell),
                content=_content(row),
                line=line,
                columns={"question": "idx"},
                stage=whole(row["stage"], build.file, line, "stage"),
            )
    return [b.done(questions) for b in arms.values()], []


def _entropy(data: Any, path: Path, questions: Questions) -> tuple[list[Arm], list[str]]:
    rows, meta = data["results"], data["meta"]
    about = _about(data, path, len(rows))
    numbers = [r.get("original_idx") for r in rows]
    for task, size in _SIZES.items():
        # The dataset row is stored, so a known shuffle can be recognised rather than believed.
        if numbers == seed_order(42, size)[: len(rows)]:
            about |= {"order": f"{task} shuffled by seed 42", "task": task}
    build = ArmBuilder(path.name, "think", int(meta["budget"]), **about)
    for i, row in enumerate(rows):
        line = f"row {i + 1} (results[{i}])"
        build.add(
            str(row["idx"]),
            right=verdict(row["correct"], build.file, line, "correct"),
            tokens=whole(row["n_tokens"], build.file, line, "n_tokens"),
            flag=not row["hit_budget"],
            content=_content(row),
            line=line,
            columns={"question": "idx", "tokens": "n_tokens"},
            text=str(row["full_text"]),
            gold=str(row["gold"]),
        )
    return _finish([build], questions), []
