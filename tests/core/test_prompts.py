"""One hash names all texts, and a form that came later spoils no stored row."""

from __future__ import annotations

from thinkcap.core.prompts import PROMPTS, Prompts


def test_a_form_added_later_leaves_the_hash_as_it_was() -> None:
    without = Prompts(forms={kind: text for kind, text in PROMPTS.forms.items() if kind != "text"})
    assert PROMPTS.hash == without.hash == "6cf3de292728997b"


def test_another_text_for_it_is_another_hash() -> None:
    changed = Prompts.from_mapping({"forms": {"text": "Answer: words"}})
    assert changed.form("text") == "Answer: words"
    assert changed.hash != PROMPTS.hash
