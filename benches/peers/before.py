#!/usr/bin/env python3
"""Compares the benchmarks `module` and `tensor` of two builds and PyTorch's, in alternating rounds.

Needs a Python with torch, and two builds of the benches, built by `cargo bench -p module-benches --no-run`:
python benches/peers/before.py BEFORE AFTER [ROUNDS [FILTER]]
where BEFORE and AFTER are target directories. Prints the minimum of each time over the rounds, in nanoseconds.
"""

import os
import pathlib
import re
import subprocess
import sys

BENCHES = ["module", "tensor"]
# Our names, and the names in PyTorch's lists.
PEERS = {
    "call/forward": "call: forward",
    "call/call": "call: __call__",
    "call/call, a hook elsewhere": "call: __call__, a hook elsewhere",
    "call/call, an empty hook": "call: __call__, an empty hook",
    "one element/add, untracked": "add, untracked",
    "one element/add, tracked": "add, tracked",
    "one element/mul by a number": "mul by a number",
    "training step, MLP 2-16-1, batch 8, SGD": "training step",
}
UNITS = {"ps": 1e-3, "ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


def newest(target, bench):
    """The most recently built program of the benchmark."""
    programs = pathlib.Path(target, "release", "deps").resolve().glob(f"{bench}-*")
    return max((p for p in programs if not p.suffix and os.access(p, os.X_OK)), key=lambda p: p.stat().st_mtime)


def ours(program, pattern):
    """The median times printed by criterion."""
    command = [program, "--bench", "--noplot", "--measurement-time", "1", "--warm-up-time", "0.5", *pattern]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=program.parents[2]).stdout
    times = re.finditer(r"^(.+?)\s*time:\s+\[[\d.]+ \S+ ([\d.]+) (\S+) ", text, re.MULTILINE)
    return {m[1].strip(): float(m[2]) * UNITS[m[3]] for m in times}


def pytorch(bench):
    """The times printed by the peer."""
    peer = pathlib.Path(__file__).with_name(f"{bench}.py")
    text = subprocess.run([sys.executable, peer], capture_output=True, text=True, check=True).stdout
    return {m[1].strip(): float(m[2]) for m in re.finditer(r"^(.+?)\s+([\d.]+)(?: ns)?$", text, re.MULTILINE)}


def main():
    before, after, *rest = sys.argv[1:]
    rounds, pattern = int(rest[0]) if rest else 5, rest[1:]
    times = {"before": {}, "after": {}, "PyTorch": {}}
    for _ in range(rounds):
        for bench in BENCHES:
            measured = [
                ("before", ours(newest(before, bench), pattern)),
                ("after", ours(newest(after, bench), pattern)),
                ("PyTorch", pytorch(bench)),
            ]
            for side, values in measured:
                for name, value in values.items():
                    times[side].setdefault(name, []).append(value)
    print(f"{'':48} {'before':>12} {'after':>12} {'ratio':>6} {'PyTorch':>12}")
    for name, values in times["after"].items():
        if name not in times["before"]:
            continue
        old, new = (min(times[side][name]) for side in ("before", "after"))
        peer = times["PyTorch"].get(PEERS.get(name, name))
        peer = f"{min(peer):12.1f}" if peer else ""
        print(f"{name:48} {old:12.1f} {new:12.1f} {new / old:6.2f} {peer}")


if __name__ == "__main__":
    main()
