"""What was used last is kept for whoever needs it next, as far as it fits.

>>> kept: Recent[str, str] = Recent(most=5)
>>> kept.keep("a", "two", weight=2), kept.keep("b", "four", weight=4)
(None, None)
>>> kept.get("a"), kept.get("b")
(None, 'four')
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """Values by key, together not heavier than `most`; what was not used for longest goes first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: _Key) -> _Value | None:
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: _Key, value: _Value, weight: int = 1) -> None:
        before = self._kept.pop(key, None)
        self._kept[key] = value, weight
        self._weight += weight - (before[1] if before else 0)
        while self._weight > self._most:
            _, (_, gone) = self._kept.popitem(last=False)
            self._weight -= gone

    async def made(self, key: _Key, make: Callable[[], Awaitable[_Value]], weight: int = 1) -> _Value:
        """The value that is kept, or else one that is made now."""
        value = self.get(key)
        if value is None:
            value = await make()
            self.keep(key, value, weight)
        return value

    def clear(self) -> None:
        self._kept.clear()
        self._weight = 0
