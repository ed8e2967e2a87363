import itertools
import json

import pytest
from simulated import CUTS, measured

from thinkcap.allocate.stop import DEFAULT, SIGNALS, StopCheck, Stopping, StopRule
from thinkcap.allocate.stop_fit import Chains, fit_stopping, walk
from thinkcap.core.errors import ConfigError, DataError


def value(rule: Stopping, chains: Chains, limit: int, price: float) -> float:
    right, tokens, _ = walk(rule, chains, limit)
    return float(right.mean() - price * tokens.mean())


def forced(chains: Chains, limit: int, stops: tuple[bool, ...]) -> Stopping:
    """A table made by hand, one decision for each checkpoint and signal."""
    it = iter(stops)
    inside = [c for c in chains.checkpoints if c < limit]
    checks = tuple(
        tuple(StopCheck(0, 0.0, *((1.0, 0.0) if next(it) else (0.0, 1.0))) for _ in range(SIGNALS)) for _ in inside
    )
    return Stopping(chains.checkpoints, (StopRule(limit, checks),))


@pytest.mark.parametrize("price", [0.0, 0.0002, 0.001, 0.01])
def test_no_table_beats_the_dynamic_programme(price: float) -> None:
    """All 64 tables of two checkpoints, tried one by one, on the questions it was fitted on."""
    chains = measured(8000, 1).chains[32]
    few = Chains(
        (64, 160, 336),
        chains.length,
        chains.ended,
        chains.right,
        *(getattr(chains, name)[:, [2, 4, 6]] for name in ("signal", "now_right", "now_tokens")),
    )
    fitted = fit_stopping(few, price=price, limits=[336])
    best = max(
        value(forced(few, 336, stops), few, 336, price) for stops in itertools.product((False, True), repeat=6)
    )
    # Shares of few chains are drawn towards all of them, which may cost a little on these very questions.
    assert value(fitted, few, 336, price) >= best - 0.003


def test_a_higher_price_never_buys_more_tokens() -> None:
    chains = measured(4000, 2).chains[32]
    spent = [walk(fit_stopping(chains, price=price), chains, 448)[1].mean() for price in (0, 1e-4, 1e-3, 1e-2, 1)]
    assert spent == sorted(spent, reverse=True)
    assert spent[-1] <= CUTS[0] + 32


def test_loops_are_stopped_early_at_no_loss_on_fresh_questions() -> None:
    fitted = fit_stopping(measured(600, 3).chains[32], price=1e-5)
    fresh = measured(5000, 4).chains[32]
    right, tokens, stopped = walk(fitted, fresh, 448)
    never = Stopping(fresh.checkpoints, forced(fresh, 448, (False,) * 21).rules)
    all_right, all_tokens, _ = walk(never, fresh, 448)
    assert tokens.mean() < all_tokens.mean() - 10
    assert right.mean() > all_right.mean() - 0.01
    assert (stopped > 0).mean() > 0.08


def test_a_walk_charges_what_was_written() -> None:
    chains = measured(300, 5).chains[32]
    right, tokens, stopped = walk(forced(chains, 160, (False,) * 6 + (True,) * 6), chains, 160)
    alive = chains.length > 64
    assert (tokens[~alive] == chains.length[~alive]).all()
    assert (tokens[alive] == 64 + chains.now_tokens[alive, 2]).all()
    assert (right[alive] == chains.now_right[alive, 2]).all()
    assert (stopped[alive] == 64).all()
    with pytest.raises(DataError, match="measured checkpoint"):
        walk(DEFAULT, chains, 100)


def test_the_table_survives_its_file_and_an_edit_counts() -> None:
    fitted = fit_stopping(measured(300, 6).chains[32], price=0.0005)
    table = json.loads(json.dumps(fitted.to_mapping()))
    again = Stopping.from_mapping(table)
    for at, sign, limit in itertools.product(CUTS, range(SIGNALS), CUTS):
        assert again.stops(at, sign, limit) == fitted.stops(at, sign, limit)
    before = fitted.stops(64, 0, 448)
    table["rules"][-1]["stop"][2][0] = not before
    assert Stopping.from_mapping(table).stops(64, 0, 448) is not before
    with pytest.raises(ConfigError, match="table of stops"):
        Stopping.from_mapping({"checkpoints": [1]})
    with pytest.raises(ConfigError, match="must grow"):
        Stopping((4, 2))


def test_without_a_table_only_loops_stop() -> None:
    assert [DEFAULT.stops(128, sign, 1000) for sign in range(SIGNALS)] == [False, False, True]
