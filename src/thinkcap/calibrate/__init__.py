"""What a study taught about one model, made into a profile that says which policy serves which cap.

`calibrate.calibrate` makes it from a run, `profile` reads and writes it, `choice` names the policy of a request.
`foresee` says what its policies would do on watched traffic. The gateway and the command line use these;
`allocation` is for `calibrate` alone.
"""
