"""How models think: what turns a thought on and off, what stands around it, and how that is found out.

A `Dialect` says it of one model; `of_template` reads it out of a chat template, `named` and `of_model` look it up
in the table of known ones, `chosen` takes a user's own, `recognised` tells one by stored texts. Other rooms import
these names and nothing behind them.
"""

from thinkcap.dialects.dialect import QWEN, Dialect
from thinkcap.dialects.known import KNOWN
from thinkcap.dialects.naming import chosen, named, of_model
from thinkcap.dialects.ollama import of_show
from thinkcap.dialects.recognising import recognised

__all__ = ["KNOWN", "QWEN", "Dialect", "chosen", "named", "of_model", "of_show", "of_template", "recognised"]


def of_template(source: str, *, bos_token: str = "", eos_token: str = "") -> Dialect:
    """The dialect a chat template speaks, found by rendering it with every argument it knows."""
    # The template language is loaded by whoever reads a template, not by every command.
    from thinkcap.dialects import template

    return template.of_template(source, bos_token=bos_token, eos_token=eos_token)
