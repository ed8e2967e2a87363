"""On the real bundled model: methods with trials hold their cap, and every arm says what its trials cost."""

from __future__ import annotations

from pathlib import Path

from thinkcap import logs
from thinkcap.api import run_study as run
from thinkcap.policies.registry import PolicySpec
from thinkcap.study.config import StudyConfig
from thinkcap.study.rivals import TRIALS
from thinkcap.study.values import PolicyPlan


async def test_charged_minus_trial_tokens_is_what_the_authors_count(tmp_path: Path) -> None:
    specs = [*map(PolicySpec.from_table, TRIALS), PolicySpec("estimate")]
    plans = tuple(PolicyPlan(spec) for spec in specs)
    done = await run(StudyConfig(policies=plans, budgets=(160,), limit=2, out=tmp_path))
    assert len(done.rows) == 2 * len(specs)
    for row in done.rows:
        assert row.tokens_charged <= row.budget
        tried = [stage for stage in row.stages if stage.stage in ("trial", "estimate") and stage.charged]
        assert row.notes["trials"] == len(tried)
        assert row.notes["trial_tokens"] == sum(stage.charged for stage in tried)
    assert any(row.notes["trials"] > 1 for row in done.rows)
    for arm in logs.read([tmp_path]).arms:
        rows = [row for row in done.rows if (row.policy, row.budget) == (arm.method, arm.budget)]
        assert sum(arm.extra["trials"]) == sum(row.notes["trials"] for row in rows)
        assert sum(arm.extra["trial_tokens"]) == sum(row.notes["trial_tokens"] for row in rows)
