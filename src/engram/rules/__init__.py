"""The verbs: pure functions from what is, what is asked and now to a Change; they decide, engines apply."""
