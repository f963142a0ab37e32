"""Choosing a model by data it has not seen: validation, learning curves, bias and variance."""
