"""The trusted part: NumPy and the standard library only, numbers only, no prose for users."""
