"""Draws calls from a seed, and runs them here: `python -m random_calls --help`."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

from .families import FAMILIES
from .recording import FILE, Recording

ROOT = pathlib.Path(__file__).resolve().parents[3]
LEVELS = ["avx512", "avx2", "default"]


def arguments():
    parser = argparse.ArgumentParser(prog="random_calls", description="Compares random calls of operations with PyTorch.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--number", type=int, help="only the call with this number")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, metavar="FAMILY", help=" ".join(FAMILIES))
    parser.add_argument("--simd", nargs="+", choices=LEVELS, default=LEVELS, metavar="LEVEL", help=" ".join(LEVELS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--small", action="store_true", help="shapes of few elements, as in the recording of the tests")
    parser.add_argument("--folder", help="where the calls are written (otherwise to a temporary folder)")
    return parser.parse_args()


def record(given, folder):
    """Write the calls, and say what was noticed about PyTorch."""
    recording = Recording()
    for number in [given.number] if given.number is not None else range(given.cases):
        recording.add(given.seed, number, given.families, given.small)
    recording.write(folder / FILE)
    for reason, count in sorted(recording.refused.items()):
        print(f"  {count:5} refused by PyTorch: {reason}")
    for reason, count in sorted(recording.listed.items()):
        print(f"  {count:5} where PyTorch may differ: {reason}")
    for line in recording.far:
        print(f"  not listed in `different.py`: {line}")
    print(f"seed {given.seed}: {len(recording.cases)} calls")
    return bool(recording.far)


def agrees(folder, level, threads):
    """Whether our results of the calls agree."""
    settings = {"RANDOM_CALLS": str(folder), "RANDOM_CALLS_THREADS": str(threads), "MODULE_CPU_CAPABILITY": level}
    command = ["cargo", "test", "--quiet", "-p", "module-tests", "--test", "tensors", "random_calls::"]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True)
    print(f"{level}, threads {threads}: {'no differences' if result.returncode == 0 else 'differences'}")
    if result.returncode:
        print(result.stdout + result.stderr)
    return result.returncode == 0


def main():
    given = arguments()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    folder = pathlib.Path(given.folder or tempfile.mkdtemp(prefix="random_calls")).resolve()
    far = record(given, folder)
    agreed = [agrees(folder, level, threads) for level in given.simd for threads in given.threads]
    if not all(agreed):
        print(f"the calls are in {folder}")
    return 0 if all(agreed) and not far else 1


if __name__ == "__main__":
    sys.exit(main())
