"""`thinkcap policies`: what the methods do, where their tokens go, when to use them."""

from __future__ import annotations

import click

from thinkcap.cli import completing
from thinkcap.cli.terminal import say


@click.command(name="policies", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False, shell_complete=completing.policies)
@click.option("--markdown", is_flag=True, help="Print the whole page as Markdown.")
def command(name: str | None, markdown: bool) -> None:
    """List the methods; with NAME, explain one and show where its tokens go."""
    from thinkcap.policies.methods import about, page
    from thinkcap.policies.registry import POLICIES

    if markdown:
        say(page(), nl=False)
        return
    if name is None:
        width = max(map(len, POLICIES))
        for each in POLICIES:
            say(f"{each:{width}}  {about(each).summary}")
        say("\nTo read more about one: thinkcap policies NAME")
        return
    method = about(name.partition("(")[0])
    say(method.explained)
    if method.options:
        options = (key if value is None else f"{key}={value}" for key, value in method.options.items())
        say(f"\nOptions: {', '.join(options)}")
