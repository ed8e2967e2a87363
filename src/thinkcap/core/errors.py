"""Every error a person may meet, so that one `except` at each door is enough.

    ThinkcapError
    |-- ConfigError            an option, file, key or name is wrong; nothing was run        (exit 2)
    |   |-- DataError          a dataset or log cannot be read as what it claims to be
    |   |-- Unsupported        this engine or model cannot do what the policy needs
    |   `-- StoreError         a trace store belongs to another model, version or process
    `-- EngineError            a generation failed; becomes `Failed`, never a wrong answer   (exit 1)
        |-- EngineTimeout      no answer in time
        |-- EngineUnreachable  no connection, or it broke
        |-- EngineRefused      the server said no (4xx), with its words
        |   `-- TemplateRefused  the model's chat template cannot render the messages
        |-- EngineGarbled      the server's answer is not what it promised
        |-- ServerFailed       a server that we started did not come up
        `-- ModelChanged       the server now serves another model than at the start

A message says what was seen, what was wanted and what to do next.
"""

from __future__ import annotations

from typing import Any


class ThinkcapError(Exception):
    """Base of all errors thinkcap raises on purpose."""


class ConfigError(ThinkcapError):
    """An option, file, key or name is wrong; nothing was run."""


class DataError(ConfigError):
    """A dataset or log cannot be read as what it claims to be."""


class Unsupported(ConfigError):
    """This engine or model cannot do what the policy needs."""


class StoreError(ConfigError):
    """A trace store belongs to another model, version or process."""


class EngineError(ThinkcapError):
    """A generation failed. `retriable` says whether the same call may succeed later."""

    retriable = False
    reached = True
    """Whether the server may have seen the call; false where no connection came about."""
    steps: tuple[Any, ...] = ()
    """What the flow had finished when it failed; set by the driver, so that no cost is lost."""


class EngineTimeout(EngineError):
    retriable = True


class EngineUnreachable(EngineError):
    retriable = True


class EngineRefused(EngineError):
    """The server answered with an error status of its own."""

    def __init__(self, message: str, status: int = 400, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s
        self.retriable = status == 429 or status >= 500


class TemplateRefused(EngineRefused):
    """The model's chat template cannot render the messages; a retry does not help."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the model's chat template rejects these messages: {reason}")


class EngineGarbled(EngineError):
    retriable = True


class ServerFailed(EngineError):
    """A server that we started did not come up; `said` are the last lines of its log."""

    def __init__(self, message: str, said: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.said = said


class ModelChanged(EngineError):
    """The server now serves another model than at the start."""
