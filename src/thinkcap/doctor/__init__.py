"""A server under examination: asked plain questions, and believed only where its tokens were counted.

`examine.examined` says what a server obeys, for `thinkcap doctor`. `probe.Probe` asks one question and says what
can be seen of the answer; the gateway asks so how a server thinks that it knows nothing of.
"""
