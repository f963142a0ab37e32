"""From tables with columns of every kind to the matrices that the estimators take, and back."""
