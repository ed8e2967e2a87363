"""The working of each family in words: `brief` for answering at once, `think` for working it out in detail.

A `think` working is a list of pieces; each says how many steps of the problem are settled once it has been
written, so that a working cut anywhere can be finished in brief from there.
"""

from training.workings import arithmetic, boolean, dates, ordering, tracking

WORKINGS = {
    "arithmetic": arithmetic,
    "boolean": boolean,
    "tracking": tracking,
    "dates": dates,
    "ordering": ordering,
}
