"""Who is let in, and how much: a request has passed here before it costs anything.

`auth.Keys` knows the caller, `quota.Quota` what a key may use up (`shared_quota` counts it in Redis), and
`limits.Admission` how much goes on at once. Of the gateway this room knows only how to refuse.
"""
