"""Work on what a client sent, in one thread beside the event loop, so that other requests go on meanwhile.

form = await run_in_background(schema_form, schema)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")

# One thread: several would take the interpreter from the event loop in turn.
_EXECUTOR = ThreadPoolExecutor(1, thread_name_prefix="thinkcap-schema")


async def run_in_background(work: Callable[..., _Result], *arguments: object) -> _Result:
    return await asyncio.get_running_loop().run_in_executor(_EXECUTOR, work, *arguments)
