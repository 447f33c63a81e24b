"""The estimators, one file a method."""
