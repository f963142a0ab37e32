"""Boosted classifiers: AdaBoost and its relatives, each with its certificate."""
