"""The explorer: one HTML file in which a person sees what a cap does to a model, down to the single question."""
