"""What every estimator needs around its solver: reading data, parameters, threads, progress."""
