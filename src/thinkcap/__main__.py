"""`python -m thinkcap` is `thinkcap`."""

from thinkcap.cli import run

run()
