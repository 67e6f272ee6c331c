"""The machine's peak performance, and its description."""

import datetime
import pathlib
import platform
import statistics
import subprocess
from importlib import metadata

# The work of the peer's rows with these names in one run.
MULTIPLY_ADDS = 2**30
BYTES = 2 * 2**28


def measure(candle):
    """The peak arithmetic and copy rates of the threads, measured with simple loops, or None without the peer."""
    if candle is None:
        return {}
    peak = statistics.median(candle.measure("machine: multiply-adds", 100) for _ in range(5))
    copy = statistics.median(candle.measure("machine: copy", 100) for _ in range(5))
    return {"gflops": 2 * MULTIPLY_ADDS / peak / 1e3, "gbytes": BYTES / copy / 1e3}


def describe():
    """The date, the CPU and the versions."""
    fields = {}
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    flags = [flag for flag in fields.get("flags", "").split() if flag.startswith(("avx", "fma", "amx", "f16c"))]
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    return {
        "date": datetime.date.today().isoformat(),
        "processor": fields.get("model name", platform.processor()),
        "family": fields.get("cpu family", ""),
        "model": fields.get("model", ""),
        "flags": " ".join(flags),
        "rustc": rustc,
        "torch": metadata.version("torch").partition("+")[0],
        "candle": "0.11.1",
    }
