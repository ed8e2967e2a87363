"""What each method does, on scripts small enough to follow by hand."""

import pytest

from thinkcap.core.errors import ConfigError
from thinkcap.core.flow import drive
from thinkcap.core.prompts import HERE, Prompts
from thinkcap.core.types import Question, Run
from thinkcap.engines.scripted import QUIET, ScriptedEngine
from thinkcap.policies import PolicySpec, parse, parse_list

Q = Question("q1", ({"role": "user", "content": "2+3?"},), kind="number")


def model(*, quick: str = "#### 4", thought: str = "x" * 20, answer: str = "#### 5", extract: str = "#### 5"):
    """Answers `quick` at once, or thinks and then answers; `extract` is what it reads out of any trace."""

    def reply(prompt: str) -> str:
        if "Work on this so far" in prompt:
            return extract
        if "previous attempt" in prompt and prompt.endswith("[assistant]"):
            return f"<think>{thought}</think>{answer}"
        if QUIET in prompt[-30:]:
            return quick
        if not prompt.endswith("[assistant]"):
            return answer  # its thought was closed by force
        return f"<think>{thought}</think>{answer}"

    return ScriptedEngine(reply, sampled=True)


async def judge(a: str, b: str, kind: str) -> bool:
    return a.strip() == b.strip()


async def play(word: str, cap: int, engine: ScriptedEngine) -> Run:
    return await drive(parse(word).bind()(Q, cap), engine, judge=judge, cap=cap)


def stages(run: Run) -> list[str]:
    return [s.request.stage for s in run.steps]


async def test_town_accepts_a_probe_that_ended() -> None:
    run = await play("town(first=10)", 64, model())
    assert (run.answer.text, stages(run)) == ("#### 4", ["probe"])


async def test_town_escalates_on_the_end_of_turn_not_on_length() -> None:
    probe = "y" * 9  # ends as its tenth token, exactly at the budget: it ended
    assert stages(await play("town(first=10)", 64, model(quick=probe))) == ["probe"]
    run = await play("town(first=9)", 64, model(quick=probe))
    assert (run.answer.text, stages(run)) == ("#### 5", ["probe", "think"])


async def test_iris_reads_a_completed_chain_after_its_thought() -> None:
    run = await play("iris(first=4,answer=12)", 80, model(thought="I say #### 9"))
    assert (run.answer.text, run.answer.stage) == ("#### 5", "think")


async def test_iris_extracts_from_a_cut_chain_and_charges_town_plus_the_answer() -> None:
    engine = model(thought="x" * 100, extract="#### 6")
    iris = await play("iris(first=4,think=20,answer=12)", 36, engine)
    town = await play("town(first=4,second=20)", 36, engine)
    assert (iris.answer.text, stages(iris)) == ("#### 6", ["probe", "think", "extract"])
    assert iris.charged == town.charged + iris.steps[-1].completion.charged
    assert iris.reread == 20


async def test_iris_plus_retries_a_weak_reading_and_charges_both() -> None:
    run = await play("iris_plus(first=4,think=20,answer=10,retry=10)", 44, model(thought="x" * 100, extract="hm"))
    assert stages(run) == ["probe", "think", "extract", "retry"]
    assert run.reread == 40
    good = await play("iris_plus(first=4,think=20,answer=10,retry=10)", 44, model(thought="x" * 100))
    assert stages(good) == ["probe", "think", "extract"]


async def test_mrsd_needs_two_rounds_that_agree() -> None:
    run = await play("mrsd(first=4,think=40,answer=10)", 154, model())
    assert run.answer.notes["rounds"] == 2
    assert run.answer.notes["converged"]
    assert stages(run) == ["probe", "think1", "think2"]


async def test_mrsd_hints_the_previous_answer_without_the_trace() -> None:
    run = await play("mrsd(first=4,think=40,answer=10)", 154, model())
    said = run.steps[2].request.messages[-1]["content"]
    assert "5" in said
    assert "xxx" not in said


async def test_mrsd_majority_prefers_the_latest_of_a_tie() -> None:
    answers = iter(["#### 1", "#### 2", "#### 3"])

    def reply(prompt: str) -> str:
        return "y" * 50 if QUIET in prompt[-30:] else f"<think>x</think>{next(answers)}"

    run = await play("mrsd(first=4,think=40,answer=10)", 154, ScriptedEngine(reply))
    assert run.answer.text == "#### 3"
    assert not run.answer.notes["converged"]


async def test_close_forces_the_thought_shut_and_counts_that() -> None:
    run = await play("close(reserve=20)", 40, model(thought="x" * 100))
    assert stages(run) == ["think", "close"]
    assert run.answer.text == "#### 5"
    assert run.steps[1].completion.forced > 0
    assert run.charged <= 40


async def test_close_goes_on_with_an_answer_that_had_begun() -> None:
    run = await play("close(reserve=10)", 20, model(thought="x" * 5, answer="#### 5"))
    assert run.answer.text == "#### 5"
    assert run.steps[1].completion.forced == 0


async def test_pipelines_of_a_cut_chain() -> None:
    engine = model(thought="so 3 and then " * 10)
    assert (await play("think", 30, engine)).answer.text is None
    guess = (await play("think[heuristic]", 30, engine)).answer
    assert guess.guess
    assert "so 3" in (guess.text or "")
    projected = await play("think[projection]", 80, engine)
    assert projected.answer.text == "#### 5"
    assert stages(projected) == ["think", "project"]


