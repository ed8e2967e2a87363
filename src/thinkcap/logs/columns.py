"""Which column of a stranger's log is what: guessed from common names, corrected by --map.

>>> guess([{"item": 1, "gold": "5", "response": {"text": "5", "n_tokens": 3}}])["output"]
'response.text'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from thinkcap.core.errors import DataError
from thinkcap.core.names import nearest, pairs
from thinkcap.logs.modes import read_mode

FIELDS: Mapping[str, tuple[str, ...]] = {
    field: tuple(names.split())
    for field, names in {
        "id": "custom_id id idx item question_id qid doc_id problem_id example_id item_id index "
        "unique_id instance_id task_id sample_id request_id uid row number",
        "correct": "correct is_correct acc accuracy right verdict exact_match passed pass score grade reward "
        "correctness is_right match",
        "gold": "gold gold_answer target reference ground_truth groundtruth gt reference_answer "
        "expected_answer expected correct_answer true_answer answer_gold label gold_label",
        "output": "output response completion generation generated_text model_output output_text raw_output "
        "raw_response full_output full_text model_response llm_output message.content "
        "response_text generated text resp content raw reply outputs responses completions "
        "generations samples code",
        "pred": "pred prediction predicted extracted extracted_answer final_answer parsed_answer "
        "model_answer pred_answer predicted_answer upstream_extracted",
        "reasoning": "reasoning_content reasoning thinking thought thoughts reasoning_text thinking_text cot "
        "chain_of_thought trace",
        "tokens": "tokens n_tokens n_out output_tokens completion_tokens generated_tokens num_tokens "
        "tokens_used total_output_tokens num_output_tokens n_output_tokens num_generated_tokens "
        "output_length tokens_charged gen_tokens eval_count response_tokens token_count length "
        "token_ids output_token_ids",
        "tokens_think": "reasoning_tokens thinking_tokens think_tokens tokens_think n_thinking_tokens",
        "budget": "budget max_tokens max_new_tokens cap max_completion_tokens max_output_tokens "
        "max_gen_toks token_budget token_cap token_limit max_generation_tokens max_length num_predict",
        "mode": "mode thinking_mode enable_thinking think_mode reasoning_mode use_thinking is_thinking "
        "reasoning_effort effort think thinking reasoning",
        "policy": "policy method strategy condition setting arm config_name run_name",
        "ended": "ended eos natural_stop finished completed is_finished is_complete",
        "cut": "hit_budget truncated is_truncated hit_cap hit_max_tokens hit_limit cut cut_off "
        "exceeded_budget max_tokens_reached",
        "finish": "finish_reason stop_reason finish done_reason finish_status",
        "model": "model model_name model_id model_path model_name_or_path llm",
        "task": "task dataset benchmark task_name dataset_name data_source eval_name",
        "group": "group subject category topic subtask type domain",
        "level": "level difficulty",
        "seed": "seed epoch sample sample_idx sample_index trial attempt repeat rollout run sample_number "
        "generation_id replicate",
        "wall": "wall_s latency_s latency duration_seconds duration_s duration elapsed_s elapsed time_s "
        "seconds wall_time generation_time",
        "stated": "has_final has_final_answer states_answer",
        "question": "question problem prompt input query question_text instruction",
    }.items()
}
"""What may be mapped, and the names tried for it, the likeliest first. `a.b` is b inside a."""

_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "correct": re.compile(r"(?:\w+_)?(?:is_)?correct"),
    "tokens": re.compile(
        r"(?:n|num)_(?:\w+_)?tokens(?!\w*(?:reason|think|prompt|input))\w*|(?:out|output|gen)\w*_tokens"
    ),
    "tokens_think": re.compile(r"(?:n|num)_tokens\w*_(?:reason|think)\w*"),
    "budget": re.compile(r"(?:cap|budget|max)_tokens\w*"),
}
"""For names nobody could list: `upstream_correct`, `n_tokens_qwen`, `cap_tokens_inferred`."""

_TEXTS = frozenset({"output", "reasoning"})
_DEEPEST = 8
_MOST_COLUMNS = 400
_LONGEST = 100
"""Characters of a column's name that is worth a guess."""
ROLES = ("messages", "conversation", "conversations", "chat")


def parse_map(text: str) -> dict[str, str]:
    """`id=idx,correct=acc` as a table; refuses fields that do not exist."""
    return pairs(text, "--map", "field=column, such as id=idx", FIELDS)


