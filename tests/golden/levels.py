"""Runs recorded random calls or programs here, with each level of vector instructions and with several threads."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEVELS = ["avx512", "avx2", "default"]


def add_arguments(parser):
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--simd", nargs="+", choices=LEVELS, default=LEVELS, metavar="LEVEL", help=" ".join(LEVELS))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])


def agree(tests, folder, given):
    """Whether our results agree with the file in `folder`, which the tests `tests` run."""
    agreed = [agrees(tests, folder, level, threads) for level in given.simd for threads in given.threads]
    if not all(agreed):
        print(f"the file is in {folder}")
    return all(agreed)


def agrees(tests, folder, level, threads):
    variable = tests.upper()
    settings = {variable: str(folder), f"{variable}_THREADS": str(threads), "MODULE_CPU_CAPABILITY": level}
    command = ["cargo", "test", "--quiet", "-p", "module-tests", "--test", "tensors", f"{tests}::"]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | settings, capture_output=True, text=True)
    print(f"{level}, threads {threads}: {'no differences' if result.returncode == 0 else 'differences'}")
    if result.returncode:
        print(result.stdout + result.stderr)
    return result.returncode == 0
