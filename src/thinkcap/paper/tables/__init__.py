"""The tables of the paper, of anybody's records."""
