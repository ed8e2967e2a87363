"""Chat templates rendered as transformers renders them, in a sandbox: a template is a stranger's program.

>>> Template("{{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}").render([user("Hi")])
'Hi>'
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import jinja2
import jinja2.ext
import jinja2.meta
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

from thinkcap.core.errors import DataError
from thinkcap.dialects.bounded import Bounded, Meter, TooMuch, charged

_CLOCK = datetime(2026, 1, 15)
_LARGEST = 200_000
"""Characters; the longest template seen in the wild has under 20,000."""


class _Generation(jinja2.ext.Extension):
    """`{% generation %}` marks the assistant's tokens for training; its body is rendered as it is."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 wants a plain set here

    def parse(self, parser: Any) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class _Filters(dict[str, Any]):
    """Servers bring filters of their own; one we do not know hands its value through."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return lambda value, *_, **__: value


class _Strict(Bounded, ImmutableSandboxedEnvironment):
    """As transformers renders."""


class _Loose(Bounded, SandboxedEnvironment):
    """Lets a template append to its own lists, which some do; transformers' sandbox refuses that."""


_EXTENSIONS = [_Generation, jinja2.ext.loopcontrols, jinja2.ext.do]


def _environment(kind: type[Bounded]) -> Bounded:
    env = kind(trim_blocks=True, lstrip_blocks=True, extensions=_EXTENSIONS)

    def tojson(value: Any, ensure_ascii: bool = False, **layout: Any) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, **layout)

    def raise_exception(message: str) -> None:
        raise jinja2.exceptions.TemplateError(message)

    env.filters = _Filters(env.filters)
    env.filters["tojson"] = charged(tojson, "tojson")
    env.filters["from_json"] = env.filters["fromjson"] = json.loads
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = _CLOCK.strftime
    return env


_STRICT = _environment(_Strict)
_LOOSE = _environment(_Loose)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _in_parts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    text = message.get("content")
    return {**message, "content": [{"type": "text", "text": text}]} if isinstance(text, str) else message


class Template:
    """A template that can be asked what it makes of a conversation, and what words it looks for."""

    def __init__(self, source: str, bos_token: str = "", eos_token: str = "") -> None:
        if len(source) > _LARGEST:
            raise DataError(f"a chat template of {len(source):,} characters; at most {_LARGEST:,} are read")
        self.source = source
        self._meter = Meter()
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        try:
            self._tree = _STRICT.parse(source)
            self._compiled = [(env, env.bounded(source)) for env in (_STRICT, _LOOSE)]
        # Python's own compiler ends what is nested too deeply, and numbers of too many digits, in its own way.
        except (jinja2.TemplateError, RecursionError, SyntaxError, ValueError, MemoryError) as err:
            raise DataError(f"the chat template cannot be parsed: {err}") from err

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool = True,
        **switches: Any,
    ) -> str | None:
        """The text, or None where the template raises, which may be anything, or takes more than it should."""
        switches = {"tools": tools, "add_generation_prompt": prompt, **switches}
        return self._render([_in_parts(m) for m in messages] if self._wants_parts else messages, switches)

    @cached_property
    def _wants_parts(self) -> bool:
        """Contents must be lists of parts: a plain text is lost, or too much for the template."""
        asked = user("Is anybody there?")
        if asked["content"] in (self._render([asked], {}) or ""):
            return False
        return asked["content"] in (self._render([_in_parts(asked)], {}) or "")

    def _render(self, messages: Sequence[Mapping[str, Any]], switches: Mapping[str, Any]) -> str | None:
        given = {"tools": None, "documents": None, "add_generation_prompt": True, **self._tokens, **switches}
        for env, compiled in self._compiled:
            try:
                with env.metered(self._meter):
                    return compiled.render(messages=[dict(m) for m in messages], **given)
            except TooMuch:
                return None
            except Exception:
                continue
        return None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every name that a caller may set, in the order of the text; what the template sets itself is none."""
        read = dict.fromkeys(n.name for n in self._tree.find_all(nodes.Name))
        return tuple(name for name in read if name in self._free)

    @cached_property
    def _free(self) -> frozenset[str]:
        # A tree of its own: looking for them folds the lists of a tree into constants.
        return frozenset(jinja2.meta.find_undeclared_variables(_STRICT.parse(self.source)))

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """Every text the template writes or looks for."""
        texts = [c.value for c in self._tree.find_all(nodes.Const) if isinstance(c.value, str)]
        texts += [d.data for d in self._tree.find_all(nodes.TemplateData)]
        return tuple(dict.fromkeys(texts))

    def compared_with(self, name: str) -> tuple[Any, ...]:
        """The values an argument is compared with or falls back to, also under another name given to it."""
        aliases = {name}
        for _ in range(3):
            aliases |= {
                a.target.name
                for a in self._tree.find_all(nodes.Assign)
                if isinstance(a.target, nodes.Name) and any(n.name in aliases for n in _direct(a.node))
            }
        values: list[Any] = []
        for test in self._tree.find_all(nodes.Compare):
            sides = [test.expr, *(op.expr for op in test.ops)]
            if any(n.name in aliases for side in sides for n in _direct(side)):
                values += [
                    v for side in sides for v in _constants(self._lists.get(getattr(side, "name", ""), side))
                ]
        return tuple(dict.fromkeys(v for v in values if isinstance(v, str | bool | int) and v != ""))

    @cached_property
    def _lists(self) -> dict[str, nodes.Node]:
        """Lists that the template gives a name."""
        return {
            kept.target.name: kept.node
            for kept in self._tree.find_all(nodes.Assign)
            if isinstance(kept.target, nodes.Name) and isinstance(kept.node, nodes.List | nodes.Tuple)
        }

    def fallback(self, name: str) -> Any:
        """What the template takes where the argument is not given; None where it does not say."""
        for kept in self._tree.find_all(nodes.Assign):
            if isinstance(kept.target, nodes.Name) and kept.target.name == name:
                for value in _constants(kept.node):
                    return value
        for used in self._tree.find_all(nodes.Filter):
            if used.name in ("default", "d") and isinstance(used.node, nodes.Name) and used.node.name == name:
                for value in (v for a in used.args for v in _constants(a)):
                    return value
        for choice in self._tree.find_all(nodes.CondExpr):
            if any(n.name == name for n in _direct(choice.expr1)):
                for value in _constants(choice.expr2) if choice.expr2 is not None else ():
                    return value
        return None


def _direct(node: nodes.Node) -> list[nodes.Name]:
    """Names a value is made of, not those that merely decide about it."""
    if isinstance(node, nodes.Name):
        return [node]
    if isinstance(node, nodes.Filter):
        return _direct(node.node) if node.node is not None else []
    if isinstance(node, nodes.CondExpr):
        return [*_direct(node.expr1), *(_direct(node.expr2) if node.expr2 is not None else [])]
    return []


def _constants(node: nodes.Node) -> list[Any]:
    if isinstance(node, nodes.Const):
        return [node.value]
    if isinstance(node, nodes.List | nodes.Tuple):
        return [v for item in node.items for v in _constants(item)]
    if isinstance(node, nodes.CondExpr):
        return [*_constants(node.expr1), *(_constants(node.expr2) if node.expr2 is not None else [])]
    return []
