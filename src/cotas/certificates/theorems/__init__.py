"""Theorems that are not weak duality: each measures both sides of its inequality on the data."""
