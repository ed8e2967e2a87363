"""What is seen of a request from outside, never a word of it: counts, a line in the access log, spans.

`visits.open_visits` opens all three. `visit.Visit` is one request from door to door, and whoever handles it writes
there; `metrics.Metrics` holds the counts; `carried.carried` reads the ids a client sent along.
"""
