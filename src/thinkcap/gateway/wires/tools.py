"""Tools of a chat as they go to a model: functions, which the client runs; others are left out and named.

body, ignored = offered(body, tools)          # ignored: ("tool custom",)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from thinkcap.gateway.refusal import Refusal

_FIELDS = ("tools", "tool_choice", "parallel_tool_calls")


class ToolFunction(Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ChatTool(Struct):
    function: ToolFunction | None = None
    type: str = "function"


def offered(raw: dict[str, Any], tools: Sequence[ChatTool]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The body with the tools a model may call and a choice among them, and what was left out."""
    ours = []
    for at, tool in enumerate(tools):
        if tool.type == "function":
            if tool.function is None:
                raise Refusal(f"tools[{at}] has no function", code="invalid_value", param=f"tools[{at}]")
            ours.append((tool.function.name, raw["tools"][at]))
    ignored = tuple(f"tool {tool.type[:80]}" for tool in tools if tool.type != "function")
    choice = raw.get("tool_choice")
    allowed = _allowed(choice)
    if allowed is not None:
        choice, names = allowed
        ours = [(name, tool) for name, tool in ours if name in names]
    if choice is not None:
        _check(choice, [name for name, _ in ours])
    if not ignored and allowed is None:
        return raw, ()
    rest = {name: value for name, value in raw.items() if name not in _FIELDS}
    if not ours:
        return rest, ignored
    parallel = {name: raw[name] for name in _FIELDS[2:] if name in raw}
    picked = {} if choice is None else {"tool_choice": choice}
    return {**rest, **parallel, **picked, "tools": [tool for _, tool in ours]}, ignored


def _allowed(choice: Any) -> tuple[Any, set[str]] | None:
    """OpenAI's choice among some of the tools: whether one must be called, and their names."""
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return None
    wanted = choice.get("allowed_tools")
    some = wanted.get("tools") if isinstance(wanted, dict) else None
    names = {_name(tool) for tool in some} if isinstance(some, list) else set()
    if (
        not isinstance(wanted, dict)
        or wanted.get("mode") not in ("auto", "required")
        or not names
        or None in names
    ):
        raise Refusal(
            "tool_choice 'allowed_tools' needs a mode (auto or required) and tools by name",
            code="invalid_value",
            param="tool_choice",
        )
    return wanted["mode"], {str(name) for name in names}


def _name(tool: Any) -> str | None:
    function = tool.get("function") if isinstance(tool, Mapping) and tool.get("type") == "function" else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _check(choice: Any, names: Sequence[str]) -> None:
    """Which tool to call must be one of those that were sent: a server would write on without calling any."""
    if choice in ("none", "auto"):
        return
    if not names:
        raise Refusal("tool_choice needs tools", code="invalid_value", param="tool_choice")
    if choice == "required" or _name(choice) in names:
        return
    seen = _name(choice) or (choice.get("type") if isinstance(choice, Mapping) else choice)
    raise Refusal(
        f"tool_choice asks for '{str(seen)[:80]}'; wanted none, auto, required, or a tool by name: "
        f"{', '.join(name[:80] for name in names[:8])}",
        code="invalid_value",
        param="tool_choice",
    )
