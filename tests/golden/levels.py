"""Runs recorded random calls, programs or networks here, with each level of vector instructions and with several threads."""

import argparse
import os
import pathlib
import subprocess
import tempfile
import warnings

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVELS = ["avx512", "avx2", "default"]


def parser(tests, counted):
    """The arguments of `python -m <tests>`, which draws so many of what is `counted`."""
    made = argparse.ArgumentParser(prog=tests, description=f"Compares random {counted} with PyTorch.")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--number", type=int, help="only the one with this number")
    made.add_argument("--simd", nargs="+", choices=LEVELS, default=LEVELS, metavar="LEVEL", help=" ".join(LEVELS))
    made.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    made.add_argument("--folder", help="where the file is written (otherwise to a temporary folder)")
    return made


def prepare(tests, given):
    """The folder for the file."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    return pathlib.Path(given.folder or tempfile.mkdtemp(prefix=tests)).resolve()


def main(tests, counted, binary, file, recording):
    """Record and run; the exit status."""
    arguments = parser(tests, counted)
    arguments.add_argument(f"--{counted}", dest="count", type=int, default=1000)
    given = arguments.parse_args()
    folder, made = prepare(tests, given), recording()
    for number in [given.number] if given.number is not None else range(given.count):
        made.add(given.seed, number)
    made.write(folder / file)
    for reason, count in sorted(made.refused.items()):
        print(f"  {count:5} left out: {reason}")
    print(f"seed {given.seed}: {len(made.cases)} {counted}")
    return 0 if agree(tests, binary, folder, given) else 1


def agree(tests, binary, folder, given):
    """Whether our results agree with the file in `folder`, which the module `tests` of the test program `binary` runs."""
    agreed = [agrees(tests, binary, folder, level, threads) for level in given.simd for threads in given.threads]
    if not all(agreed):
        print(f"the file is in {folder}")
    return all(agreed)


def agrees(tests, binary, folder, level, threads):
    variable = tests.upper()
    settings = {variable: str(folder), f"{variable}_THREADS": str(threads), "MODULE_CPU_CAPABILITY": level}
    command = ["cargo", "test", "--quiet", "-p", "module-tests", "--test", binary, f"{tests}::"]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True)
    print(f"{level}, threads {threads}: {'no differences' if result.returncode == 0 else 'differences'}")
    if result.returncode:
        print(result.stdout + result.stderr)
    return result.returncode == 0
