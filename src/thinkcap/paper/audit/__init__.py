"""The paper's printed figures, computed again."""
