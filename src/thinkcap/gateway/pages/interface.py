"""The OpenAPI description to read: HTML without a script, every field from the types requests are checked with.

described(description(with_keys=False))          # '<nav aria-label="Paths">...'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

_LARGE = 2**31 - 1


def described(api: Mapping[str, Any]) -> str:
    schemas = api["components"]["schemas"]
    operations = [(verb, path, told) for path, ways in api["paths"].items() for verb, told in ways.items()]
    operations = [one for one in operations if one[0] in ("get", "post")]
    sent = [name for _, _, told in operations if (name := _body(told))]
    body = [_contents(operations), _keys(api)]
    body += [_operation(verb, path, told, schemas) for verb, path, told in operations]
    body += [_statuses(operations[0][2])]
    body += ["<h2>Types</h2>", *(_type(name, schemas[name]) for name in _used(schemas, sent) if name not in sent)]
    return "\n".join(body)


def _contents(operations: list[tuple[str, str, Any]]) -> str:
    links = (f'<a href="#{_anchor(v, p)}">{escape(p)}</a>' for v, p, _ in operations)
    return f'<nav aria-label="Paths">{" ".join(links)}</nav>'


def _keys(api: Mapping[str, Any]) -> str:
    needed = "needs a key: send it" if "security" in api else "needs no key. A gateway with keys takes them"
    ways = "<code>Authorization: Bearer KEY</code> or <code>x-api-key: KEY</code>"
    return f"<p>This gateway {needed} as {ways}.</p>"


def _operation(verb: str, path: str, told: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    head = (
        f'<h2 id="{_anchor(verb, path)}"><span class="verb">{verb.upper()}</span> <code>{escape(path)}</code></h2>'
    )
    words = f"<p>{escape(told.get('summary', ''))}</p>"
    name = _body(told)
    return head + words + (_fields(schemas[name]) if name else "")


def _statuses(told: Mapping[str, Any]) -> str:
    rows = [f"<tr><td>{s}</td><td>{escape(r['description'])}</td></tr>" for s, r in told["responses"].items()]
    return "<h2>Statuses</h2><table>" + "".join(rows) + "</table>"


def _type(name: str, schema: Mapping[str, Any]) -> str:
    head = f'<h3 id="type-{escape(name)}">{escape(name)}</h3>'
    words = f"<p>{escape(schema['description'])}</p>" if "description" in schema else ""
    return head + words + _fields(schema)


def _fields(schema: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = [
        f"<tr><td><code>{escape(name)}</code>{' <b>required</b>' if name in needed else ''}</td>"
        f"<td>{said(field)}</td><td>{escape(field.get('description', ''))}</td></tr>"
        for name, field in schema.get("properties", {}).items()
    ]
    heads = "<tr><th>field</th><th>values</th><th>meaning</th></tr>"
    return f'<div class="scroll"><table>{heads}{"".join(rows)}</table></div>'


def said(field: Mapping[str, Any]) -> str:
    """A type in words, as HTML; that a field may also be null is not said."""
    if "$ref" in field:
        name = escape(field["$ref"].rpartition("/")[2])
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in field:
        return " or ".join(said(one) for one in field["anyOf"] if one.get("type") != "null")
    if "enum" in field or "const" in field:
        values = [value for value in field.get("enum", [field.get("const")]) if value is not None]
        return ", ".join(f"<code>{escape(str(value))}</code>" for value in values)
    if field.get("type") == "array":
        return f"list of {said(field['items'])}" if field.get("items") else "list"
    kind = {"integer": "whole number", "boolean": "true or false", "string": "text"}.get(field.get("type", ""), "")
    return (kind or str(field.get("type", "anything"))) + _range(field)


def _range(field: Mapping[str, Any]) -> str:
    found = [f" from {field['minimum']}"] if field.get("minimum", -_LARGE - 1) >= -_LARGE else []
    found += [f" above {field['exclusiveMinimum']}"] if "exclusiveMinimum" in field else []
    found += [f" to {field['maximum']}"] if field.get("maximum", _LARGE) < _LARGE else []
    found += [f" of at most {field['maxLength']} characters"] if "maxLength" in field else []
    return "".join(found)


def _body(told: Mapping[str, Any]) -> str:
    content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
    return str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2]


def _used(schemas: Mapping[str, Any], first: list[str]) -> list[str]:
    """The types named by these, in the order they are met."""
    found = list(first)
    for name in found:
        found += [other for other in _named(schemas[name]) if other not in found]
    return found


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for inner in value.values():
            yield from _named(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named(inner)


def _anchor(verb: str, path: str) -> str:
    return escape(verb + path.replace("/", "-").replace("{", "").replace("}", ""))
