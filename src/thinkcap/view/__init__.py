"""A local page over all runs of a folder: listed, opened, compared, searched, and followed while they are made.

Nothing is written and nothing leaves the machine. A run's page is the explorer of `report`, fed by the server
instead of a file; an unfinished run has the same page, fed by its journal. Others import: `server` (the door of
`thinkcap view`).
"""
