"""What a template's text says before it is rendered: names a caller may set, values they are compared with, words.

An argument may be a mapping: `thinking.type` is then a name like any other (`thinkcap.dialects.arguments`).

    Reading(environment, "{% if thinking.type == 'off' %}").compared_with("thinking.type")        # ('off',)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from jinja2 import Environment, nodes
from jinja2.meta import TrackingCodeGenerator

_METHODS = frozenset(dir(str)) | frozenset(dir(dict)) | frozenset(dir(list))
"""Attributes that every text, mapping or list has are no keys of an argument."""
_SAME = frozenset(["lower", "upper", "strip", "title", "capitalize", "casefold"])
"""Calls that leave a word the same word."""
_DEEPEST = 4
"""Steps from one name to the next, and keys inside keys."""
_ALIASES = 24
"""Names that one may stand for."""
_NAMES = 120
"""Arguments that are tried; templates seen in the wild have under 30."""
_WORDS = 60
"""Words of messages that are tried."""


_Node = TypeVar("_Node", bound=nodes.Node)


class Reading:
    """The tree of one template, looked through once."""

    def __init__(self, environment: Environment, source: str) -> None:
        self._tree = environment.parse(source)
        tracker = TrackingCodeGenerator(environment)
        # It would work out constants again and again, and change the tree on its way.
        tracker.optimizer = None
        tracker.visit(self._tree)
        self._free = frozenset(tracker.undeclared_identifiers)

    def _all(self, *kinds: type[_Node]) -> list[_Node]:
        return [node for node in self._nodes if isinstance(node, kinds)]

    @cached_property
    def _nodes(self) -> list[nodes.Node]:
        """The whole tree in the order of the text, walked through once."""
        found: list[nodes.Node] = []
        stack: list[nodes.Node] = [self._tree]
        while stack:
            found.append(stack.pop())
            stack += reversed(list(found[-1].iter_child_nodes()))
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every name that a caller may set, in the order of the text; what the template sets itself is none."""
        found: dict[str, None] = {}
        for node in self._all(nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call):
            for path in _paths(node):
                for name in self._resolved(path):
                    root, _, keys = name.partition(".")
                    if root in self._free and (not keys or root not in GIVEN):
                        found.setdefault(root)
                        found.setdefault(name)
        # Keys stand behind the names they belong to, which stand in the order of the text.
        roots = [name for name in found if "." not in name]
        ordered = (n for root in roots for n in (root, *(f for f in found if f.startswith(f"{root}."))))
        return tuple(islice(ordered, _NAMES))

    @cached_property
    def constants(self) -> tuple[str, ...]:
        """Every text the template writes or looks for."""
        texts = [c.value for c in self._all(nodes.Const) if isinstance(c.value, str)]
        texts += [d.data for d in self._all(nodes.TemplateData)]
        return tuple(dict.fromkeys(texts))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Every key that the template asks something for, a message among other things."""
        found: dict[str, None] = {}
        for node in self._all(nodes.Getattr, nodes.Getitem, nodes.Call, nodes.Compare):
            match node:
                case nodes.Getattr():
                    found.setdefault(node.attr)
                case nodes.Getitem(arg=nodes.Const(value=str() as key)):
                    found.setdefault(key)
                case nodes.Call(args=[nodes.Const(value=str() as key), *_]) if _is_get(node):
                    found.setdefault(key)
                case nodes.Compare(expr=nodes.Const(value=str() as key)) if node.ops[0].op == "in":
                    found.setdefault(key)
        return tuple(found)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words that are looked for in something: maybe in a message."""
        found: dict[str, None] = {}
        for sides in self._tests():
            for side in sides:
                found.update(dict.fromkeys(v for v in self._constants(side) if isinstance(v, str)))
        return tuple(word for word in found if 3 <= len(word.strip()) <= 40)[:_WORDS]

    def compared_with(self, name: str) -> tuple[Any, ...]:
        """The values an argument is compared with or looked up by, also under another name given to it."""
        values = self._compared.get(name, ())
        return tuple(dict.fromkeys(v for v in values if isinstance(v, str | bool | int) and v != ""))

    @cached_property
    def _compared(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for sides in self._tests():
            values = [v for side in sides for v in self._constants(side)]
            for name in {n for side in sides for path in _paths(side) for n in self._resolved(path)}:
                found.setdefault(name, []).extend(values)
        return found

    def holds(self, name: str) -> tuple[str, ...]:
        """Words that are looked for in an argument, which may be a list of them."""
        return tuple(self._held.get(name, ()))

    @cached_property
    def _held(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for test in self._all(nodes.Compare):
            if test.ops[0].op in ("in", "notin"):
                words = [value for value in self._constants(test.expr) if isinstance(value, str)]
                for name in {n for path in _paths(test.ops[0].expr) for n in self._resolved(path)}:
                    found.setdefault(name, []).extend(words)
        return found

    def fallback(self, name: str) -> Any:
        """What the template takes where the argument is not given; None where it does not say."""
        return self._fallbacks.get(name)

    @cached_property
    def _fallbacks(self) -> dict[str, Any]:
        said: list[tuple[list[str], nodes.Node | None]] = []
        said += [([k.target.name], k.node) for k in self._all(nodes.Assign) if isinstance(k.target, nodes.Name)]
        for used in self._all(nodes.Filter):
            if used.name in ("default", "d") and used.node is not None:
                said += [(_paths(used.node), value) for value in used.args[:1]]
        said += [(_paths(choice.expr1), choice.expr2) for choice in self._all(nodes.CondExpr)]
        said += [(_paths(asked), asked.args[1]) for asked in self._all(nodes.Call) if _is_get(asked, 2)]
        found: dict[str, Any] = {}
        for names, node in said:
            for value in (_values(node, keys=False) if node is not None else [])[:1]:
                for name in names:
                    found.setdefault(name, value)
        return found

    def _tests(self) -> Iterator[list[nodes.Expr]]:
        """What is compared with what."""
        for test in self._all(nodes.Compare):
            yield [test.expr, *(op.expr for op in test.ops)]
        for asked in self._all(nodes.Test):
            yield [asked.node, *asked.args]
        for item in self._all(nodes.Getitem):
            if self._is_table(item.node):
                yield [item.arg, item.node]
        for call in self._all(nodes.Call):
            if isinstance(call.node, nodes.Getattr) and call.args:
                if call.node.attr in ("startswith", "endswith", "find", "count"):
                    yield [call.node.node, *call.args]
                elif call.node.attr == "get" and self._is_table(call.node.node):
                    yield [call.args[0], call.node.node]

    def _is_table(self, node: nodes.Expr) -> bool:
        """A mapping of the template's own, in which something is looked up."""
        return isinstance(self._named.get(getattr(node, "name", ""), node), nodes.Dict)

    @cached_property
    def _named(self) -> dict[str, nodes.Node]:
        """Lists and mappings that the template gives a name."""
        kinds = nodes.List | nodes.Tuple | nodes.Dict
        return {
            kept.target.name: kept.node
            for kept in self._all(nodes.Assign)
            if isinstance(kept.target, nodes.Name) and isinstance(kept.node, kinds)
        }

    def _constants(self, node: nodes.Expr) -> list[Any]:
        return _values(self._named.get(getattr(node, "name", ""), node))

    @cached_property
    def _aliases(self) -> dict[str, set[str]]:
        """Names that the template gives to arguments, also inside a namespace."""
        found: dict[str, set[str]] = {}
        for kept in self._all(nodes.Assign):
            target = kept.target
            if isinstance(target, nodes.NSRef):
                found.setdefault(f"{target.name}.{target.attr}", set()).update(_paths(kept.node))
            elif isinstance(target, nodes.Name):
                found.setdefault(target.name, set()).update(_paths(kept.node))
                for pair in kept.node.kwargs if isinstance(kept.node, nodes.Call) else ():
                    found.setdefault(f"{target.name}.{pair.key}", set()).update(_paths(pair.value))
        return found

    def _resolved(self, path: str) -> set[str]:
        """A name, and those it stands for."""
        found = {path}
        for _ in range(_DEEPEST):
            for one in tuple(found):
                keys = one.split(".")
                for size in range(1, len(keys) + 1):
                    for other in self._aliases.get(".".join(keys[:size]), ()):
                        whole = ".".join([other, *keys[size:]])
                        if whole.count(".") < _DEEPEST and len(found) < _ALIASES:
                            found.add(whole)
        return found


GIVEN = frozenset(["messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"])
"""Arguments that every renderer gives."""


def _paths(node: nodes.Node) -> list[str]:
    """Names a value is made of, with the keys they are asked for; not those that merely decide about it."""
    match node:
        case nodes.Name():
            return [node.name]
        case nodes.Getattr() if node.attr not in _METHODS:
            return [f"{path}.{node.attr}" for path in _paths(node.node)]
        case nodes.Getitem(arg=nodes.Const(value=str() as key)) if key.isidentifier():
            return [f"{path}.{key}" for path in _paths(node.node)]
        case nodes.Filter(node=nodes.Expr() as inner):
            return _paths(inner)
        case nodes.CondExpr():
            return [*_paths(node.expr1), *(_paths(node.expr2) if node.expr2 is not None else [])]
        case nodes.Call(node=nodes.Getattr() as method):
            if _is_get(node) and isinstance(node.args[0], nodes.Const) and isinstance(node.args[0].value, str):
                return [f"{path}.{node.args[0].value}" for path in _paths(method.node)]
            return _paths(method.node) if method.attr in _SAME else []
    return []


def _is_get(node: nodes.Call, arguments: int = 1) -> bool:
    return isinstance(node.node, nodes.Getattr) and node.node.attr == "get" and len(node.args) >= arguments


def _values(node: nodes.Node, keys: bool = True) -> list[Any]:
    """Constants a value may be; of a mapping its keys."""
    match node:
        case nodes.Const():
            return [node.value]
        case nodes.List() | nodes.Tuple():
            return [v for item in node.items for v in _values(item, keys)]
        case nodes.Dict() if keys:
            return [v for pair in node.items for v in _values(pair.key)]
        case nodes.CondExpr():
            return [*_values(node.expr1, keys), *(_values(node.expr2, keys) if node.expr2 is not None else [])]
    return []
