"""Linear models of a real target: least squares and ridge."""
