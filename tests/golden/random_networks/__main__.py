"""Draws networks from a seed, and trains them here: `python -m random_networks --help`."""

import sys

import levels

from .recording import FILE, Recording

if __name__ == "__main__":
    sys.exit(levels.main("random_networks", "networks", "training", FILE, Recording))
