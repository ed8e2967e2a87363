"""An OpenAI-compatible server in front of any model server, where `max_tokens` is a contract.

The command line calls `server.run(ServeConfig)` and `admission.auth.new_key`; no other room imports from here.
Beside this file stands what a request is (`call`, `choose`, `replies`, `refusal`) and what runs a gateway
(`config`, `models`, `service`, `response`, `app`, `server`). The rest has rooms of its own, of which no two import
each other:

    wires/      the formats clients speak, one file each
    admission/  who may come in and how much: keys, quotas, the queue
    telemetry/  what is seen from outside: counts, access log, spans
    answering/  a policy's answer, whole or streamed, or the server's own by the short way
    pages/      every path that is not a wire
    watch/      traffic handed on as it is, a journal, and a policy tried on a share of it
"""
