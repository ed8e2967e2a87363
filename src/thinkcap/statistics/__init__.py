"""Statistics of thinking under a cap: arrays in, frozen results out; nothing here reads, writes or draws pictures.

One file a question (lengths, losses, pairs, splits, gates ...), any of which others may import; a bad column is
refused by `arrays`. May import numpy and `thinkcap.core.errors`, no other room; no circle among its files.
"""
