#!/usr/bin/env python3
"""Measures the initialization of layers and models in PyTorch, in turn with `benches/init.rs`, and prints the ratios.

Needs a Python with torch and torchvision. Usage: python benches/peers/init.py
"""

import re
import subprocess
import time

import torch
import torchvision
from torch import nn

ROUNDS, WIDTH = 7, 768


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = nn.ModuleDict({"c_attn": nn.Linear(WIDTH, 3 * WIDTH), "c_proj": nn.Linear(WIDTH, WIDTH)})
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.ModuleDict({"c_fc": nn.Linear(WIDTH, 4 * WIDTH), "c_proj": nn.Linear(4 * WIDTH, WIDTH)})


class Gpt2(nn.Module):
    """The members of GPT-2 with 124 million parameters, and its initialization."""

    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(50257, WIDTH)
        self.wpe = nn.Embedding(1024, WIDTH)
        self.h = nn.ModuleList(Block() for _ in range(12))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.apply(self.draw)

    @staticmethod
    def draw(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, 0.0, 0.02)
        if isinstance(module, nn.Linear):
            nn.init.zeros_(module.bias)


def milliseconds(run):
    """The minimum time of several rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        # CPU time, which other programs affect less.
        start = time.thread_time()
        result = run()
        least = min(least, time.thread_time() - start)
        del result
    return 1e3 * least


def theirs():
    return {
        "Linear(4096, 4096)": milliseconds(lambda: nn.Linear(4096, 4096)),
        "normal_, 16 Mi numbers": milliseconds(lambda: torch.randn(1 << 24)),
        "uniform_, 16 Mi numbers": milliseconds(lambda: torch.rand(1 << 24)),
        "ResNet-18": milliseconds(torchvision.models.resnet18),
        "GPT-2 124M": milliseconds(Gpt2),
    }


def ours():
    command = ["cargo", "bench", "-q", "-p", "module-benches", "--bench", "init"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in re.findall(r"^(.*?)\s+([\d.]+) ms", output, re.MULTILINE)}


def main():
    torch.set_num_threads(1)
    best = [{}, {}]
    for _ in range(3):
        for least, run in zip(best, (ours, theirs)):
            for name, value in run().items():
                least[name] = min(value, least.get(name, float("inf")))
    for name, mine in best[0].items():
        other = best[1].get(name)
        beside = f"{other:9.2f} ms {mine / other:6.2f}" if other else ""
        print(f"{name:32} {mine:9.2f} ms {beside}")


if __name__ == "__main__":
    main()
