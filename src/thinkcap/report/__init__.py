"""A study or anyone's logs as tables, figures and one page to explore; numbers and sentences come from below.

Others import: `command` (the door of `thinkcap report`), `explorer` (its `page.write_page` is the page alone),
`assets` (the look of pages), `figures` by name, and for tables of their own `material`, `files` and `tables`.
"""
