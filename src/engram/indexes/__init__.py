"""Where words and vectors may rest outside the engine, to find candidates among very many."""
