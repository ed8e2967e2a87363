"""Bounds on a stranger's template: the sandbox keeps it from our files, this keeps it from our time and memory.

Loops, calls, filters and joins are charged for what they go through, before they do; a template that asks for more
than any real one needs is ended by an error of its own.

    env = type("Env", (Bounded, SandboxedEnvironment), {})()
    with env.metered(Meter()): env.bounded("{{ 'a' * 10**9 }}").render()        # raises TooMuch
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2 import Environment, Template, nodes
from jinja2.exceptions import TemplateError
from jinja2.nodes import EvalContext
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

_STEPS = 1_000_000
"""In one rendering; templates seen in the wild take under 5,000 for the conversations they are asked about."""
_SECONDS = 5.0
"""Of computing, for all renderings of one template."""
_LARGEST = 1_000_000
"""Characters or items one operation may make, as the product of what it is given."""
_CALL = 20
"""Steps one call is worth: as slow as this many turns of a loop."""
_BITS = 4096
_WIDTH = re.compile(r"\d{5}|\*")


class TooMuch(TemplateError):
    """The template asks for more than a chat template has reason to."""


class Meter:
    """What one template has taken."""

    def __init__(self) -> None:
        self.steps = 0
        self.seconds = 0.0
        self._since = 0.0

    def begin(self) -> None:
        self.steps, self._since = 0, time.thread_time()
        self.charge(0)

    def end(self) -> None:
        self.seconds += time.thread_time() - self._since

    def charge(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _STEPS:
            raise TooMuch(f"more than {_STEPS:,} steps")
        if self.seconds + time.thread_time() - self._since > _SECONDS:
            raise TooMuch(f"more than {_SECONDS:g} s")


_METER: ContextVar[Meter] = ContextVar("meter")


def _charge(steps: int) -> None:
    meter = _METER.get(None)
    if meter is not None:
        meter.charge(steps)


def _size(value: Any) -> int:
    """Characters and items, whatever they are nested in; refused as soon as they are too many."""
    found, stack = 0, [value]
    while stack:
        one = stack.pop()
        found += len(one) if isinstance(one, str | bytes) else 1
        if isinstance(one, Mapping):
            stack += one.values()
            found += sum(len(key) for key in one if isinstance(key, str))
        elif isinstance(one, list | tuple | set | frozenset):
            stack += one
        if found > _LARGEST:
            raise TooMuch(f"a value of more than {_LARGEST:,} characters")
    return found


def _product(values: Iterable[Any]) -> None:
    """What comes of these values is at most their sizes multiplied, and charged as the sum of them."""
    most = 1
    for value in values:
        if isinstance(value, int):
            most *= max(1, abs(value))
        elif isinstance(value, str | bytes | list | tuple | Mapping | set | frozenset):
            size = _size(value)
            most *= max(1, size)
            _charge(size)
        if most > _LARGEST:
            raise TooMuch(f"a value of more than {_LARGEST:,} characters")


def _formatted(text: Any) -> None:
    if isinstance(text, str) and _WIDTH.search(text):
        raise TooMuch("a format of more than 9,999 characters")


def charged(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        _charge(1)
        # Filters such as `map` are handed the context, which calls itself a mapping and is none to walk through.
        given = [value for value in args if not isinstance(value, Context | Environment | EvalContext)]
        if name == "format":
            _formatted(given[0] if given else None)
        _product([*given, *named.values()])
        return function(*args, **named)

    return called


class _Charging(NodeTransformer):
    """Lets loops, macros and joins say what they take."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - as jinja names it
        self.generic_visit(node)
        node.iter = _ours("walked", node.iter)
        node.body.insert(0, nodes.ExprStmt(_ours("step")).set_lineno(node.lineno))
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802 - as jinja names it
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_ours("step")).set_lineno(node.lineno))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - as jinja names it
        self.generic_visit(node)
        return _ours("joined", *node.nodes).set_lineno(node.lineno)


def _ours(name: str, *args: Any) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), list(args), [], None, None)


class Bounded(SandboxedEnvironment):
    """A sandbox with a meter; mix it in before the sandbox wanted."""

    intercepted_binops = frozenset(("*", "**", "%", "+"))

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=_shown, **options)
        self.globals.pop("lipsum", None)
        for name, function in self.filters.items():
            self.filters[name] = charged(function, name)

    @contextmanager
    def metered(self, meter: Meter) -> Iterator[None]:
        meter.begin()
        token = _METER.set(meter)
        try:
            yield
        finally:
            _METER.reset(token)
            meter.end()

    def bounded(self, source: str) -> Template:
        tree = _Charging().visit(self.parse(source))
        return self.from_string(tree)

    def call(_self, _context: Any, _obj: Any, /, *args: Any, **named: Any) -> Any:  # noqa: N805 - as jinja has it
        owner = getattr(_obj, "__self__", None)
        if owner is _self:
            return _obj(*args)  # what jinja adds by name inside a loop is for macros
        _charge(_CALL)
        if isinstance(owner, str | bytes):
            if getattr(_obj, "__name__", "") in ("format", "format_map"):
                _formatted(owner)
            _product([owner, *args, *named.values()])
        return super().call(_context, _obj, *args, **named)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        _charge(1)
        numbers = [int(abs(v)).bit_length() for v in (left, right) if isinstance(v, int)]
        if operator == "%":
            _formatted(left)
        if len(numbers) == 2:
            bits = numbers[0] * abs(right) if operator == "**" else sum(numbers)
            if bits > _BITS:
                raise TooMuch(f"a number of more than {_BITS:,} bits")
        elif operator in ("*", "%"):
            _product((left, right))
        elif operator == "+" and isinstance(left, Sized):
            _charge(_size(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def step(self) -> None:
        _charge(1)

    def walked(self, values: Any) -> Any:
        if isinstance(values, Sized):
            _charge(len(values))
            return values
        return _counted(values) if isinstance(values, Iterator) else values

    def joined(self, *parts: Any) -> str:
        _charge(sum(_size(part) for part in parts))
        return "".join(map(str, parts))


def _counted(values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        _charge(1)
        yield value


def _shown(value: Any) -> Any:
    _charge(_size(value))
    return value