async def test_votes_by_equivalence_with_the_earliest_in_a_tie() -> None:
    said = ["#### 1", "#### 2", "#### 2", "#### 1", ""]

    def reply(prompt: str) -> str:
        return said[int(prompt.rpartition("[seed ")[2].rstrip("]"))]

    run = await play("vote", 100, ScriptedEngine(reply, sampled=True))
    assert run.answer.text == "#### 1"
    assert run.answer.notes["votes"] == (2, 2)


async def test_gate_hands_over_below_the_threshold() -> None:
    def reply(prompt: str) -> str:
        seed = prompt.rpartition("[seed ")[2].rstrip("]") if "[seed" in prompt else ""
        return f"#### {seed}" if seed else "#### 42"

    run = await play("gate(otherwise=nothink)", 100, ScriptedEngine(reply, sampled=True))
    assert run.answer.text == "#### 42"
    assert run.answer.notes["agree"] == 1
    calm = await play("gate(otherwise=nothink)", 100, ScriptedEngine(lambda p: "#### 7"))
    assert calm.answer.text == "#### 7"
    assert len(calm.steps) == 5


async def test_weighted_vote_counts_the_stronger_voter() -> None:
    def reply(prompt: str) -> str:
        return "#### 1" if "[seed" in prompt else "#### 2"

    word = "weighted_vote(samples=3,weight={},other=nothink)"
    assert (await play(word.format(4), 100, ScriptedEngine(reply, sampled=True))).answer.text == "#### 2"
    assert (await play(word.format(2), 100, ScriptedEngine(reply, sampled=True))).answer.text == "#### 1"


def test_unknown_names_and_options_are_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'iris'"):
        parse("iriss")
    with pytest.raises(ConfigError, match="no option 'frist'; did you mean 'first'"):
        parse("town(frist=3)")
    with pytest.raises(ConfigError, match="wanted option=value"):
        parse("town(3)")


def test_lists_of_policies() -> None:
    assert [s.label for s in parse_list("nothink, town(first=3,second=4)")] == [
        "nothink",
        "town(first=3,second=4)",
    ]
    assert len(parse_list("all")) > 10


@pytest.mark.parametrize(
    "word",
    [
        "gate(each=64,otherwise=iris_plus(first=64))",
        "gate(otherwise=gate(otherwise=split(think=5,answer=3)))",
        "weighted_vote(samples=3,other=close(reserve=8))",
        'close(sentence="Time is up, so: (a), \\"b\\"\\n= c")',
        'close(sentence="12")',
        'close(sentence=" x ")',
        "close(sentence=plain words)",
        "stop(first=4,checks=False)",
        "think[projection](project=8)",
    ],
)
def test_a_label_reads_as_the_policy_it_is_of(word: str) -> None:
    spec = parse(word)
    assert spec.label == word
    assert parse(spec.label) == spec
    assert PolicySpec.from_table(spec.to_table()) == spec
    assert [s.label for s in parse_list(f"nothink, {word} ,think")] == ["nothink", word, "think"]


def test_a_nested_policy_may_be_a_text_or_a_table() -> None:
    wanted = parse("gate(otherwise=iris_plus(first=64))")
    assert PolicySpec.from_table({"name": "gate", "otherwise": "iris_plus(first=64)"}) == wanted
    assert PolicySpec.from_table({"name": "gate", "otherwise": {"name": "iris_plus", "first": 64}}) == wanted


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("gate(otherwise=iriss(first=3))", "did you mean 'iris'"),
        ("gate(otherwise=iris(frist=3))", "did you mean 'first'"),
        ("split(think=x)", "policy 'split': option 'think' must be a whole number of at least 0, saw 'x'"),
        ("stop(checks=3)", "must be true or false"),
        ("vote(mode=dream)", "must be think or nothink"),
        ("gate(otherwise=5)", "must be a policy"),
        ("iris(first=1,first=2)", "twice"),
        ("iris(first=1", "closing parenthesis"),
        ('close(sentence="x)', 'closing "'),
        ("iris(first=1)x", "nothing after"),
        ("close(sentence=a(b=1)c)", "quotes"),
        ("()", "a name"),
        ("gate(otherwise=" * 20, "deep"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(word: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(word)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "word",
    [
        "gate(samples=2,at_least=2)",
        "gate(samples=2,at_least=2,otherwise=iris(first=1))",
        "weighted_vote(samples=2)",
        "weighted_vote(samples=2,other=gate(samples=2,at_least=2))",
    ],
)
async def test_prompts_of_ones_own_reach_every_nested_stage(word: str) -> None:
    seen: list[str] = []

    def reply(prompt: str) -> str:
        seen.append(prompt)
        return "<think>" + "so " * 400 if "[seed" not in prompt else f"#### {len(seen)}"

    mine = Prompts.from_mapping(
        {"extract": f"MINE {HERE} MINE", "extract_only": "MINE ONLY", "retry": f"MINE {HERE}"}
    )
    flow = parse(word).bind(mine)(Q, 200)
    await drive(flow, ScriptedEngine(reply, sampled=True), judge=judge, cap=200)
    passes = [prompt for prompt in seen if "MINE" in prompt]
    assert passes, "the answer pass of the inner policy used the default prompts"
    assert not any("maybe cut off" in prompt for prompt in seen)


async def test_a_sentence_ends_the_thought_that_is_closed() -> None:
    seen: list[str] = []

    def reply(prompt: str) -> str:
        seen.append(prompt)
        return "<think>" + "so " * 400

    await play('close(sentence="Time is up, so:")', 60, ScriptedEngine(reply))
    assert "Time is up, so:" in seen[-1]
