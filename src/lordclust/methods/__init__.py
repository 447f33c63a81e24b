"""The estimators, one file a method."""

from lordclust.methods.lord import BLoRD, LoRD

__all__ = ["BLoRD", "LoRD"]
