"""Linear classifiers: thin estimators with scikit-learn's conventions; no mathematics here."""
