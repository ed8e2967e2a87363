"""A model whose server is not up yet: the gateway keeps asking in the background and serves it once it answers.

pending = PendingModel("qwen3-8b", open_model, close_model)
if await pending.try_first() is None:
    pending.on_open(models.add)                      # retries from now on
raise pending.not_ready()                            # 503 with Retry-After
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from thinkcap.core.errors import EngineError, EngineGarbled, EngineTimeout, ThinkcapError
from thinkcap.gateway.refusal import UPSTREAM, Refusal

T = TypeVar("T")
log = logging.getLogger("thinkcap.gateway")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
FIRST_TRY_S, LONGEST_TRY_S = 30.0, 480.0
"""Opening a model takes several calls, some of which generate a few tokens."""


class NotReady(Refusal):
    """503: the model is configured here, and its server is not up."""

    def __init__(self, model: str, retry_after_s: float) -> None:
        words = f"model '{model}' is not ready: its server does not answer yet; try again later"
        super().__init__(words, status=503, kind=UPSTREAM, code="model_not_ready", retry_after_s=retry_after_s)
        self.model = model


def is_down(error: ThinkcapError) -> bool:
    """Whether waiting may help: no connection, no answer in time, or a server that is busy or still loading."""
    return isinstance(error, EngineError) and error.retriable and not isinstance(error, EngineGarbled)


class PendingModel(Generic[T]):
    """One model that is opened in the background, with growing pauses between tries."""

    def __init__(
        self, name: str, open_model: Callable[[], Awaitable[T]], close_model: Callable[[T], Awaitable[None]]
    ) -> None:
        self.name = name
        self._open = open_model
        self._close = close_model
        self._pause_s, self._try_s = FIRST_PAUSE_S, FIRST_TRY_S
        self._next_at = 0.0
        self._reason = ""
        self._retrying: asyncio.Future[None] | None = None

    async def try_first(self) -> T | None:
        """Open the model. Return None if its server is down or silent: `on_open` then starts to retry."""
        try:
            return await self._try()
        except ThinkcapError as err:
            if not is_down(err):
                raise
            self._report(str(err))
        return None

    def on_open(self, call: Callable[[PendingModel[T], T], None]) -> None:
        """Start to retry; `call` gets the model once it is open, and may reject it with an error."""
        self._retrying = asyncio.ensure_future(self._retry(call))
        self._retrying.add_done_callback(self._end)

    def not_ready(self) -> NotReady:
        return NotReady(self.name, max(1.0, self._next_at - time.monotonic()))

    async def aclose(self) -> None:
        """Stop trying."""
        if self._retrying is not None:
            self._retrying.cancel()
            await asyncio.gather(self._retrying, return_exceptions=True)

    async def _retry(self, call: Callable[[PendingModel[T], T], None]) -> None:
        while True:
            await self._pause()
            try:
                opened = await self._try()
            except ThinkcapError as err:
                self._report(str(err))
                continue
            try:
                call(self, opened)
            except ThinkcapError as err:
                await self._close(opened)
                self._report(str(err))
                continue
            log.warning("model '%s' is ready", self.name)
            return

    async def _try(self) -> T:
        """Try once; a try that was too short doubles the time of the next, for servers that are slow."""
        try:
            async with asyncio.timeout(self._try_s):
                return await self._open()
        except TimeoutError:
            tried_s, self._try_s = self._try_s, min(LONGEST_TRY_S, 2 * self._try_s)
            raise EngineTimeout(f"the server could not be examined within {tried_s:g} s") from None

    async def _pause(self) -> None:
        pause_s = self._pause_s * (0.5 + random.random() / 2)
        self._pause_s = min(LONGEST_PAUSE_S, 2 * self._pause_s)
        self._next_at = time.monotonic() + pause_s
        await asyncio.sleep(pause_s)

    def _end(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("model '%s' cannot be opened: %r; restart the gateway", self.name, error)

    def _report(self, reason: str) -> None:
        if reason != self._reason:
            self._reason = reason
            log.warning(
                "model '%s' is not ready: %s; requests for it get a 503, and the gateway retries every %g to %g s",
                self.name,
                reason,
                FIRST_PAUSE_S,
                LONGEST_PAUSE_S,
            )
