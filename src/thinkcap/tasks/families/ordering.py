"""Put objects in order from clues: some need a search with dead ends, which gives chains their long tail.

>>> from random import Random
>>> p = make(Random(5), 3)
>>> len(p.work["order"])
5
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from random import Random

from thinkcap.tasks.families.problem import LETTERS, NAMES, Problem, listed, made_up, options_block, sample, words

_NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
_NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", 6: "sixth", 7: "seventh"}


@dataclass(frozen=True)
class RowScene:
    """One kind of row. Position 1 is the leftmost, the first, the oldest, the most expensive."""

    opens: tuple[str, ...]
    things: tuple[str, ...]
    before: tuple[str, ...]
    """`{a} ... {b}`: a stands before b."""
    after: tuple[str, ...]
    first: str
    """What is said of position 1, then of position k from that end, then the same from the other end."""
    nth: str
    last: str
    nth_last: str
    article: bool = True


def _plain(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


_SCENES = (
    RowScene(
        opens=(
            "On a branch sit {n} birds: {all}.",
            "There are {n} birds on a wire: {all}.",
            "I see {n} birds: {all}.",
        ),
        things=_plain(
            "quail,owl,raven,falcon,robin,hawk,crow,cardinal,hummingbird,blue jay,finch,wren,dove,parrot"
        ),
        before=("{a} is to the left of {b}",),
        after=("{a} is to the right of {b}",),
        first="{a} is the leftmost",
        nth="{a} is the {k} from the left",
        last="{a} is the rightmost",
        nth_last="{a} is the {k} from the right",
    ),
    RowScene(
        opens=("A shelf holds {n} books: {all}.", "On the shelf stand {n} books: {all}."),
        things=tuple(f"{c} book" for c in words("red blue green yellow orange purple black white brown gray")),
        before=("{a} is to the left of {b}",),
        after=("{a} is to the right of {b}",),
        first="{a} is the leftmost",
        nth="{a} is the {k} from the left",
        last="{a} is the rightmost",
        nth_last="{a} is the {k} from the right",
    ),
    RowScene(
        opens=("At a car show, {n} vehicles are on display: {all}.", "A museum has {n} old vehicles: {all}."),
        things=_plain(
            "hatchback,bus,convertible,tractor,minivan,truck,sedan,limousine,station wagon,motorcycle,van"
        ),
        before=("{a} is older than {b}",),
        after=("{a} is newer than {b}",),
        first="{a} is the oldest",
        nth="{a} is the {k}-oldest",
        last="{a} is the newest",
        nth_last="{a} is the {k}-newest",
    ),
    RowScene(
        opens=("A stall sells {n} kinds of fruit: {all}.", "At the market there are {n} fruits: {all}."),
        things=_plain(
            "kiwis,pears,peaches,loquats,apples,oranges,cantaloupes,mangoes,plums,watermelons,figs,limes"
        ),
        before=("{a} are more expensive than {b}",),
        after=("{a} are less expensive than {b}", "{a} are cheaper than {b}"),
        first="{a} are the most expensive",
        nth="{a} are the {k}-most expensive",
        last="{a} are the cheapest",
        nth_last="{a} are the {k}-cheapest",
    ),
    RowScene(
        opens=("{n} golfers played in a tournament: {all}.", "In a race there were {n} runners: {all}."),
        things=tuple(NAMES),
        before=("{a} finished above {b}", "{a} finished ahead of {b}"),
        after=("{a} finished below {b}", "{a} finished behind {b}"),
        first="{a} finished first",
        nth="{a} finished {k}",
        last="{a} finished last",
        nth_last="{a} finished {k}-to-last",
        article=False,
    ),
)

_LEADS = (
    "",
    "",
    "The clues below agree with each other and fix one order. ",
    "Read the statements; each describes a set of {n} objects in a fixed order. ",
    "Here is a set of {n} objects in a fixed order. All statements hold. ",
)
_SIZES = {1: 3, 2: 4, 3: 5, 4: 5, 5: 6, 6: 7, 7: 7, 8: 7}
# Share of clues that name a place outright; the fewer, the more search.
_PINNED = {1: 0.4, 2: 0.4, 3: 0.4, 4: 0.2, 5: 0.3, 6: 0.35, 7: 0.2, 8: 0.08}


def solve(
    count: int, pins: dict[int, int], needs: dict[int, tuple[int, ...]], limit: int
) -> list[tuple[tuple[int, ...], tuple[tuple[int, str, int], ...]]] | None:
    """The search, node by node: (placed so far, tests (thing, why, which)); None beyond `limit` nodes.

    A place is filled from the left by the first thing, in letter order, that is not pinned elsewhere ("@", its
    place) and needs nothing still missing ("<", what is missing); "+" places it. A node without "+" is a dead end.
    """
    nodes: list[tuple[tuple[int, ...], tuple[tuple[int, str, int], ...]]] = []
    holder = {place: thing for thing, place in pins.items()}

    def visit(placed: tuple[int, ...]) -> bool:
        if len(placed) == count:
            return True
        tests: list[tuple[int, str, int]] = []
        place = len(placed)
        only = holder.get(place)
        for thing in [only] if only is not None else [t for t in range(count) if t not in placed]:
            missing = [n for n in needs[thing] if n not in placed]
            if only is None and thing in pins:
                tests.append((thing, "@", pins[thing]))
            elif missing:
                tests.append((thing, "<", missing[0]))
            else:
                tests.append((thing, "+", 0))
                nodes.append((placed, tuple(tests)))
                tests = []
                if len(nodes) > limit or visit((*placed, thing)):
                    return True
        nodes.append((placed, tuple(tests)))
        return len(nodes) > limit

    visit(())
    return None if len(nodes) > limit else nodes


_ORDERS = {n: list(permutations(range(n))) for n in (3, 4, 5, 6)}


def _clues(rng: Random, order: list[int], pinned: float) -> list[tuple[str, int, int]]:
    """Clues that leave exactly this order: ("<", a, b) a stands before b; ("=", a, place) counted from 0."""
    count = len(order)
    where = {thing: place for place, thing in enumerate(order)}
    if count not in _ORDERS:
        _ORDERS[count] = list(permutations(range(count)))
    left = _ORDERS[count]
    clues: list[tuple[str, int, int]] = []
    while len(left) > 1:
        a, b = rng.sample(range(count), 2)
        if rng.random() < pinned:
            place = where[a]
            fewer = [o for o in left if o[place] == a]
            clue = ("=", a, place)
        else:
            if where[a] > where[b]:
                a, b = b, a
            fewer = [o for o in left if o.index(a) < o.index(b)]
            clue = ("<", a, b)
        if len(fewer) < len(left):
            left = fewer
            clues.append(clue)
    if count <= 5 and rng.random() < 0.6:
        clues = _without_idle(clues, _ORDERS[count])
    rng.shuffle(clues)
    return clues


def _holds(clue: tuple[str, int, int], order: tuple[int, ...]) -> bool:
    kind, a, b = clue
    return order[b] == a if kind == "=" else order.index(a) < order.index(b)


def _without_idle(clues: list[tuple[str, int, int]], orders: list[tuple[int, ...]]) -> list[tuple[str, int, int]]:
    """The clues less those that the others already imply."""
    for clue in list(clues):
        rest = [c for c in clues if c != clue]
        if sum(all(_holds(c, o) for c in rest) for o in orders) == 1:
            clues = rest
    return clues


def place_words(scene: RowScene, place: int, count: int, rng: Random) -> str:
    """What is said of a place, counted from the nearer end or, where it reads well, from either."""
    if place == 0:
        return scene.first
    if place == count - 1:
        return scene.last
    from_start = place + 1 <= count - place
    if rng.random() < 0.15 or place + 1 == count - place:
        from_start = rng.random() < 0.7
    if from_start:
        return scene.nth.replace("{k}", _NTH[place + 1])
    return scene.nth_last.replace("{k}", _NTH[count - place])


def make(rng: Random, difficulty: int) -> Problem:
    count = _SIZES[difficulty]
    while True:
        scene = rng.choice(_SCENES)
        things = sample(rng, scene.things, count)
        if rng.random() < 0.3:
            for at in range(count):
                word = made_up(rng)
                if rng.random() < 0.4 and word not in things:
                    things[at] = word if scene.article else word.capitalize()
        shown = list(range(count))
        if rng.random() < 0.2:
            rng.shuffle(shown)
        # From here on a thing is its option's number, so that letters can stand for things.
        things = [things[i] for i in shown]
        order = sample_order(rng, count)
        clues = _clues(rng, order, _PINNED[difficulty])
        pins = {a: place for kind, a, place in clues if kind == "="}
        needs = {t: tuple(sorted({a for kind, a, b in clues if kind == "<" and b == t})) for t in range(count)}
        nodes = solve(count, pins, needs, limit=8 + 7 * difficulty + (40 if difficulty > 6 else 0))
        if nodes is not None:
            break
    first = "The " if scene.article else ""
    inner = "the " if scene.article else ""
    told: list[str] = []
    lettered: list[str] = []
    for kind, a, b in clues:
        if kind == "=":
            words, x, y = place_words(scene, b, count, rng), a, a
        elif rng.random() < 0.5:
            words, x, y = rng.choice(scene.before), a, b
        else:
            words, x, y = rng.choice(scene.after), b, a
        told.append(words.format(a=first + things[x], b=inner + things[y]))
        lettered.append(words.format(a=LETTERS[x], b=LETTERS[y]))
    asked = rng.randrange(count)
    claim = place_words(scene, asked, count, rng)
    mention = [things[shown.index(i)] for i in range(count)]
    number = _NUMBERS[count]
    if scene.article and " are " not in scene.first:
        mention = [("an " if m[0] in "aeiou" else "a ") + m for m in mention]
    opening = rng.choice(scene.opens).format(n=number, all=listed(mention))
    question = (
        rng.choice(_LEADS).format(n=number)
        + opening[0].upper()
        + opening[1:]
        + " "
        + ". ".join(told)
        + "."
        + options_block([claim.format(a=first + t) for t in things])
    )
    return Problem(
        family="ordering",
        question=question,
        answer=f"({LETTERS[order[asked]]})",
        kind="label",
        form="label",
        difficulty=difficulty,
        work={
            "things": tuple(things),
            "clues": tuple(clues),
            "pins": pins,
            "needs": needs,
            "nodes": tuple(nodes),
            "order": tuple(order),
            "asked": asked,
            "lettered": tuple(lettered),
            "claim": claim.replace("{a} ", ""),
        },
    )


def sample_order(rng: Random, count: int) -> list[int]:
    order = list(range(count))
    rng.shuffle(order)
    return order
