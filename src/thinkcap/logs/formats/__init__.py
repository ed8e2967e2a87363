"""One file per format. Every module with `recognise(log)` and `read(log, questions, said)` is asked in turn."""
