#!/usr/bin/env python3
"""Measures a checkpoint of 1 GiB in `safetensors.torch`, in turn with `benches/checkpoint.rs`, and prints the ratios.

Needs a Python with torch and safetensors, and 3 GiB of space in a directory. Usage: python benches/peers/checkpoint.py DIRECTORY
"""

import os
import pathlib
import re
import subprocess
import sys
import time

import torch
from safetensors.torch import load_file, save_file
from torch import nn

MATRICES, SIDE, ROUNDS = 64, 2048, 5


class Model(nn.Module):
    """64 matrices of 16 MiB."""

    def __init__(self, value):
        super().__init__()
        self.weights = nn.ParameterList(torch.full((SIDE, SIDE), value) for _ in range(MATRICES))


def milliseconds(run):
    """The minimum time of several rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = run()
        least = min(least, time.perf_counter() - start)
        del result
    return 1e3 * least


def theirs(directory):
    path, saved = directory / "bench-checkpoint-torch.safetensors", directory / "bench-checkpoint-again.safetensors"
    save_file(Model(0.5).state_dict(), path)

    def save():
        # It renames, but does not sync to disk.
        save_file(state, saved)
        for name, flags in ((saved, os.O_RDONLY), (directory, os.O_RDONLY | os.O_DIRECTORY)):
            file = os.open(name, flags)
            os.fsync(file)
            os.close(file)

    model, state = Model(0.0), Model(0.25).state_dict()
    times = {
        "open, mapped": milliseconds(lambda: load_file(path)),
        # PyTorch's deferred model is on the meta device, and accepts tensors only by assignment.
        "load into a deferred model, copying": milliseconds(lambda: model.load_state_dict(load_file(path))),
        "load into a deferred model, borrowing": milliseconds(lambda: model.load_state_dict(load_file(path), assign=True)),
        "save": milliseconds(save),
    }
    path.unlink()
    saved.unlink()
    return times


def ours(directory):
    command = ["cargo", "bench", "-q", "-p", "module-benches", "--bench", "checkpoint", "--", directory]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = re.findall(r"^(.*?)\s+([\d.]+) ms", output, re.MULTILINE)
    times = {}
    for name, value in lines:
        times[name] = min(float(value), times.get(name, float("inf")))
    return times


def main():
    directory = pathlib.Path(sys.argv[1]).resolve()
    best = [{}, {}]
    for _ in range(2):
        for least, run in zip(best, (ours, theirs)):
            for name, value in run(directory).items():
                least[name] = min(value, least.get(name, float("inf")))
    for name, mine in best[0].items():
        other = best[1].get(name)
        beside = f"{other:9.2f} ms {mine / other:6.2f}" if other else ""
        print(f"{name:32} {mine:9.2f} ms {beside}")


if __name__ == "__main__":
    main()
