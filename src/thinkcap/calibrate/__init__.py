"""What a study taught about one model, made into a profile that says which policy serves which cap.

`calibrate.calibrate` makes it from a run, `profile` reads and writes it, `choice` explains it. The gateway and the
command line use these three; `allocation` is theirs alone.
"""
