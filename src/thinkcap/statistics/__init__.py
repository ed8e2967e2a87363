"""Statistics of thinking under a cap: arrays in, frozen results out; nothing here reads, writes or draws pictures.

One file a question (lengths, losses, pairs, splits, gates ...); a bad column is refused by `arrays`.
May import numpy, scipy and `thinkcap.core.errors`, no other room; its files import one another without a circle.
"""
