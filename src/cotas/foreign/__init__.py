"""Certificates for fitted models, ours and those of other libraries, from the data alone."""
