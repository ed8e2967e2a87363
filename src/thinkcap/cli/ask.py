"""`thinkcap ask`: one question under a cap, streamed, with what each stage got."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from thinkcap.cli import completing
from thinkcap.cli.served import StartLine, server_options
from thinkcap.cli.terminal import loudness, say
from thinkcap.model import KNOWN

if TYPE_CHECKING:
    from thinkcap.api import Reply


@click.command(name="ask", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("question", required=False)
@click.option("--cap", type=int, default=512, show_default=True, help="Tokens for all stages together.")
@click.option(
    "--policy",
    shell_complete=completing.policies,
    help="Method to use, such as iris(first=64); by default the best known for the model and cap.",
)
@click.option(
    "--model", default="bundled", show_default=True, help="`bundled`, a GGUF file, or http://host/v1#name."
)
@server_options
@click.option(
    "--kind",
    type=click.Choice(["number", "math", "label", "text"]),
    help="Kind of answer to ask for and read.",
)
@click.option("--form", default="", help="Form of the answer in the prompt; for labels: label, truth or yesno.")
@click.option("--temperature", type=click.FloatRange(0, 5), default=0.0, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--dialect", help="How the model thinks: a known name or a TOML file; detected by default.")
@click.option("--json", "as_json", is_flag=True, help="Print answer and stages as JSON.")
def command(question: str | None, cap: int, policy: str | None, model: str, as_json: bool, **more: Any) -> None:
    """Answer QUESTION within a total of --cap tokens and show the stages.

    If QUESTION is missing or `-`, it is read from standard input. Without an answer, the command reports the cause
    and exits with status 1.

    Example: thinkcap ask "What is 48 * 57 + 9?" answers 2745.
    """
    from thinkcap.api import ask_async
    from thinkcap.core.flow import Piece
    from thinkcap.core.sync import wait
    from thinkcap.core.types import Sampling

    if question in (None, "-"):
        if question is None and sys.stdin.isatty():
            raise click.UsageError("no question; give it as an argument, or pipe it in")
        question = sys.stdin.buffer.read().decode("utf-8", "replace")
    assert question is not None
    channels = [""]

    def show(piece: Piece) -> None:
        if as_json or loudness() < 0:
            return
        if channels[-1] and piece.channel != channels[-1]:
            say("\n")  # where the thought ends, though it may have been cut within a line
        channels.append(piece.channel)
        say(piece.text, dim=piece.channel == "thought", nl=False)

    more = {name: value for name, value in more.items() if value is not None or name == "kind"}
    sampling = Sampling(more.pop("temperature"), seed=more.pop("seed"))
    start = StartLine(quiet=as_json)
    asked = ask_async(
        question, cap=cap, policy=policy, model=model, sampling=sampling, show=show, tell=start, **more
    )
    try:
        reply = wait(asked)
    finally:
        start.end()
    stages = [
        {
            "stage": s.request.stage,
            "budget": s.request.budget,
            "tokens": s.completion.charged,
            "ended": s.completion.ended,
            "thought": s.completion.thought,
            "answer": s.completion.answer,
        }
        for s in reply.steps
    ]
    if as_json:
        say(
            json.dumps(
                {
                    "answer": reply.answer,
                    "no_answer": reply.no_answer,
                    "caveat": reply.caveat,
                    "text": reply.text,
                    "policy": reply.policy,
                    "cap": cap,
                    "tokens": reply.tokens,
                    "stages": stages,
                },
                indent=1,
            )
        )
        _fail_without(reply)
        return
    if loudness() < 0:
        _fail_without(reply)
        say(reply.answer or reply.text or "")
        return
    late = _not_streamed(reply)
    gap = "\n\n" if channels[-1] else ""
    say(f"{gap}{late}\n" if late else "\n")
    if loudness() > 0:
        say(f"{'policy':>10}  {reply.policy}", err=True)
    for stage in stages:
        end = "ended" if stage["ended"] else "cut"
        say(f"{stage['stage']:>10}  {stage['tokens']:>5} of {stage['budget']} tokens, {end}", err=True)
    say(f"{'total':>10}  {reply.tokens:>5} of {cap} tokens", err=True)
    if reply.caveat:
        say(f"note: {reply.caveat}", err=True)
    if model == "bundled":
        say(
            f"\nthe bundled model knows only {KNOWN}; for other questions, name a model with --model",
            err=True,
        )
    _fail_without(reply)


def _not_streamed(reply: Reply) -> str | None:
    """A guess from truncated reasoning, or a text that no policy settled on: nobody has seen it yet."""
    given = reply.run.answer
    if given.guess and given.completion is not None and given.completion.answer is None:
        return reply.answer
    return reply.text if given.text is None else None


def _fail_without(reply: Reply) -> None:
    """Exit with status 1 and the cause if there is no answer."""
    if reply.no_answer:
        raise click.ClickException(f"no answer: {reply.no_answer}")
