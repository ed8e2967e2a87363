"""How models think: what turns a thought on and off, what stands around it, and how that is found out.

A `Dialect` says it of one model; `of_template` reads it out of a chat template, `of_prompts` sees it through two
prompts, `named` and `of_model` look it up in the table of known ones, `chosen` takes a user's own, `recognised`
tells one by stored texts, `default_template` takes a template from whatever it is stored in. Other rooms import
these names and nothing behind them.
"""

from typing import Any

from thinkcap.dialects.dialect import QWEN, Dialect
from thinkcap.dialects.known import KNOWN
from thinkcap.dialects.naming import chosen, named, of_model
from thinkcap.dialects.ollama import of_show
from thinkcap.dialects.prompted import COMMON, of_prompts
from thinkcap.dialects.recognising import recognised
from thinkcap.dialects.stored import default_template

__all__ = [
    "COMMON",
    "KNOWN",
    "QWEN",
    "Dialect",
    "chosen",
    "default_template",
    "named",
    "of_model",
    "of_prompts",
    "of_show",
    "of_template",
    "recognised",
]


def of_template(source: Any, *, bos_token: str = "", eos_token: str = "") -> Dialect:
    """The dialect a chat template speaks, found by rendering it with every argument it knows.

    `source` is its text, bytes, or several templates by name, as tokenizers store them.
    """
    # The template language is loaded by whoever reads a template, not by every command.
    from thinkcap.dialects import template

    return template.of_template(default_template(source), bos_token=bos_token, eos_token=eos_token)
