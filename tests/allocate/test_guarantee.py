import numpy as np
import pytest

from thinkcap.allocate.guarantee import harm_bound, harm_p, learn_then_test
from thinkcap.core.errors import ConfigError, DataError

RISK = 0.1


def outcomes(rng: np.random.Generator, n: int, loss: float, flips: float = 0.06) -> tuple[np.ndarray, np.ndarray]:
    """(candidate, fixed): `loss` points worse in truth, with flips both ways."""
    u = rng.random(n)
    fixed = rng.random(n) < 0.8
    candidate = fixed.copy()
    lost, won = u < (flips + loss) / 2, (u >= (flips + loss) / 2) & (u < flips)
    candidate[lost], fixed[lost] = False, True
    candidate[won], fixed[won] = True, False
    return candidate, fixed


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("flips", [0.02, 0.1])
def test_harm_is_certified_away_no_more_often_than_the_risk(n: int, flips: float) -> None:
    """The candidate is exactly the margin worse: the hardest true hypothesis, 500 times."""
    rng = np.random.default_rng(n)
    wrong = sum(harm_p(*outcomes(rng, n, 0.02, flips), margin=0.02) <= RISK for _ in range(500))
    assert wrong <= RISK * 500


def test_several_candidates_share_the_risk() -> None:
    """All of them harmful, each against another fixed policy: still at most the risk in total, 500 times."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(500):
        pairs = [outcomes(rng, 150, 0.02) for _ in range(3)]
        fixed = pairs[0][1]
        # Harm against the one fixed policy all share: move each candidate's difference onto it.
        candidates = [np.where(fixed == f, c, np.where(c == f, fixed, c)) for c, f in pairs]
        wrong += learn_then_test(candidates, [fixed], margin=0.0, risk=RISK).chosen is not None
    assert wrong <= RISK * 500


def test_a_better_candidate_is_found_and_a_worse_one_is_not() -> None:
    rng = np.random.default_rng(2)
    better, fixed = outcomes(rng, 600, -0.05)
    worse = fixed & (rng.random(600) < 0.9)
    found = learn_then_test([worse, better], [fixed], margin=0.01, risk=RISK)
    assert found.chosen == 1
    assert found.p[0] > RISK >= found.p[1]
    assert learn_then_test([worse], [fixed], margin=0.01, risk=RISK).chosen is None


def test_the_strongest_fixed_policy_counts() -> None:
    rng = np.random.default_rng(3)
    candidate, weak = outcomes(rng, 600, -0.05)
    strong = candidate | (rng.random(600) < 0.5)
    assert learn_then_test([candidate], [weak], margin=0.01, risk=RISK).chosen == 0
    assert learn_then_test([candidate], [weak, strong], margin=0.01, risk=RISK).chosen is None


def test_the_bound_covers_the_true_loss() -> None:
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(100):
        candidate, fixed = outcomes(rng, 200, 0.03)
        missed += harm_bound(candidate, [fixed], risk=RISK) < 0.03
    assert missed <= 10
    same = np.ones(500, dtype=bool)
    assert 0 < harm_bound(same, [same], risk=RISK) < 0.02


def test_messages() -> None:
    one = np.ones(3, dtype=bool)
    with pytest.raises(ConfigError, match="risk"):
        learn_then_test([one], [one], margin=0.1, risk=0)
    with pytest.raises(DataError, match="at least one"):
        learn_then_test([one], [], margin=0.1, risk=0.1)
    with pytest.raises(DataError, match="same questions"):
        harm_p(one, one[:2], 0.1)
