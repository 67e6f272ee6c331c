#!/usr/bin/env python3
"""Measures a step of `examples/fashion_mnist.rs` and the same step in PyTorch, in turn.

Usage: python benches/peers/fashion_mnist.py [--threads 1,2] [--rounds 3] [--steps 60]

Needs cargo, a Python with torch and safetensors, and Fashion-MNIST (`examples/fetch_fashion_mnist.sh`). PyTorch uses the faster of its
memory formats, a fused optimizer and a `foreach` average, and augments a whole batch at once. First, both train from the same weights on the same
batches, and the losses are compared.
"""

import argparse
import gzip
import pathlib
import statistics
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn

BENCHES = pathlib.Path(__file__).resolve().parent.parent
DATA = BENCHES.parent / "target" / "fashion-mnist"
sys.path.insert(0, str(BENCHES / "peers" / "comparison"))

import programs  # noqa: E402

MEAN, STD, SIDE, PADDING, BATCH, STEPS = 0.2860, 0.3530, 28, 2, 128, 8 * 468


def block(channels_in, channels):
    convolution = nn.Conv2d(channels_in, channels, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ReLU())


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = block(channels, channels), block(channels, channels)

    def forward(self, x):
        return self.conv2(self.conv1(x)) + x


class FashionNet(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.stem, self.pool = block(1, widths[0]), nn.MaxPool2d(2)
        self.widen = nn.ModuleList(map(block, widths, widths[1:]))
        self.refine = nn.ModuleList(map(Residual, widths[1:]))
        self.head = nn.Linear(widths[-1], 10)

    def forward(self, x):
        x = self.stem(x)
        for widen, refine in zip(self.widen, self.refine):
            x = refine(widen(self.pool(x)))
        return self.head(x.amax((2, 3)))


class Training:
    """The training of the example, in one memory format."""

    def __init__(self, memory_format):
        torch.manual_seed(0)
        self.memory_format = memory_format
        self.model = FashionNet([16, 32, 64, 96]).to(memory_format=memory_format)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), 0.15, momentum=0.9, nesterov=True, weight_decay=5e-4, fused=True
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, 0.15, total_steps=STEPS, pct_start=0.25, anneal_strategy="linear"
        )
        self.average, self.updates = None, 0
        self.order, self.place = torch.empty(0, dtype=torch.int64), 0

    @torch.no_grad()
    def update_average(self):
        """An exponential average of parameters and statistics with a warmup."""
        values = [value for value in self.model.state_dict().values() if value.is_floating_point()]
        if self.average is None:
            self.average = [value.clone() for value in values]
        else:
            decay = min(1 - (1 + self.updates) ** (-2 / 3), 0.998)
            torch._foreach_lerp_(self.average, values, 1 - decay)
        self.updates += 1

    def step(self, images, labels):
        images = images.contiguous(memory_format=self.memory_format)
        loss = F.cross_entropy(self.model(images), labels, label_smoothing=0.1)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.update_average()
        return loss.item()

    def batch(self, data):
        """Randomly shifts images by up to two pixels and mirrors them, the whole batch at once."""
        images, labels = data
        if self.place + BATCH > len(self.order):
            self.order, self.place = torch.randperm(len(images)), 0
        chosen = self.order[self.place : self.place + BATCH]
        self.place += BATCH
        parts = F.pad(images[chosen], [PADDING] * 4)[:, 0].unfold(1, SIDE, 1).unfold(2, SIDE, 1)
        y, x = torch.randint(2 * PADDING + 1, (2, BATCH))
        moved = parts[torch.arange(BATCH), y, x].unsqueeze(1)
        mirrored = (torch.rand(BATCH) < 0.5).view(-1, 1, 1, 1)
        moved = torch.where(mirrored, moved.flip(3), moved)
        return (moved.to(torch.float32) / 255 - MEAN) / STD, labels[chosen]

    def time(self, data, steps):
        """The milliseconds of a step."""
        start = time.perf_counter()
        for _ in range(steps):
            self.step(*self.batch(data))
        return 1e3 * (time.perf_counter() - start) / steps


def read():
    """The training images and labels, as bytes and as numbers."""

    def idx(name, header):
        content = bytearray(gzip.decompress((DATA / f"train-{name}-ubyte.gz").read_bytes()))
        return torch.frombuffer(content, dtype=torch.uint8, offset=header)

    return idx("images-idx3", 16).view(-1, 1, SIDE, SIDE), idx("labels-idx1", 8).to(torch.int64)


def compare_losses(ours):
    """Trains on our first batches from our initial weights, in both memory formats.

    Rounding alone makes these first steps diverge quickly; the difference between PyTorch's own formats shows how much.
    """
    with tempfile.TemporaryDirectory() as directory:
        saved = load_file(ours.ask(str(pathlib.Path(directory) / "first.safetensors")))
    expected = saved.pop("losses")
    weights = {name: value for name, value in saved.items() if not name.startswith(("images", "labels"))}

    def losses(memory_format):
        training = Training(memory_format)
        training.model.load_state_dict(weights)
        return torch.tensor([training.step(saved[f"images.{i}"], saved[f"labels.{i}"]) for i in range(len(expected))])

    found, other = losses(torch.contiguous_format), losses(torch.channels_last)
    apart, own = (found - expected).abs(), (found - other).abs()
    if not (apart[0] < 1e-5 and apart[1] < 1e-3 and apart.max() < 0.1):
        raise SystemExit(f"losses differ: {found.tolist()} and {expected.tolist()}")
    return (
        f"losses of {len(found)} steps, {found[0]:.4f} to {found[-1]:.4f}, differ by {apart[0]:.0e}, {apart[1]:.0e} and at most "
        f"{apart.max():.0e}; PyTorch's in its two formats by {own[0]:.0e}, {own[1]:.0e} and at most {own.max():.0e}"
    )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", default="1,2", help="numbers of threads, each compared on its own")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60, help="of each program in each round")
    return parser.parse_args()


def main():
    options, data = arguments(), read()
    command = ["cargo", "bench", "-p", "module-benches", "--bench", "fashion_mnist", "--no-run"]
    command = [programs.executable(command, BENCHES, {}), str(DATA)]
    for threads in map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        ours = programs.Program(command, {"THREADS": str(threads)})
        print(f"{threads} thread(s): {compare_losses(ours)}")
        theirs = {
            "PyTorch": Training(torch.contiguous_format),
            "PyTorch, channels_last": Training(torch.channels_last),
        }
        run = {"ours": lambda steps: float(ours.ask(str(steps)))}
        run |= {name: lambda steps, of=training: of.time(data, steps) for name, training in theirs.items()}
        times = {name: [] for name in run}
        for name in run:
            run[name](3)
        for _ in range(options.rounds):
            for name, measured in times.items():
                measured.append(run[name](options.steps))
        medians = {name: statistics.median(measured) for name, measured in times.items()}
        for name, measured in times.items():
            each = " ".join(f"{value:.1f}" for value in measured)
            print(f"{name:24} {medians[name]:7.1f} ms a step ({each}), {medians[name] * STEPS / 8e3:.0f} s an epoch")
        best = min(median for name, median in medians.items() if name != "ours")
        print(f"PyTorch's time divided by ours: {best / medians['ours']:.2f}", flush=True)
        ours.process.stdin.close()
        ours.process.wait()


if __name__ == "__main__":
    main()
