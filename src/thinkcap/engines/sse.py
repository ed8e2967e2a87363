"""Server-sent events out of bytes that may be cut anywhere, even inside a character or a line end.

reader = EventReader()
for data in reader.feed(chunk):          # bytes of each event that is complete
    ...
reader.done                              # `[DONE]` was seen
"""

from __future__ import annotations

EVENT_BYTES = 2**20


class EventTooLarge(ValueError):
    """An event that does not end."""


class EventReader:
    """Comments and other fields are dropped, the lines of one event's data joined. What comes after the end mark,
    or was cut off by the end of the stream, is no event."""

    def __init__(self, most: int = EVENT_BYTES) -> None:
        self._most = most
        self._held = b""
        self.done = False

    def feed(self, chunk: bytes) -> list[bytes]:
        held = self._held + chunk if self._held else chunk
        if b"\r" in held:
            # A CR at the very end may be half of a line end; wait for the rest.
            tail = b"\r" if held.endswith(b"\r") else b""
            held = held.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + tail
        blocks = held.split(b"\n\n")
        if len(held) > self._most and max(map(len, blocks)) > self._most:
            raise EventTooLarge(f"an event of more than {self._most} bytes")
        self._held = blocks.pop()
        found: list[bytes] = []
        for block in blocks:
            if block.startswith(b"data: ") and b"\n" not in block:
                data = block[6:]
            elif b"data:" in block:
                data = _joined(block)
            else:
                continue
            if data == b"[DONE]":
                self.done, self._held = True, b""
                break
            if data:
                found.append(data)
        return found


def _joined(block: bytes) -> bytes:
    lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
    return b"\n".join(lines)
