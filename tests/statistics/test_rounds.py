from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkcap.core.errors import DataError
from thinkcap.statistics.rounds import convergence

ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(1, 4)), min_size=1, max_size=60)


@given(ROWS)
def test_equal_to_counting_rows(rows: list[tuple[bool, bool, bool, int]]) -> None:
    found = convergence(*([r[i] for r in rows] for i in range(4)))
    sent = [r for r in rows if r[1]]
    agreed = [r for r in sent if r[2]]
    rest = [r for r in sent if not r[2]]
    assert (found.n, found.escalated, found.converged) == (len(rows), len(sent), len(agreed))
    assert found.share_all == pytest.approx((len(rows) - len(sent) + len(agreed)) / len(rows))
    assert found.share_escalated == (len(agreed) / len(sent) if sent else None)
    assert found.accuracy_converged == (sum(r[0] for r in agreed) / len(agreed) if agreed else None)
    assert found.accuracy_open == (sum(r[0] for r in rest) / len(rest) if rest else None)
    assert found.by_round == {k: sum(r[3] == k for r in sent) for k in sorted({r[3] for r in sent})}


def test_the_published_share_counts_accepted_answers_as_converged() -> None:
    # 1319 questions, 148 escalated, 109 of them converged: printed as 97.04 %.
    sent = [True] * 148 + [False] * 1171
    found = convergence([1] * 1319, sent, [True] * 109 + [False] * 1210, [2] * 86 + [3] * 62 + [0] * 1171)
    assert round(100 * found.share_all, 2) == 97.04
    assert found.share_escalated == pytest.approx(109 / 148)
    assert found.by_round == {2: 86, 3: 62}
    with pytest.raises(DataError, match="no questions"):
        convergence([], [], [], [])
