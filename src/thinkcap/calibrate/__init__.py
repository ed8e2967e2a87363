"""What a study taught about one model, made into a profile that says which policy serves which cap.

`calibrate.calibrate` makes it from a run, `profile` reads and writes it, `choice` names the policy of a request.
The gateway and the command line use these three; `allocation` is for `calibrate` alone.
"""
