"""Draws programs from a seed, and runs them here: `python -m random_programs --help`."""

import sys

import levels

from .recording import FILE, Recording

if __name__ == "__main__":
    sys.exit(levels.main("random_programs", "programs", "tensors", FILE, Recording))
