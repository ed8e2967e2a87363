"""Text to token ids many times faster than the tokenizer library, with the same result on ASCII text.

Training has to make three million tokens a second on the fly. The words of these texts repeat, so each
pre-token is looked up in a table that the real tokenizer fills on first sight.

    >>> encoder = Encoder(Path("src/thinkcap/model/pebble/tokenizer.json"))    # doctest: +SKIP
    >>> encoder("What is 2 + 3?")                                              # doctest: +SKIP
"""

from __future__ import annotations

import re
from pathlib import Path

# The Qwen2 pattern restricted to ASCII, which Python's re can express.
_SPLIT = re.compile(
    r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
    r"|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Encoder:
    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(path))
        self._known: dict[str, list[int]] = {}
        self.start, self.end, self.pad, self.think, self.close = (
            self.tokenizer.token_to_id(t)
            for t in ("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>")
        )

    def __call__(self, text: str) -> list[int]:
        ids: list[int] = []
        known = self._known
        for word in _SPLIT.findall(text):
            found = known.get(word)
            if found is None:
                found = self.tokenizer.encode(word, add_special_tokens=False).ids
                known[word] = found
            ids += found
        return ids

    def marked(self, text: str) -> list[int]:
        """Text that may hold <think> and </think>, each of which is one token."""
        ids: list[int] = []
        for part in re.split(r"(</?think>)", text):
            if part == "<think>":
                ids.append(self.think)
            elif part == "</think>":
                ids.append(self.close)
            else:
                ids += self(part)
        return ids
