import builtins
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.allocate.fit import Pool, cross_validate, out_of_fold, score, train
from thinkcap.allocate.model import Allocator, levels
from thinkcap.core.errors import ConfigError, DataError

BUDGETS = (0, 64, 256)


def planted(n: int, seed: int, noise: float = 0.1) -> Pool:
    """Length decides the least sufficient budget, up to some noise."""
    rng = np.random.default_rng(seed)
    x = np.zeros((n, 13))
    x[:, 0], x[:, 1] = rng.uniform(0, 300, n), rng.normal(0, 1, n)
    need = np.digitize(x[:, 0] + rng.normal(0, 300 * noise, n), (100, 200))
    right = np.arange(3)[None, :] >= need[:, None]
    tokens = np.tile(np.array([10, 60, 200]), (n, 1))
    return Pool(x, BUDGETS, right, tokens)


@pytest.mark.parametrize("kind", ["mlp", "logistic", "boosting"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_file_predicts_what_scikit_learn_fitted(
    kind: str, classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.neural_network

    fitted: list[Any] = []
    for module, name in (
        (sklearn.neural_network, "MLPClassifier"),
        (sklearn.linear_model, "LogisticRegression"),
        (sklearn.ensemble, "GradientBoostingClassifier"),
    ):
        real = getattr(module, name)

        def watched(*args: Any, _real: Any = real, **kwargs: Any) -> Any:
            fitted.append(_real(*args, **kwargs))
            return fitted[-1]

        monkeypatch.setattr(module, name, watched)
    pool = planted(200, 1)
    if classes == 2:
        pool = Pool(pool.x, (0, 64), pool.right[:, :2], pool.tokens[:, :2])
    again = Allocator.from_mapping(json.loads(json.dumps(train(kind, pool).to_mapping())))
    z = (pool.x - pool.x.mean(axis=0)) / np.where(pool.x.std(axis=0) > 0, pool.x.std(axis=0), 1)
    ours, theirs = again.chances(pool.x), fitted[-1].predict_proba(z)
    # Numbers are kept to six digits, so a row at a tree's threshold may fall on its other side.
    assert np.mean(np.abs(ours - theirs).max(axis=1) < 1e-3) > 0.99


def test_held_out_scores_find_the_planted_truth_and_the_oracle_bounds_them() -> None:
    report = cross_validate(planted(300, 2))
    best = report.scores[report.best]
    assert report.best != "constant"
    assert best.class_interval[0] > best.majority
    assert best.class_interval[0] <= best.class_accuracy <= best.class_interval[1]
    assert best.tokens < best.tokens_fixed
    assert 0 < best.saved < 1
    assert best.of_oracle is not None
    assert 0.6 < best.of_oracle <= 1
    assert best.kept_interval[0] <= best.kept <= best.kept_interval[1]
    assert best.kept <= 0


@given(st.integers(0, 10**6))
def test_nobody_is_above_the_oracle(seed: int) -> None:
    """Not an allocator that gives every question up either: saved tokens that cost an answer are no saving."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    tokens = np.sort(rng.integers(1, 300, (n, 3)), axis=1)
    pool = Pool(np.zeros((n, 13)), BUDGETS, rng.random((n, 3)) < rng.random(3), tokens)
    for chosen in (rng.integers(0, 3, n), np.zeros(n, dtype=np.int64), pool.target):
        found = score("any", pool, np.full((n, 3), 1 / 3), chosen)
        assert found.saved <= found.saved_oracle + 1e-12
        assert found.accuracy <= found.accuracy_oracle
        assert found.of_oracle is None or found.of_oracle <= 1 + 1e-12
        kept = [i for i in range(n) if pool.right[i, chosen[i]] or not pool.right[i, 2]]
        by_hand = sum(int(tokens[i, 2] - tokens[i, chosen[i]]) for i in kept) / tokens[:, 2].sum()
        assert found.saved == pytest.approx(by_hand)


def test_giving_up_is_no_saving() -> None:
    pool = planted(300, 2)
    lazy = score("lazy", pool, np.full((300, 3), 1 / 3), np.zeros(300, dtype=np.int64))
    assert lazy.tokens < lazy.tokens_oracle
    assert lazy.of_oracle is not None
    assert lazy.of_oracle < 0.7
    assert lazy.lost == pytest.approx(-lazy.kept)
    assert lazy.saved_interval[0] < lazy.saved < lazy.saved_interval[1]


def test_without_anything_to_learn_the_constant_wins() -> None:
    pool = planted(300, 3)
    shuffled = Pool(np.random.default_rng(0).permutation(pool.x), BUDGETS, pool.right, pool.tokens)
    assert cross_validate(shuffled).best == "constant"


def test_no_question_is_predicted_by_a_fit_that_saw_it() -> None:
    """Noise cannot be predicted; a fit that had seen its own answers would."""
    rng = np.random.default_rng(4)
    right = np.zeros((200, 3), dtype=bool)
    right[np.arange(200), rng.integers(0, 3, 200)] = True
    pool = Pool(rng.normal(size=(200, 13)), BUDGETS, right, np.ones((200, 3), dtype=np.int64))
    unseen = levels(out_of_fold("boosting", pool))
    seen = train("boosting", pool).levels(pool.x)
    assert np.mean(unseen == pool.target) < 0.45 < np.mean(seen == pool.target)


def test_what_cannot_be_won_costs_least() -> None:
    pool = planted(20, 5)
    lost = Pool(pool.x, BUDGETS, np.zeros_like(pool.right), pool.tokens)
    assert set(lost.target.tolist()) == {0}
    assert set(train("mlp", lost).levels(lost.x).tolist()) == {0}


def test_surer_is_never_cheaper() -> None:
    pool = planted(200, 6)
    allocator = train("logistic", pool)
    half, most = allocator.levels(pool.x, 0.5), allocator.levels(pool.x, 0.95)
    assert (half <= most).all()
    assert (half < most).any()


def test_a_saved_allocator_needs_numpy_only() -> None:
    table = json.dumps(train("mlp", planted(100, 7)).to_mapping())
    code = (
        "import sys, json\n"
        "sys.modules['sklearn'] = None\n"
        "from thinkcap.allocate.model import Allocator\n"
        "print(Allocator.from_mapping(json.loads(sys.stdin.read())).budget('2 + 3?', 0.8))"
    )
    done = subprocess.run([sys.executable, "-c", code], input=table, capture_output=True, text=True, check=True)
    assert int(done.stdout) in BUDGETS


def test_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    table = train("constant", planted(50, 8)).to_mapping()
    with pytest.raises(ConfigError, match="other features"):
        Allocator.from_mapping({**table, "features": ["length"]})
    with pytest.raises(ConfigError, match="unknown kind"):
        Allocator.from_mapping({**table, "kind": "oracle"})
    with pytest.raises(ConfigError, match="cannot be read"):
        Allocator.from_mapping({**table, "parameters": {}})
    with pytest.raises(DataError, match="too few"):
        cross_validate(planted(8, 9))
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("sklearn"):
            raise ImportError("no sklearn")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ConfigError, match=r"thinkcap\[allocate\]"):
        train("mlp", planted(50, 8))
