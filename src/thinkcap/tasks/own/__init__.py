"""Questions of anyone's own, from a table nobody prepared: read, understood, turned into a task."""
