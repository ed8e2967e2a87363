"""What belongs to the paper *The Coupling Tax* alone: its authors' files, its named statistics, its figures.

Reached by name from the command line. No other room may import from here: without this folder the product works.
"""
