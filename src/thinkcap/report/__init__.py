"""A study or anyone's logs as tables, figures and one page to explore.

`command` is the door of `thinkcap report`, `explorer.page.write_page` that of the page alone. Numbers come from
`diagnose`, sentences from `verdict`; here they are only laid out.
"""
