"""How the figures are drawn: each function takes a result."""
