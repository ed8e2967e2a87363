"""An OpenAI-compatible server in front of any model server, where `max_tokens` is a contract.

`server.run(ServeConfig)` is the door for the command line, `doctor` probes a server. A request goes through
`wires/` (one file a protocol), `choose` (which policy), `limits` and `flows`; no other room imports from here.
"""
