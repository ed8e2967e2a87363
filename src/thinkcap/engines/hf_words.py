"""A transformers tokenizer as thinkcap reads it: its dialect's marks are text, the end of a turn is not.

words = HfWords(tokenizer, model.generation_config)
words.text([40, 41])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jinja2

from thinkcap.core.engine import Emit
from thinkcap.core.errors import ConfigError, TemplateRefused
from thinkcap.core.thinking import Delta
from thinkcap.core.types import Ids, Message
from thinkcap.dialects import QWEN, Dialect
from thinkcap.engines.byte_level import token_bytes


class HfWords:
    """The model's tokenizer and template."""

    def __init__(self, tokenizer: Any, generation: Any, dialect: Dialect = QWEN) -> None:
        self._tokenizer = tokenizer
        ends = generation.eos_token_id if generation.eos_token_id is not None else tokenizer.eos_token_id
        self.ends = frozenset([ends] if isinstance(ends, int) else ends or ())
        if not self.ends:
            raise ConfigError("neither generation_config.json nor the tokenizer names an end-of-turn token")
        self.pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(self.ends)
        special = {i: str(tokenizer.convert_ids_to_tokens(i)) for i in tokenizer.all_special_ids}
        shown = dialect.tokens
        marks = {i for i, token in special.items() if token != dialect.end_of_turn and token in shown}
        self._unseen = (frozenset(special) - marks) | self.ends
        # Around it transformers looks at every id once more, which takes longer than the decoding.
        self._fast = getattr(tokenizer, "backend_tokenizer", None)
        by_bytes = type(getattr(self._fast, "decoder", None)).__name__ == "ByteLevel"
        self._bytes = _TokenBytes(self._fast, self._unseen) if by_bytes else None

    async def render(self, messages: Sequence[Message], switches: Mapping[str, Any]) -> str:
        plain = list(map(dict, messages))
        try:
            text = self._tokenizer.apply_chat_template(
                plain, tokenize=False, add_generation_prompt=True, **switches
            )
        except jinja2.TemplateError as err:
            raise TemplateRefused(str(err)) from err
        return str(text)

    async def tokenize(self, text: str, first: bool) -> Ids:
        """The template has written its BOS itself, so none is ever added here."""
        return tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) if text else ()

    def text(self, ids: Sequence[int]) -> str:
        if self._bytes is not None:
            return b"".join(map(self._bytes.__getitem__, ids)).decode("utf-8", "replace")
        kept = ids if self._unseen.isdisjoint(ids) else [i for i in ids if i not in self._unseen]
        if self._fast is not None:
            return str(self._fast.decode(kept, skip_special_tokens=False))
        return str(self._tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False))

    def stopped(self, ids: Sequence[int], stop: Sequence[str]) -> str | None:
        """The text before the first stop word in it."""
        if not stop:
            return None
        text = self.text(ids)
        found = [text.index(word) for word in stop if word in text]
        return text[: min(found)] if found else None


class _TokenBytes(dict[int, bytes]):
    """What each token of a byte-level tokenizer stands for, learned as they are met.

    Its decoder puts bytes one after the other and reads them as UTF-8. Done here that takes a third of the time,
    and a study reads the beginning of a chain anew for every budget.
    """

    def __init__(self, fast: Any, unseen: frozenset[int]) -> None:
        super().__init__(dict.fromkeys(unseen, b""))
        self._token = fast.id_to_token

    def __missing__(self, token: int) -> bytes:
        spelled = self._token(token)
        # Ids beyond the vocabulary say nothing.
        found = self[token] = b"" if spelled is None else token_bytes(spelled)
        return found


class ShownText:
    """Text to show as tokens come: whole characters only, and nothing that may turn out a stop word."""

    def __init__(self, words: HfWords, stop: Sequence[str], emit: Emit) -> None:
        self._words = words
        self._emit = emit
        self._held = max((len(word) - 1 for word in stop), default=0)
        self._ids: list[int] = []
        self._before = self._from = 0
        self._text = ""
        self._sent = 0

    def add(self, token: int) -> None:
        self._ids.append(token)
        # Decoded with the piece before, since some tokenizers drop a space at the beginning of a text.
        old = self._words.text(self._ids[self._before : self._from])
        new = self._words.text(self._ids[self._before :])
        if len(new) > len(old) and not new.endswith("\ufffd"):
            self._text += new[len(old) :]
            self._before, self._from = self._from, len(self._ids)
        self._show(len(self._text) - self._held, 1)

    def finish(self, text: str) -> None:
        self._text = text
        self._show(len(text), 0)

    def _show(self, until: int, tokens: int) -> None:
        until = max(until, self._sent)
        self._emit(Delta(self._text[self._sent : until], tokens=tokens))
        self._sent = until
