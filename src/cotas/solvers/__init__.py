"""One algorithm a file, named as the source documents name it: data in, model and witness out."""
