"""Rows by name, and what is measured of them: the time, or the peak of memory."""

import ctypes
import gc
import math
import os
import pathlib
import statistics
import sys
import time

import torch


# How often the work is run whose peak of memory the system counts.
RUNS = 5


class Rows:
    """The rows, in order: each name with the function that prepares its work."""

    def __init__(self):
        self.makers, self.made = {}, {}

    def add(self, name, make):
        """Adds a row; `make` prepares its tensors and returns the work to measure, or a list of equivalent ways to do it."""
        self.makers[name] = make

    def both(self, name, shapes, f):
        """Adds `f` of random tensors of these shapes, without a graph, and with the gradients of all of them."""
        self.both_of(name, lambda: [torch.randn(*shape) for shape in shapes], f)

    def both_of(self, name, inputs, f):
        """The same with tensors from `inputs`."""
        self.add(name, lambda: forward(f, inputs()))
        self.backward_of(name, inputs, f)

    def backward_of(self, name, inputs, f):
        """Adds `f` of tensors from `inputs` with the gradients of all that are floating-point."""
        self.add(f"{name}, and backward", lambda: backward(f, [x.requires_grad_(x.is_floating_point()) for x in inputs()]))

    def time(self, name, milliseconds):
        """The median microseconds of the row's work, run for this long."""
        if name not in self.made:
            self.made[name] = find_fastest(self.makers[name]())
        return f"{median_time(self.made[name], milliseconds / 1e3):.4f}"

    def memory(self, name, _):
        """The peak of bytes in the row's work; of several ways to do it, in the one that needs the least."""
        return min(map(peak_of_memory, ways(self.makers[name]())))

    def resident(self, name, _):
        """The peak of the process's own memory in the first runs of the row's work; of several ways to do it, in the one that
        needs the least. Each runs in a process of its own, since libraries keep memory."""
        peaks, way = [], 0
        while (peak := in_a_child(lambda: peak_of_process(ways(self.makers[name]())[way:]))) is not None:
            peaks.append(peak)
            way += 1
        return min(peaks)

    def serve(self, measure):
        """Answers requests until the input ends: `list`, or a name and milliseconds separated by a tab."""
        for line in sys.stdin:
            name, tab, milliseconds = line.rstrip("\n").partition("\t")
            if not tab:
                print("\t".join(self.makers), flush=True)
            elif name in self.makers:
                print(measure(name, float(milliseconds)), flush=True)
            else:
                print("none", flush=True)


def no_grad(f):
    """`f` without a graph."""

    def run():
        with torch.no_grad():
            return f()

    return run


def forward(f, inputs):
    """The work of a forward pass."""
    return no_grad(lambda: f(*inputs))


def backward(f, leaves, parameters=()):
    """The work of a forward and a backward pass, with gradients of ones."""
    with torch.no_grad():
        grad = torch.ones_like(f(*leaves))

    def run():
        for leaf in (*leaves, *parameters):
            leaf.grad = None
        f(*leaves).backward(grad)

    return run


def ways(work):
    """The ways to do a row's work: one, or a list whose elements may be lists."""
    return [way for part in work for way in ways(part)] if isinstance(work, list) else [work]


def find_fastest(work):
    """The fastest way to do a row's work, each tried for a tenth of a second."""
    works = ways(work)
    for way in works:
        way()
    return min(works, key=lambda way: median_time(way, 0.1)) if len(works) > 1 else works[0]


def peak_of_memory(work):
    """The peak of live bytes in a run of `work`, above the fewest: those left when the run before is cleared away.

    The profiler counts what PyTorch's CPU allocator hands out. It knows only what was allocated under it, so both runs are.
    """
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
        with torch.profiler.record_function("measured"):
            work()
    changes, start, events = [], None, list(profile.profiler.kineto_results.experimental_event_tree())
    while events:
        event = events.pop()
        events.extend(event.children)
        if event.name == "measured":
            start = event.start_time_ns
        elif type(event.extra_fields).__name__ == "_ExtraFields_Allocation":
            changes.append((event.start_time_ns, event.extra_fields.total_allocated))
    changes.sort()
    before = [live for time, live in changes if time < start]
    live = (before or [0])[-1:] + [live for time, live in changes if time >= start]
    return max(live) - min(live)


def in_a_child(measure):
    """The number that `measure` returns in a copy of this process, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(measure()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return None if answer == "None" else int(answer)


def peak_of_process(works):
    """The peak of this process's own memory in runs of the first of `works`, above that before, or None without any."""
    if not works:
        return None
    # What was freed while the work was prepared goes back to the system, or runs would use it uncounted.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = memory_of_process("RssAnon")
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    for _ in range(RUNS):
        works[0]()
    return memory_of_process("VmHWM") - memory_of_process("RssFile") - before


def memory_of_process(key):
    """Bytes that the system counts for this process."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


def median_time(work, seconds):
    """The median microseconds of one run, over samples of at least 20 each."""
    begin = time.perf_counter()
    work()
    runs = max(1, math.ceil(20e-6 / (time.perf_counter() - begin)))
    begin, samples = time.perf_counter(), []
    while len(samples) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        for _ in range(runs):
            work()
        samples.append((time.perf_counter() - start) / runs)
    return statistics.median(samples) * 1e6
