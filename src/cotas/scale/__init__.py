"""Rows that are not arrays of this process: pages on disk, and other machines."""