def parse_set(text: str) -> dict[str, str]:
    """`model=Qwen3-8B,task=gsm8k,mode=think` as a table."""
    return pairs(text, "--set", "name=value, such as model=Qwen3-8B", ("model", "task", "mode"))


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Nested objects as `a.b`; of a conversation the last word of the assistant and the first of the user."""
    if not any(isinstance(v, (dict, list)) for v in row.values()):
        return dict(row)
    found: dict[str, Any] = {}
    _flatten(row, "", found, _DEEPEST)
    return found


def _flatten(row: Mapping[str, Any], head: str, found: dict[str, Any], deeper: int) -> None:
    for key, value in row.items():
        name = f"{head}{key}"
        if len(found) > _MOST_COLUMNS:
            return
        if isinstance(value, Mapping) and deeper and value:
            _flatten(value, f"{name}.", found, deeper - 1)
        elif isinstance(value, list) and key in ROLES:
            _talk(value, found)
        else:
            found[name] = value


def _talk(turns: list[Any], found: dict[str, Any]) -> None:
    for turn in turns:
        if isinstance(turn, Mapping):
            role = turn.get("role") or turn.get("from")
            said = turn.get("content", turn.get("value"))
            if role in ("assistant", "gpt", "model") and isinstance(said, str):
                found["message.content"] = said
                if isinstance(turn.get("reasoning_content"), str):
                    found["reasoning_content"] = turn["reasoning_content"]
            elif role in ("user", "human") and isinstance(said, str):
                found.setdefault("prompt", said)


SEVERAL = (
    *("choices", "outputs", "responses", "completions", "generations", "samples", "output", "response"),
    *("completion", "generation", "candidates", "generated_text", "preds", "predictions"),
)
"""Columns that may hold all samples of one question in a list."""


def apart(row: Mapping[str, Any], deeper: int = _DEEPEST) -> Iterator[Mapping[str, Any]]:
    """One row a sample: a list of answers to one question is as many rows, lists beside it go along."""
    if not any(isinstance(v, (list, Mapping)) for v in row.values()):
        yield row
        return
    name = next((n for n in SEVERAL if _is_several(row.get(n))), None)
    if name is None:
        inside = next((k for k, v in row.items() if isinstance(v, Mapping) and _holds_several(v, deeper)), None)
        if inside is None:
            yield row
            return
        for part in apart(row[inside], deeper - 1):
            yield {**row, inside: part}
        return
    answers = row[name]
    beside = [k for k, v in row.items() if isinstance(v, list) and len(v) == len(answers) and k != name]
    for number, answer in enumerate(answers):
        one = {k: v for k, v in row.items() if k != name} | {k: row[k][number] for k in beside}
        if isinstance(answer, Mapping):
            one |= {k: v for k, v in answer.items() if k != "index"}
        else:
            one["output"] = answer
        if len(answers) > 1:
            one.setdefault("sample", number)
        yield one


def _holds_several(row: Mapping[str, Any], deeper: int) -> bool:
    if any(_is_several(row.get(n)) for n in SEVERAL):
        return True
    return deeper > 0 and any(isinstance(v, Mapping) and _holds_several(v, deeper - 1) for v in row.values())


def _is_several(value: Any) -> bool:
    return (
        isinstance(value, list) and bool(value) and (all(isinstance(v, str) for v in value) or _are_answers(value))
    )


def _are_answers(value: list[Any]) -> bool:
    return all(
        isinstance(v, Mapping) and v.keys() & {"text", "message", "output", "content", "token_ids"} for v in value
    )


def guess(rows: Iterable[Mapping[str, Any]], given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Field -> column, from the names and the first values; what was given stands."""
    flattened = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flattened for name in row))
    found = dict(given or {})
    for field, known in FIELDS.items():
        if field in found:
            continue
        column = _named(field, known, names, flattened, set(found.values()))
        if column:
            found[field] = column
    _answers(found, names, given or {})
    return found


def _named(
    field: str, known: tuple[str, ...], names: list[str], rows: list[dict[str, Any]], taken: set[str]
) -> str | None:
    plain = {name: re.sub(r"[\s-]+", "_", name.strip().lower()) for name in names}
    fits = [n for n in names if n not in taken and len(n) <= _LONGEST and _fits(field, n, rows)]
    for wanted in known:
        exact = next((n for n in fits if plain[n] == wanted), None)
        if exact:
            return exact
    # A nested `id` is the id of something else.
    for wanted in () if field in ("id", "group", "question") else known:
        inside = next((n for n in fits if plain[n].endswith("." + wanted)), None)
        if inside:
            return inside
    pattern = _PATTERNS.get(field)
    alike = [n for n in fits if pattern and pattern.fullmatch(plain[n])]
    return alike[0] if alike and (field != "correct" or len(alike) == 1) else None


def named_plainly(columns: Mapping[str, str]) -> bool:
    """Whether the column of verdicts is called what such a column is called, and was not found by a pattern."""
    return "correct" not in columns or columns["correct"].lower().rpartition(".")[2] in FIELDS["correct"]


def _fits(field: str, name: str, rows: list[dict[str, Any]]) -> bool:
    """Whether the first value there is of a kind the field can have."""
    value = next((r[name] for r in rows if r.get(name) not in (None, "")), None)
    if value is None:
        # A column nobody filled is worth naming only where its absence is.
        return field in ("id", "correct", "tokens") or (field == "output" and name.endswith("message.content"))
    if field in _TEXTS:
        return isinstance(value, str) and not (field == "reasoning" and read_mode(value))
    if field == "mode":
        return isinstance(value, bool) or (isinstance(value, str) and len(value) < 60)
    if field == "tokens":
        return not isinstance(value, bool) and (not isinstance(value, list) or name.endswith("token_ids"))
    if field in ("seed", "wall"):
        return _is_number(value)
    return not isinstance(value, (list, dict)) or field == "gold"


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"-?\d{1,18}(?:\.\d{1,18})?", value.strip(), re.ASCII))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _answers(found: dict[str, str], names: list[str], given: Mapping[str, str]) -> None:
    """`answer` and `solution` are the gold beside an output, and the output beside a gold."""
    # An extracted answer is no output: with a verdict beside it there is nothing left to read.
    if "output" not in found and "pred" in found and "correct" not in found:
        found["output"] = found["pred"]
    for name in ("answer", "solution"):
        if name not in names or name in found.values():
            continue
        if "gold" not in found and "output" in found:
            found["gold"] = name
        elif "output" not in found and "gold" in found:
            found["output"] = name
    if "id" not in found and "question" in found and "id" not in given:
        found["id"] = found["question"]


def check_map(given: Mapping[str, str], rows: Iterable[Mapping[str, Any]], path: object) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    for field, column in given.items():
        if column not in names:
            raise DataError(
                f"{path}, line 1, column '{column}': no such column for {field}{nearest(column, names)}"
            )
