"""Trains the tokenizer: byte-level BPE, single digits, the Qwen2 split, so that three libraries split alike.

python -m training.tokenizer --vocab 1024
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random

from thinkcap.core.prompts import HERE, PROMPTS
from thinkcap.tasks.families import FAMILIES, TRAINING_SEEDS, draw_difficulty, maker
from training.render import answer_text
from training.workings import WORKINGS

HOME = Path("src/thinkcap/model/pebble")
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = ("<think>", "</think>")
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEMPLATE = Path(__file__).with_name("chat_template.jinja")


def texts(count: int, seed: int) -> list[str]:
    rng = Random(seed)
    made = []
    for i in range(count):
        problem = maker(list(FAMILIES)[i % len(FAMILIES)])(rng, draw_difficulty(rng))
        work = WORKINGS[problem.family]
        made.append(PROMPTS.asked(problem.question, problem.form))
        made.append(work.brief(problem, rng) + answer_text(problem))
        made.append("".join(p.text for p in work.think(problem, rng, rng.random() < 0.1)))
        if i % 10 == 0:
            prompts = (PROMPTS.extract, PROMPTS.extract_bare, PROMPTS.extract_only, PROMPTS.retry, PROMPTS.hint)
            made += [p.replace(HERE, "").replace("{form}", "") for p in prompts]
            made += ["system\n", "user\n", "assistant\n", "\n\n", "\n\nThe final answer:"]
    return made


def build(vocab: int, count: int, seed: int) -> None:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - len(SPECIAL) - len(MARKS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(count, seed), trainer)
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIAL])
    # Not special, as in Qwen3: decoding keeps them, so that a thought can be told from an answer.
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in MARKS])
    if tokenizer.get_vocab_size() != vocab:
        raise SystemExit(
            f"the vocabulary came out at {tokenizer.get_vocab_size()}, wanted {vocab}: more texts needed"
        )
    HOME.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(HOME / "tokenizer.json"))
    template = TEMPLATE.read_text()
    (HOME / "chat_template.jinja").write_text(template)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 4096,
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "clean_up_tokenization_spaces": False,
        "added_tokens_decoder": {
            str(tokenizer.token_to_id(t)): {
                "content": t,
                "lstrip": False,
                "normalized": False,
                "rstrip": False,
                "single_word": False,
                "special": t in SPECIAL,
            }
            for t in (*SPECIAL, *MARKS)
        },
    }
    (HOME / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocab", type=int, default=1024, help="size of the vocabulary, special tokens included")
    parser.add_argument("--problems", type=int, default=20_000, help="how many problems to take text from")
    parser.add_argument("--seed", type=int, default=TRAINING_SEEDS, help="seed of these problems")
    options = parser.parse_args()
    build(options.vocab, options.problems, options.seed)


if __name__ == "__main__":
    main()
