"""Watch mode: traffic goes by as it came, and what a policy would do with it is tried on a share.

`watching.Watch` is the application. It stands on `app`, which answers the requests that a policy is given; only
`server` imports it. `guard.Guard` and `journal.WatchJournal` need nothing of the gateway.
"""
