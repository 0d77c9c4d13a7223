"""Answers in words for a person: a module for each sort of answer, and what they are written with."""
