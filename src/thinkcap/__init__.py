"""The best answer a thinking model can give under a token cap."""
