"""From a chosen policy to an answer: driven as a flow, or handed on by the short way.

`job` and `streaming` drive flows, whole and piece by piece; `relay.Relay` hands on what takes one pass, and
`inspector` looks at what comes back; `json_answers.held` holds an answer to a schema. `app` imports these.
"""
