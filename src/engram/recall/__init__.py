"""From a question to a short list: gather, weigh, cut and explain; and a context that fits a budget."""
