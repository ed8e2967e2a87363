"""A thousand mixed strings and their ids, to check that every library that loads Pebble splits text alike.

python -m training.strings        # writes training/record/ids.json from transformers' tokenizer
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

from thinkcap.core.prompts import PROMPTS
from thinkcap.model import pebble_hf
from thinkcap.tasks.families import questions

RECORD = Path(__file__).with_name("record") / "ids.json"

_SCRAPS = (
    "It's we'll they'RE I'D you've",
    "  two  spaces   three",
    "tab\tand\r\nreturn\n\n\nlines \n ",
    "1234567890 3.14159 1,000,000 -7e10",
    "naïve café Straße ångström Ελλάδα Привет",
    "日本語のテキスト 中文字符 한국어 ภาษาไทย العربية עברית",
    "emoji 😀👩‍👩‍👧 🇩🇪 ✅ ❤️",
    "math ∑_{i=1}^n x² ≤ ½ ± √2 ≈ 1.414 × ÷",
    "def f(x):\n    return x ** 2  # comment\n",
    '{"key": [1, 2.5, null], "text": "a\\nb"}',
    "<think>\nhm\n</think>\n\nyes",
    "<|im_start|>user\nhi<|im_end|>\n",
    "\\boxed{\\frac{1}{2}} $x^2$ \\(a\\) #### 42",
    "(A) one\n(B) two\n(C) three",
    "...---!!!???***///\\\\",
    "Zürich–Genève — “quoted” ‘single’ …",
    "a\u0301 e\u0308 decomposed; zero\u200bwidth; nbsp\u00a0here",
    "MiXeD CaSe wOrDs UPPER lower Title",
    "٣٤٥ ⅷ ² ௧௨௩",
)


def mixed(count: int = 1000, seed: int = 3) -> list[str]:
    """The same strings every time: questions as asked, scraps of many scripts, and random splices of both."""
    rng = Random(seed)
    asked = [PROMPTS.asked(p.question, p.form) for p in questions("mix", count // 2, seed)]
    found = list(_SCRAPS) + asked
    while len(found) < count:
        parts = [rng.choice(_SCRAPS if rng.random() < 0.7 else asked) for _ in range(rng.randint(1, 3))]
        text = rng.choice(("", " ", "\n", "  ")).join(parts)
        start = rng.randrange(len(text) // 2 + 1)
        found.append(text[start : start + rng.randint(1, 160)])
    return found[:count]


def digest(ids: Sequence[Sequence[int]]) -> str:
    return hashlib.sha256(json.dumps([list(i) for i in ids]).encode()).hexdigest()


def by_transformers(texts: Sequence[str]) -> list[list[int]]:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(pebble_hf()))
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RECORD, help="where the hashes go")
    options = parser.parse_args()
    texts = mixed()
    ids = by_transformers(texts)
    record = {
        "strings": len(texts),
        "texts_sha256": hashlib.sha256(json.dumps(texts).encode()).hexdigest(),
        "ids_sha256": digest(ids),
        "tokens": sum(map(len, ids)),
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
