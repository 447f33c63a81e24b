"""Choosing shares, tau and the number of clusters without labels."""
