"""The names people may rely on, and plain calls where a loop is already running."""

import asyncio
from importlib.metadata import version

import pytest

import thinkcap
from thinkcap.core.sync import wait


def test_public_names_are_pinned_and_load() -> None:
    assert thinkcap.__all__ == [
        *("Answer", "Completion", "Engine", "Flow", "Question", "Reply", "Request", "ThinkcapError"),
        *("ask", "ask_all", "equal", "extract", "request", "same", "study"),
    ]
    assert len(thinkcap.__all__) <= 15
    for name in thinkcap.__all__:
        assert getattr(thinkcap, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        thinkcap.nope  # noqa: B018


def test_they_are_listed_and_the_version_is_known() -> None:
    assert set(thinkcap.__all__) <= set(dir(thinkcap))
    assert "__version__" in dir(thinkcap)
    assert thinkcap.__version__ == version("thinkcap")


async def test_plain_calls_work_in_a_notebook() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    assert asyncio.get_running_loop().is_running()
    assert wait(work()) == 7


def test_errors_come_out_of_the_other_thread() -> None:
    async def fail() -> None:
        raise thinkcap.ThinkcapError("as it is")

    async def inside() -> None:
        with pytest.raises(thinkcap.ThinkcapError, match="as it is"):
            wait(fail())

    asyncio.run(inside())
    inside_loop_free = pytest.raises(thinkcap.ThinkcapError)
    with inside_loop_free:
        wait(fail())


def test_a_room_does_not_hide_the_function_of_its_name() -> None:
    import importlib

    import thinkcap

    assert callable(thinkcap.study)
    importlib.import_module("thinkcap.study.run")
    assert callable(thinkcap.study)
