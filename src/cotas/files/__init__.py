"""Reading tables, and saving and loading models without pickle."""
