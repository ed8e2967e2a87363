"""A gateway that is killed while it watches: every request whose last byte was sent is in its journal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import requests
from running import Client, app_running
from test_watch import PATHS, Upstream, entries

from patience import PATIENCE_S


@pytest.mark.parametrize("kills", [2, pytest.param(30, marks=pytest.mark.campaign)])
def test_no_answered_request_is_lost(tmp_path: Path, kills: int, request: Any) -> None:
    campaign = request.getfixturevalue("campaign") if kills > 2 else None
    kills = campaign.of(kills) if campaign else kills
    answered = 0
    with app_running(Upstream()) as behind:
        for kill in range(kills):
            folder = tmp_path / str(kill)
            answered += _killed(behind, folder, after=20 + 7 * (kill % 5))
    if campaign:
        campaign.says(
            f"{kills} kills of a gateway that watches: all {answered:,} answered requests in its journal"
        )


def _killed(behind: str, folder: Path, after: int) -> int:
    """Requests in three threads, the gateway killed after so many answers; how many were answered."""
    command = [sys.executable, "-m", "thinkcap", "serve", behind, "--watch", "--port", "0"]
    with subprocess.Popen(
        [*command, "--watch-journal", str(folder)], stderr=subprocess.PIPE, text=True
    ) as gateway:
        assert gateway.stderr is not None
        told = gateway.stderr.readline()
        address = told.partition(" from ")[2].partition(",")[0]
        done: list[str] = []

        def ask(lane: int) -> None:
            client, number = Client(address), 0
            while True:
                number += 1
                body = {"model": f"lane{lane}-{number}", "stream": number % 2 == 0}
                try:
                    client.post(PATHS[number % 4], json=body, headers={"x-name": body["model"]}).content  # noqa: B018
                except requests.RequestException:
                    return
                done.append(str(body["model"]))
                if len(done) == after:
                    os.kill(gateway.pid, signal.SIGKILL)

        lanes = [threading.Thread(target=ask, args=(lane,)) for lane in range(3)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join(PATIENCE_S)
        gateway.kill()
    kept = {entry["model"] for entry in entries(folder)}
    assert set(done) <= kept
    return len(done)
