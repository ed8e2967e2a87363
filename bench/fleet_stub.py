"""A model server that signs every piece it writes, so that whoever reads an answer knows where it came from.

    python bench/fleet_stub.py PORT

A question that ends in `request N` gets `PORT-N-0 PORT-N-1 ...` in pieces, streamed or whole.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys

from gateway_stub import MODELS, STREAM_HEAD, Stub, _chunk, _framed, _response

PIECES = 12
GAP_S = 0.004
_REQUEST = re.compile(rb"request (\d+)")


class Signing(Stub):
    port = 0

    def answer(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET /v1/models"):
            self.transport.write(MODELS)
            return
        found = _REQUEST.findall(body)
        if not head.startswith(b"POST /v1/chat/completions") or not found:
            super().answer(head, body)
            return
        words = [f"{self.port}-{int(found[-1])}-{i} " for i in range(PIECES)]
        streams = b'"stream":true' in body or b'"stream": true' in body
        self.task = asyncio.ensure_future(self.pieces(words) if streams else self.whole(words))

    async def pieces(self, words: list[str]) -> None:
        self.transport.write(STREAM_HEAD)
        for word in words:
            self.transport.write(_chunk({"content": word}))
            await asyncio.sleep(GAP_S)
        usage = json.dumps({"choices": [], "usage": _usage()}).encode()
        last = _chunk({}, "stop") + _framed(b"data: " + usage + b"\n\n") + _framed(b"data: [DONE]\n\n")
        self.transport.write(last + b"0\r\n\r\n")

    async def whole(self, words: list[str]) -> None:
        await asyncio.sleep(GAP_S * PIECES)
        message = {"role": "assistant", "content": "".join(words)}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.transport.write(
            _response(json.dumps({"model": "stub", "choices": [choice], "usage": _usage()}).encode())
        )


def _usage() -> dict[str, int]:
    return {"prompt_tokens": 12, "completion_tokens": PIECES, "total_tokens": 12 + PIECES}


async def main(port: int) -> None:
    Signing.port = port
    server = await asyncio.get_running_loop().create_server(Signing, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
