"""How large a JSON schema may be: schemas come from clients, and the work on one must not hold up the others.

work = Work()
work.spend(len(schema["enum"]), place)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thinkcap.core.errors import Unsupported

MOST_PARTS = 3000
"""Keywords, members, options and values of a schema, counted again each time that a reference leads to them."""
MOST_BYTES = 32_768
"""Bytes that the shortest JSON may need, from wherever the model has begun."""
MOST_OPTIONS = 256
"""Schemas of one `oneOf`: each is compared with each."""
MOST_REPEATS_WRITTEN = 50_000
"""Repetitions that a grammar may count: servers write each of them out."""
MOST_DIGITS = 400
"""Of a bound on numbers; no float has more."""
_LONGEST_STEP = 60
_LONGEST_PLACE = 300


class SchemaTooLarge(Unsupported):
    """The work on a schema passes a limit."""


@dataclass(frozen=True)
class SchemaPath:
    """A place in a schema, and the references that led to it."""

    where: str = "$"
    refs: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    """References followed since the last step into a value; one of them again is a cycle without an end."""

    def __str__(self) -> str:
        return self.where if len(self.where) <= _LONGEST_PLACE else f"{self.where[:_LONGEST_PLACE]}..."

    def into(self, step: str) -> SchemaPath:
        """The schema of a part of the value."""
        return SchemaPath(f"{self.where[: _LONGEST_PLACE + 1]}{step[:_LONGEST_STEP]}", self.refs)

    def beside(self, step: str) -> SchemaPath:
        """Another schema for the same value."""
        return replace(self, where=f"{self.where[: _LONGEST_PLACE + 1]}{step[:_LONGEST_STEP]}")

    def follow(self, ref: str) -> SchemaPath:
        """The target of a reference; an error if it leads back to itself without a step into the value."""
        if ref in self.here:
            cycle = " -> ".join((*self.here[self.here.index(ref) :], ref))
            raise Unsupported(
                f"the JSON schema refers to itself without end at {self}: {cycle[:200]}; "
                f"let a property or an item come between"
            )
        return SchemaPath(ref, (*self.refs, ref), (*self.here, ref))


@dataclass
class Work:
    """What may still be spent on one schema."""

    left: int = MOST_PARTS
    repeats: int = MOST_REPEATS_WRITTEN

    def spend(self, parts: int, place: SchemaPath) -> None:
        self.left -= parts
        if self.left < 0:
            raise SchemaTooLarge(
                f"the JSON schema is too large at {place}: more than {MOST_PARTS} keywords, members and values "
                f"when references are followed{f' ({parts} of them here)' if parts > 1 else ''}; ask for fewer"
            )

    def repeat(self, count: int, place: SchemaPath) -> None:
        self.repeats -= count
        if self.repeats < 0:
            raise SchemaTooLarge(
                f"the JSON schema is too large at {place}: its lengths and numbers of items add up to more than "
                f"{MOST_REPEATS_WRITTEN}; lower minItems, maxItems, minLength or maxLength"
            )
