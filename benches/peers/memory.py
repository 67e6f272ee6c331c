#!/usr/bin/env python3
"""The memory of a training step of a transformer encoder in PyTorch: the peer of `benches/memory.rs`.

PyTorch's profiler counts the allocations of its CPU allocator, in a separate process, because the profiler itself needs memory.
Needs a Python with torch. Usage: python benches/peers/memory.py
"""

import subprocess
import sys

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, HIDDEN, BATCH, LENGTH = 12, 256, 4, 1024, 8, 128


class EncoderLayer(nn.Module):
    """A pre-norm layer."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.in_proj = nn.Linear(WIDTH, 3 * WIDTH)
        self.out_proj = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.linear1 = nn.Linear(WIDTH, HIDDEN)
        self.linear2 = nn.Linear(HIDDEN, WIDTH)

    def attention(self, x):
        q, k, v = (y.reshape(BATCH, LENGTH, HEADS, -1).transpose(1, 2) for y in self.in_proj(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out_proj(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x))))


def resident(name):
    """A line of the system's status of this process, in MiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024


def train(mark):
    torch.manual_seed(0)
    model = nn.Sequential(*(EncoderLayer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=True)
    x = torch.randn(BATCH, LENGTH, WIDTH)
    mark("model and input")
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).mean()
        mark("forward")
        loss.backward()
        del loss
        mark("backward")
        optimizer.step()
        mark("AdamW")


def live():
    """The peak number of live bytes in each part, measured by the profiler."""
    marks = []

    def mark(name):
        # The event that separates the parts.
        with torch.profiler.record_function(f"mark {len(marks)}"):
            marks.append(name)

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        train(mark)
    sizes, ends, open_events = [], {}, list(profile.profiler.kineto_results.experimental_event_tree())
    while open_events:
        event = open_events.pop()
        open_events.extend(event.children)
        if event.name.startswith("mark "):
            ends[int(event.name.split()[1])] = event.start_time_ns
        elif type(event.extra_fields).__name__ == "_ExtraFields_Allocation":
            sizes.append((event.start_time_ns, event.extra_fields.total_allocated))
    sizes.sort()
    start = 0
    for i, name in enumerate(marks):
        peak = max((size for time, size in sizes if start <= time < ends[i]), default=0)
        start = ends[i]
        print(f"{name:30} {peak / 2**20:8.1f} MiB")


def main():
    torch.set_num_threads(1)
    if sys.argv[1:] == ["live"]:
        return live()
    subprocess.run([sys.executable, __file__, "live"], check=True)
    before = resident("VmRSS:")
    train(lambda _: None)
    peak = resident("VmHWM:")
    print(f"resident at most {peak:.1f} MiB, {peak - before:.1f} MiB more than before the model")


if __name__ == "__main__":
    main()
