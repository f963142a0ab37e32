"""Reading tables and sparse files, and saving and loading models."""
