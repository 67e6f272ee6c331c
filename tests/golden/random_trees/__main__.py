"""Draws trees from a seed, and compares them here: `python -m random_trees --help`."""

import sys

import levels

from .recording import FILE, Recording

if __name__ == "__main__":
    sys.exit(levels.main("random_trees", "trees", "modules", FILE, Recording))
