"""Who holds what after a run of swaps: every step is easy, the sum of them is not, so a cap hurts early.

>>> from random import Random
>>> make(Random(2), 1).answer in ("(A)", "(B)", "(C)")
True
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from thinkcap.tasks.families.problem import (
    LETTERS,
    NAMES,
    Problem,
    listed,
    made_up,
    options_block,
    people,
    sample,
    words,
)

_COLOURS = words("red blue green yellow orange purple pink black white brown gray silver golden teal violet")
_BOOKS = words(
    "Ulysses;Frankenstein;Lolita;Moby Dick;Catch-22;The Pearl;The Odyssey;The Great Gatsby;Dracula;Emma;Beloved;"
    "Hamlet;The Iliad;The Trial;Don Quixote;Hound of the Baskervilles;The Fellowship of the Ring;Jane Eyre;"
    "War and Peace;The Stranger;Middlemarch;Brave New World;The Time Machine;A Tale of Two Cities;Kim;Walden;"
    "Lord of the Flies;Heart of Darkness;The Call of the Wild;Gulliver's Travels",
    ";",
)
_POSITIONS = words(
    "goalkeeper;striker;fullback;benchwarmer;cheerleader;left winger;right winger;center midfielder;"
    "left midfielder;right midfielder;sweeper;captain;left back;right back;center back;forward;playmaker;reserve",
    ";",
)
_PARTNERS = words(
    "Helga Lola Ophelia Izzi Melissa Karl Rodrigo Patrick Jamie Sam Bertha Cleo Dmitri Elsa Franz Greta Henri "
    "Ingrid Jorge Klaus Lucia Marcel Nadia Oskar Petra Ramon Sonia Theo Ursula Viktor"
)
_JOBS = words("cooking;sweeping;the laundry;the garden;the dishes;shopping;painting;the accounts;night watch", ";")
_SEATS = words("the window seat;the aisle seat;the back row;the front row;the sofa;the armchair;the bench", ";")


@dataclass(frozen=True)
class SwapScene:
    """One kind of story: how it opens, what is held, how a swap and the question are told."""

    opens: tuple[str, ...]
    starts: tuple[str, ...]
    holds: tuple[str, ...]
    """`{p} ... {i}`: one person's item at the start."""
    goes_on: tuple[str, ...]
    swaps: tuple[str, ...]
    ends: tuple[str, ...]
    items: tuple[str, ...]
    article: str = ""


_SCENES = (
    SwapScene(
        opens=("{all} are playing a ball game.", "{all} meet for a game in the park.", "{all} play together."),
        starts=(
            "At the start of the game, each of them holds a ball: {held}.",
            "To begin with, they are each given a ball: {held}.",
            "At the start, each one is holding a ball: {held}.",
        ),
        holds=("{p} has a {i}", "{p} holds a {i}"),
        goes_on=("As the game goes on, players trade balls in pairs.", "During the game, balls are traded."),
        swaps=("{a} and {b} swap balls", "{a} and {b} trade balls", "{a} and {b} exchange balls"),
        ends=("At the end of the game, {p} has the", "When the game is over, {p} holds the"),
        items=tuple(f"{c} ball" for c in _COLOURS),
    ),
    SwapScene(
        opens=("{all} bring gifts to a party.", "{all} hold a gift exchange.", "{all} are at a present swap."),
        starts=(
            "At the start of the event, each holds a present of its own color: {held}.",
            "At first they each hold a present: {held}.",
            "At the start, everyone picks up a gift: {held}.",
        ),
        holds=("{p} has a {i}", "{p} holds a {i}", "{p} picks the {i}"),
        goes_on=("As the event goes on, pairs of people swap gifts.", "Then the swapping of gifts begins."),
        swaps=("{a} and {b} swap their gifts", "{a} and {b} swap gifts", "{a} and {b} trade presents"),
        ends=("At the end of the event, {p} has the", "When all is done, {p} has the"),
        items=tuple(f"{c} present" for c in _COLOURS),
    ),
    SwapScene(
        opens=("{all} love reading and lend books to each other.", "{all} are readers in one book club."),
        starts=(
            "At the start of term, each one buys a new book: {held}.",
            "In spring they each get one book: {held}.",
            "At the start of the semester, everyone has one book: {held}.",
        ),
        holds=("{p} gets {i}", "{p} buys {i}", "{p} has {i}"),
        goes_on=("As the semester goes on, they trade their new books.", "Then they begin trading books."),
        swaps=("{a} and {b} swap books", "{a} and {b} trade books", "{a} and {b} exchange their books"),
        ends=("At the end of the semester, {p} has", "In the end, {p} has", "When term ends, {p} is reading"),
        items=tuple(_BOOKS),
    ),
    SwapScene(
        opens=("{all} go to a dance.", "{all} are dancing in a village hall.", "{all} are dancers."),
        starts=(
            "At the start of a song, each has a partner: {held}.",
            "When the music starts, they each have a partner: {held}.",
        ),
        holds=("{p} is dancing with {i}", "{p} dances with {i}"),
        goes_on=("During the song, the dancers trade partners now and then.", "Partners change as they dance."),
        swaps=("{a} and {b} switch partners", "{a} and {b} trade partners", "{a} and {b} swap partners"),
        ends=("At the end of the dance, {p} is dancing with", "When the song ends, {p} dances with"),
        items=tuple(_PARTNERS),
    ),
    SwapScene(
        opens=("{all} play soccer on one team.", "{all} are team mates in a match.", "{all} play in a match."),
        starts=(
            "At the start of the match, each is given a position: {held}.",
            "Before kick-off they are each assigned a position: {held}.",
        ),
        holds=("{p} is playing {i}", "{p} plays {i}", "{p} is the {i}"),
        goes_on=("As the match goes on, pairs of players swap positions.", "The coach lets players change."),
        swaps=("{a} and {b} trade positions", "{a} and {b} swap positions", "{a} and {b} switch positions"),
        ends=("At the end of the match, {p} is playing", "When the whistle blows, {p} is playing"),
        items=tuple(_POSITIONS),
    ),
    SwapScene(
        opens=("{all} share a house.", "{all} work in one kitchen.", "{all} travel on one bus."),
        starts=("At first, each of them has a task or a place: {held}.", "On Monday it is so: {held}."),
        holds=("{p} has {i}", "{p} takes {i}"),
        goes_on=("During the week, they change around.", "Then some of them change."),
        swaps=("{a} and {b} change with each other", "{a} and {b} swap", "{a} trades with {b}"),
        ends=("In the end, {p} has", "On Sunday, {p} has"),
        items=(*_JOBS, *_SEATS),
    ),
)

