"""A diagnosis in plain words: a headline, advice, and short sentences, each with the numbers it stands on.

Words come last and decide nothing: every figure is one of the findings.

    said = say(diagnose(records))
    said.headline, said.advice
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thinkcap.diagnose.diagnosis import Diagnosis
from thinkcap.verdict import labelled, shadow, traffic
from thinkcap.verdict.advice import Advice, NotAdvised, advise, list_excluded, report_excluded, told
from thinkcap.verdict.costs import crossover, lengths, losses
from thinkcap.verdict.headline import headline
from thinkcap.verdict.runs import chains, dialects, elsewhere, refusals, repeated
from thinkcap.verdict.ways import carried, ways
from thinkcap.verdict.words import Sentence


@dataclass(frozen=True)
class Spoken:
    headline: str
    """What everybody should know, one line per model and task."""
    advice: tuple[Advice, ...]
    not_advised: tuple[NotAdvised, ...]
    sentences: tuple[Sentence, ...]
    """The headline's own first, then by topic; `detail` marks those shown only on request."""
    notes: tuple[str, ...]


def say(found: Diagnosis) -> Spoken:
    sentences: list[Sentence] = []
    advice: list[Advice] = []
    excluded: list[NotAdvised] = []
    heads: list[str] = []
    for one in found.findings:
        own = advise(one)
        first = headline(one, own)
        name = f"{one.model or 'Unnamed model'}, {one.task or 'unnamed task'}: " if len(found.findings) > 1 else ""
        if first:
            heads.append(name + " ".join(s.text for s in first))
            first = [replace(first[0], text=name + first[0].text), *first[1:]]
        sentences += first
        sentences += _about("What the cap costs", losses(one))
        sentences += _about("How long chains are", [*lengths(one, len(found.findings)), *crossover(one)])
        compared = found.comparisons.of(one.model, one.task)
        sentences += _about(
            "What other methods gain", ways(one, compared, "answer" if found.pooled_seeds else "question")
        )
        sentences += _about("What to use", [*told(own), *report_excluded(one)])
        sentences += _about("How thoughts are marked", dialects(one))
        advice += own
        excluded += list_excluded(one)
    for open_rows in found.traffic:
        first = traffic.lost(open_rows)
        heads += [s.text for s in first]
        sentences += first
        if open_rows.held:
            # How long a policy's answers are depends on the cap they had, so they say nothing about others.
            continue
        sentences += _about("What other caps would do", traffic.caps(open_rows))
        sentences += _about("Who loses answers", traffic.callers(open_rows))
        sentences += _about("What to do", traffic.advice(open_rows, labelled=bool(found.labelled)))
    for labels in found.labelled:
        sentences += _about("How many are right", labelled.accuracy(labels))
    for beside in found.shadows:
        sentences += _about("What a policy would have done", shadow.beside(beside))
    sentences += _about("Models and tasks compared", [*map(chains, found.models), *carried(found.cross_scale)])
    sentences += _about("Runs compared", repeated(found.repeats))
    sentences += _about("Not compared", refusals(found.refused))
    notes = [*found.notes, *elsewhere(found.elsewhere)]
    if found.pooled_seeds:
        notes.append(
            "answers of several seeds to one question are pooled; tests and intervals count questions, not answers"
        )
    known = tuple(dict.fromkeys(notes))
    return Spoken("\n".join(heads), tuple(advice), tuple(excluded), tuple(sentences), known)


def _about(topic: str, sentences: Iterable[Sentence]) -> list[Sentence]:
    return [replace(s, topic=topic) for s in sentences]
