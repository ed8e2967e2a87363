"""How Pebble, the bundled model, was made: tokenizer, rendering, data, training, evaluation, export, card."""
