"""One file a format. Every module here with `recognise(log)` and `read(log, questions, said)` is asked in turn."""
