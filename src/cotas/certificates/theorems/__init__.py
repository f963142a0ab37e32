"""Theorems whose two sides are measured: mistakes, separation, rows held out."""
