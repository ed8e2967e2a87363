"""Server-sent events out of a stream of bytes that may be cut anywhere, even inside a character.

async for data in events(response.content.iter_any()):
    piece = json.loads(data)
"""

from __future__ import annotations

from collections.abc import AsyncIterator


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The `data:` of each event, several lines joined; ends at `[DONE]` or with the stream."""
    held = b""
    lines: list[str] = []
    async for chunk in chunks:
        held += chunk
        *whole, held = held.split(b"\n")
        for raw in whole:
            line = raw.rstrip(b"\r")
            if line.startswith(b"data:"):
                lines.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
            elif not line and lines:
                data, lines = "\n".join(lines), []
                if data == "[DONE]":
                    return
                yield data
    # A last event without its empty line is incomplete by the standard, and dropped: the caller sees no end.
