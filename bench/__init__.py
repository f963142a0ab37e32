"""Ratios against peers: the same work, side by side, in one run."""
