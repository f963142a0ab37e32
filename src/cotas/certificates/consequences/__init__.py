"""What follows from a gap: where the optimum lies, what it predicts, what holds between two λ."""
