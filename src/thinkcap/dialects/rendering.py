"""Chat templates rendered as transformers renders them, in a sandbox: a template is a stranger's program.

>>> Template("{{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}").render([user("Hi")])
'Hi>'
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

from thinkcap.core.errors import DataError
from thinkcap.dialects.arguments import nested
from thinkcap.dialects.bounded import Bounded, Meter, TooMuch, charged
from thinkcap.dialects.reading import Reading

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
    # Working out constants beforehand takes a stranger's time to the third power of what is nested.
    env = kind(trim_blocks=True, lstrip_blocks=True, extensions=_EXTENSIONS, optimized=False)

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


class _Wants(NamedTuple):
    """What a template raises without, or loses the question."""

    parts: bool = False
    """Contents as lists of parts."""
    system: bool = False
    """A system message before all others."""
    lists: Mapping[str, Any] = MappingProxyType({})
    """Lists for arguments that are mostly none."""

    def met(self, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        asked = list(messages)
        if self.system and (not asked or asked[0]["role"] != "system"):
            asked.insert(0, {"role": "system", "content": "Be kind."})
        return [_in_parts(m) for m in asked] if self.parts else asked


_NONE: Mapping[str, Any] = MappingProxyType({})
_EMPTY: Mapping[str, Any] = MappingProxyType({"tools": [], "documents": []})
_WANTS = tuple(
    _Wants(parts, system, lists)
    for lists in (_NONE, _EMPTY)
    for system in (False, True)
    for parts in (False, True)
)


class Template:
    """A template that can be asked what it makes of a conversation, and what words it looks for."""

    def __init__(self, source: str, bos_token: str = "", eos_token: str = "") -> None:
        if len(source) > _LARGEST:
            raise DataError(f"a chat template of {len(source):,} characters; at most {_LARGEST:,} are read")
        self.source = source
        self._meter = Meter()
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        self._always: Mapping[str, Any] = {}
        try:
            self.reading = Reading(_STRICT, source)
            self._compiled = [(env, env.bounded(source)) for env in (_STRICT, _LOOSE)]
        # Python's own compiler ends what is nested too deeply, and numbers of too many digits, in its own way.
        except (jinja2.TemplateError, RecursionError, SyntaxError, ValueError, MemoryError) as err:
            raise DataError(f"the chat template cannot be parsed: {err}") from err

    def saying(self, arguments: Mapping[str, Any]) -> Template:
        """The same template, given these arguments in every rendering that does not set them itself."""
        other = copy(self)
        other._always = {**self._always, **arguments}
        return other

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        prompt: bool = True,
        **switches: Any,
    ) -> str | None:
        """The text, or None where the template raises, which may be anything, or takes more than it should."""
        given = {"tools": tools, "add_generation_prompt": prompt, **nested({**self._always, **switches})}
        lists = {name: empty for name, empty in self._wants.lists.items() if not given.get(name)}
        return self._render(self._wants.met(messages), {**given, **lists})

    @cached_property
    def _wants(self) -> _Wants:
        """What a template must be given before it shows a question at all; a plain text does for nearly all."""
        asked = user("Is anybody there?")
        for wants in _WANTS:
            try:
                shown = self._tried(wants.met([asked]), wants.lists)
            except TooMuch:
                # What a short question asks too much of is not asked in seven other ways.
                break
            if asked["content"] in (shown or ""):
                return wants
        return _WANTS[0]

    def _render(self, messages: Sequence[Mapping[str, Any]], switches: Mapping[str, Any]) -> str | None:
        try:
            return self._tried(messages, switches)
        except TooMuch:
            return None

    def _tried(self, messages: Sequence[Mapping[str, Any]], switches: Mapping[str, Any]) -> str | None:
        given = {"tools": None, "documents": None, "add_generation_prompt": True, **self._tokens, **switches}
        for env, compiled in self._compiled:
            try:
                with env.metered(self._meter):
                    return compiled.render(messages=[dict(m) for m in messages], **given)
            except TooMuch:
                raise
            except Exception:
                continue
        return None
