"""`thinkcap completion`: the shell code that completes our commands and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from thinkcap.cli.terminal import say

_SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(_SHELLS))
def command(shell: str) -> None:
    """Print the shell code that lets Tab complete commands, options, policies, tasks and runs.

    \b
    bash  eval "$(thinkcap completion bash)"   in ~/.bashrc
    zsh   eval "$(thinkcap completion zsh)"    in ~/.zshrc
    fish  thinkcap completion fish | source    in ~/.config/fish/config.fish
    """
    from thinkcap.cli import group

    kind = get_completion_class(shell)
    assert kind is not None, shell
    say(kind(group, {}, "thinkcap", "_THINKCAP_COMPLETE").source())