# People and swaps by difficulty.
_SIZES = {
    1: (3, 3, 3),
    2: (3, 4, 5),
    3: (4, 4, 6),
    4: (5, 5, 7),
    5: (6, 6, 9),
    6: (7, 8, 12),
    7: (7, 12, 16),
    8: (7, 17, 24),
}
_LATER = ("Then, {}.", "Then, {}.", "Next, {}.", "After that, {}.")


def make(rng: Random, difficulty: int) -> Problem:
    count, fewest, most = _SIZES[difficulty]
    if difficulty > 1 and rng.random() < 0.2:
        count = max(3, count - rng.choice((0, 1)))
    scene = rng.choice(_SCENES)
    # Most printed puzzles use the same first names in alphabetical order.
    who = NAMES[:count] if rng.random() < 0.5 else people(rng, count)
    items = sample(rng, [i for i in scene.items if i not in who], count)
    if rng.random() < 0.12:
        items[rng.randrange(count)] = made_up(rng).capitalize()
    swaps = [tuple(rng.sample(range(count), 2)) for _ in range(rng.randint(fewest, most))]
    hold, swap = rng.choice(scene.holds), rng.choice(scene.swaps)
    held = listed([hold.format(p=p, i=i) for p, i in zip(who, items, strict=True)])
    told = [swap.format(a=who[a], b=who[b]) for a, b in swaps]
    lines = [f"First, {told[0]}."]
    lines += [rng.choice(_LATER).format(t) for t in told[1:-1]]
    lines.append(f"Finally, {told[-1]}.")
    asked = rng.randrange(count)
    shown = list(range(count))
    if rng.random() < 0.4:
        rng.shuffle(shown)
    question = (
        rng.choice(scene.opens).format(all=listed(who))
        + " "
        + rng.choice(scene.starts).format(held=held)
        + rng.choice(("\n", "\n", " "))
        + rng.choice(scene.goes_on)
        + " "
        + " ".join(lines)
        + " "
        + rng.choice(scene.ends).format(p=who[asked])
        + options_block([items[i] for i in shown])
    )
    # The letter of person p's item at the start.
    letters = [LETTERS[shown.index(p)] for p in range(count)]
    states = [tuple(letters)]
    for a, b in swaps:
        now = list(states[-1])
        now[a], now[b] = now[b], now[a]
        states.append(tuple(now))
    return Problem(
        family="tracking",
        question=question,
        answer=f"({states[-1][asked]})",
        kind="label",
        form="label",
        difficulty=difficulty,
        work={
            "people": tuple(who),
            "items": tuple(items),
            "swaps": tuple(swaps),
            "states": tuple(states),
            "asked": asked,
        },
    )
