"""Every wrong word gets one line: what was seen, what was wanted, what to do."""

from pathlib import Path

import pytest
import tomli_w

from thinkcap.core.errors import ConfigError
from thinkcap.study.config import StudyConfig
from thinkcap.study.options import PRESETS, from_options
from thinkcap.study.values import parse_budgets


@pytest.mark.parametrize(
    ("text", "want"), [("64,128", (64, 128)), ("64:128:32", (64, 96, 128)), ("128, 8:16:8", (8, 16, 128))]
)
def test_budgets(text: str, want: tuple[int, ...]) -> None:
    assert parse_budgets(text) == want


@pytest.mark.parametrize("text", ["", "a", "64;128", "0", "-4", "64:1:2", "1:8:0", "64,,", "1e3"])
def test_bad_budgets(text: str) -> None:
    with pytest.raises(ConfigError, match="budgets"):
        parse_budgets(text)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"buget": 3}, "unknown key 'buget'; did you mean 'budgets'"),
        ({"limit": 0}, "limit: wanted a number of questions of at least 1, saw 0"),
        ({"limit": "many"}, "saw 'many'"),
        ({"temperature": 9}, "from 0 to 5"),
        ({"seeds": [1, 1]}, "different seeds"),
        ({"seeds": "x"}, "whole numbers"),
        ({"online": 1}, "true or false"),
        ({"price": {"inputs": 1}}, "did you mean 'input'"),
        ({"policy": [{"nam": "iris"}]}, "a table with a 'name'"),
        ({"policy": [{"name": "iris", "frist": 3}]}, "did you mean 'first'"),
        ({"policies": ["irsi"]}, "did you mean 'iris'"),
        ({"prompts": {"extarct": "x"}}, "did you mean 'extract'"),
        ({"prompts": {"extract": "no mark"}}, "U\\+FFFC"),
        ({"nothink_by": "magic"}, "unknown value 'magic'"),
        ({"tasks": []}, "one or more names"),
        ({"model": ""}, "wanted a text"),
    ],
)
def test_bad_values(values: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        StudyConfig.from_mapping(values)


def test_a_resolved_study_reads_back_as_itself(tmp_path: Path) -> None:
    config = from_options(
        StudyConfig(),
        {
            "policies": "iris(first=3,answer=4),think[heuristic],gate(each=4,otherwise=iris_plus(first=6))",
            "budgets": "8,16",
            "price": "1,0.1,2",
            "limit": 5,
            "out": "runs/x",
        },
    )
    path = tmp_path / "study.toml"
    path.write_text(tomli_w.dumps(config.to_mapping()))
    assert StudyConfig.from_file(path) == config


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_valid_and_their_stages_fit_their_budgets(name: str) -> None:
    config = from_options(StudyConfig(), {"preset": name})
    for plan in config.policies:
        stages = {
            k: v for k, v in plan.spec.options.items() if k in ("first", "second", "think", "answer", "retry")
        }
        rounds = plan.spec.options.get("rounds", 1)
        if plan.budgets and stages:
            first = stages.pop("first", 0)
            assert max(plan.budgets) == first + rounds * sum(stages.values())


def test_both_seed_and_seeds_are_refused() -> None:
    with pytest.raises(ConfigError, match="use one of them"):
        from_options(StudyConfig(), {"seed": 1, "seeds": "1,2"})


def test_a_temperature_beside_the_makers_sampling_is_refused() -> None:
    with pytest.raises(ConfigError, match="both given"):
        StudyConfig.from_mapping({"sampling": "recommended", "temperature": 0.7})
    assert StudyConfig.from_mapping({"sampling": "recommended"}).sampling == "recommended"
