"""Names of stored traces: put together by hand, and byte for byte what JSON gives, or old stores are lost."""

from __future__ import annotations

import hashlib
import json

import pytest

from thinkcap.core.engine import Prompt
from thinkcap.core.types import GREEDY, Sampling


@pytest.mark.parametrize("ids", [None, (), (1, 22, 151_667)])
@pytest.mark.parametrize("body", [{}, {"model": "q", "messages": [{"role": "user", "content": 'é "x"'}]}])
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(0.6, 0.95, 7), Sampling(1, 1, 0)])
def test_a_key_is_the_hash_of_plain_json(
    ids: tuple[int, ...] | None, body: dict[str, object], sampling: Sampling
) -> None:
    drawn = [] if sampling.greedy else [sampling.temperature, sampling.top_p, sampling.seed]
    plain = json.dumps(['a "model"', list(ids) if ids is not None else None, body, drawn], sort_keys=True)
    assert Prompt(ids=ids, body=body).key('a "model"', sampling) == hashlib.sha256(plain.encode()).hexdigest()
