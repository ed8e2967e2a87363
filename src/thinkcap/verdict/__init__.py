"""Findings into words: a headline, advice and sentences that a person reads.

`say.say(diagnosis)` gives the sentences, `page` the printed text and the JSON document. Nothing is computed
here that another room would need; every number comes from `diagnose`.
"""
