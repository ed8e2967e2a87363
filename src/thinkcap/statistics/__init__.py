"""Statistics of thinking under a cap: arrays in, frozen results out; nothing here reads, writes or draws."""
