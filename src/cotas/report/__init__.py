"""A report on a fitted model, as one HTML file that one would hand to a colleague."""
