"""Draws programs from a seed, and runs them here: `python -m random_programs --help`."""

import argparse
import pathlib
import sys
import tempfile
import warnings

import torch

import levels

from .recording import FILE, Recording


def arguments():
    parser = argparse.ArgumentParser(prog="random_programs", description="Compares random programs with PyTorch.")
    levels.add_arguments(parser)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--number", type=int, help="only the program with this number")
    parser.add_argument("--folder", help="where the programs are written (otherwise to a temporary folder)")
    return parser.parse_args()


def record(given, folder):
    recording = Recording()
    for number in [given.number] if given.number is not None else range(given.programs):
        recording.add(given.seed, number)
    recording.write(folder / FILE)
    for reason, count in sorted(recording.refused.items()):
        print(f"  {count:5} left out: {reason}")
    print(f"seed {given.seed}: {len(recording.cases)} programs")


def main():
    given = arguments()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = pathlib.Path(given.folder or tempfile.mkdtemp(prefix="random_programs")).resolve()
    record(given, folder)
    return 0 if levels.agree("random_programs", folder, given) else 1


if __name__ == "__main__":
    sys.exit(main())
