"""The only places a model runs."""
