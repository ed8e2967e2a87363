"""Every path that is not a wire: models, health, metrics, the description of the interface, the page for people.

`routes.routes(service)` gives them all. `overview.overview` says in plain values what this gateway is, for the
page and the banner; `openapi.description` is made from the types requests are checked with.
"""
