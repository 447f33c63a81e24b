"""Speed and quality, side by side in one run: ``make bench``."""
