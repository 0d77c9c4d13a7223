"""The nouns: flat, frozen records and values, validated when they are made; no I/O, clock or chance."""
