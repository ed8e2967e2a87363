import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated import CAPS, measured

from thinkcap.allocate.envelope import Envelope, Measured, Spending, replay
from thinkcap.allocate.envelope import fit as fit_all
from thinkcap.allocate.file import Allocation
from thinkcap.core.errors import DataError
from thinkcap.policies.registry import parse


def fit(measured: Measured, **options: Any) -> Envelope:
    """Two quick kinds of allocator: which kind is fitted is tested elsewhere."""
    return fit_all(measured, kinds=("logistic", "constant"), **options)


@pytest.fixture(scope="module")
def truth() -> Measured:
    return measured(20_000, 99)


def test_the_choice_is_never_much_worse_than_the_best_fixed_policy(truth: Measured) -> None:
    found = fit(measured(400, 1), margin=0.01, risk=0.1)
    for choice in found.choices:
        mine = found.outcome(truth, choice.cap).right.mean()
        best = max(by[choice.cap].right.mean() for by in truth.fixed.values())
        # The margin, and what a best fixed policy picked on 400 questions may miss.
        assert mine >= best - 0.03, choice
        assert found.outcome(truth, choice.cap).tokens.max() <= choice.cap
    area = {name: np.mean([by[c].right.mean() for c in CAPS]) for name, by in truth.fixed.items()}
    assert np.mean([found.outcome(truth, c).right.mean() for c in CAPS]) > max(area.values())


def test_with_enough_questions_more_than_fixed_policies_is_certified(truth: Measured) -> None:
    found = fit(measured(2000, 2))
    kinds = {choice.spending.kind for choice in found.choices}
    assert kinds - {"fixed"}
    for choice in found.choices:
        if choice.certified.chosen is not None:
            best = max(by[choice.cap].right.mean() for by in truth.fixed.values())
            assert found.outcome(truth, choice.cap).right.mean() >= best - choice.certified.margin


def test_what_is_written_is_what_was_chosen(tmp_path: Path) -> None:
    found = fit(measured(600, 3), margin=0.5)
    path = tmp_path / "a.json"
    path.write_text(found.allocation({"model": "m"}).to_json())
    again = Allocation.from_file(path)
    assert again.about["learned_on"] + again.about["tested_on"] == 600
    for choice, entry in zip(found.choices, again.entries, strict=True):
        assert (entry.at_least, entry.policy, entry.sure) == (
            choice.cap,
            choice.spending.policy,
            choice.spending.sure,
        )
        # With half of all answers as margin everything is harmless, so the preferred candidate is taken.
        assert entry.kind == choice.candidates[0].kind != "fixed"
        assert parse(entry.policy).options.get("think", 0) <= choice.cap
        assert entry.evidence["certified"]
    assert json.loads(path.read_text())["stop"]["rules"]


def test_every_candidate_keeps_to_the_cap(truth: Measured) -> None:
    found = fit(measured(300, 4))
    assert any(choice.candidates for choice in found.choices)
    for choice in found.choices:
        for candidate in choice.candidates:
            assert found.outcome(truth, choice.cap, candidate).tokens.max() <= choice.cap


def test_only_servable_policies_are_a_way_out() -> None:
    found = fit(measured(60, 5), margin=0.0, risk=0.001, servable=["nothink"])
    assert {choice.spending.policy for choice in found.choices} == {"nothink"}
    with pytest.raises(DataError, match="can serve"):
        fit(measured(60, 5), margin=0.0, risk=0.001, servable=[])
    with pytest.raises(DataError, match="too few"):
        fit(measured(30, 5))


def test_replay_of_a_fixed_policy_is_its_measurement() -> None:
    m = measured(50, 6)
    found = fit(m)
    outcome = replay(Spending("fixed", "close"), m, 64, found.stopping)
    assert (outcome.right == m.fixed["close"][64].right).all()
