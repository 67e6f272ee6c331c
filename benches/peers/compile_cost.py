#!/usr/bin/env python3
"""Measures the compile time of `#[derive(Module)]` and of Burn's derive.

For each framework a crate is generated with 100 and with 400 derived structs of eight fields, each
used once, and compiled several times with prebuilt dependencies. The cost of a struct is the
difference of the two medians divided by 300, so that the fixed cost of a crate cancels out.

Needs Python 3 and cargo. Usage: python3 benches/peers/compile_cost.py [--help]
"""

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SMALL, LARGE = 100, 400
COMMANDS = {
    "check": ["check"],
    "dev build": ["build"],
    "release build": ["build", "--release"],
}
CUTS = re.compile(r"// Each struct:\n|// Saved and loaded:\n")
OURS = """\
[package]
name = "ours-peer"
version = "0.0.0"
edition = "2024"

[lib]
path = "derived.rs"

[dependencies]
module-nn = {{ path = '{path}' }}

[workspace]
"""


class Crate:
    """A generated crate of one framework."""

    def __init__(self, name, template, folder, options):
        self.name, self.folder, self.options = name, folder, options
        once, each, reload = CUTS.split(template.read_text(encoding="utf-8"))
        self.once = once
        self.each = each + reload if options.reload else each

    def write(self, structs):
        """Writes the crate with this many structs."""
        text = [self.once]
        for i in range(structs):
            text.append(re.sub(r"\bNet\b", f"Net{i}", re.sub(r"_net\b", f"_net{i}", self.each)))
        (self.folder / "derived.rs").write_text("".join(text), encoding="utf-8")

    def cargo(self, arguments):
        """Runs cargo in the crate; returns the seconds."""
        command = ["cargo", *arguments, "-j", str(self.options.jobs), "--offline", "--quiet"]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, env=self.environment(), capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            sys.exit(f"{self.name}: `{' '.join(command)}` failed\n{done.stderr}")
        return seconds

    def environment(self):
        """No state is kept between compilations of the crate."""
        return {
            **os.environ,
            "CARGO_INCREMENTAL": "0",
            "CARGO_TARGET_DIR": str(self.options.target / self.name),
        }

    def measure(self, arguments):
        """The seconds of one compilation of the crate alone."""
        os.utime(self.folder / "derived.rs")
        return self.cargo(arguments)

    def version(self, package):
        """The version of a dependency, from the lock file."""
        lock = (self.folder / "Cargo.lock").read_text(encoding="utf-8")
        return re.search(rf'name = "{package}"\nversion = "([^"]*)"', lock)[1]


def ours(folder, options):
    """Our crate: the workspace's versions, the framework by its path."""
    folder.mkdir()
    manifest = OURS.format(path=ROOT / "module-nn")
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", folder)
    return Crate("module-nn", ROOT / "benches" / "derived.rs", folder, options)


def burn(folder, options):
    """Burn's crate, with the committed lock file."""
    folder.mkdir()
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(HERE / "burn" / name, folder)
    return Crate("burn", HERE / "burn" / "derived.rs", folder, options)


def fetch(crate):
    """Downloads the crate's dependencies, so that everything else runs offline."""
    crate.write(1)
    done = subprocess.run(["cargo", "fetch", "--quiet"], cwd=crate.folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{crate.name}: `cargo fetch` failed\n{done.stderr}")


def measure(crates, options):
    """{(command, crate, structs): [seconds]}, with crates and sizes in turn."""
    times = {}
    for command, arguments in COMMANDS.items():
        for crate in crates:
            crate.write(1)
            print(f"{crate.name}: dependencies for {command}: {crate.cargo(arguments):.0f} s", flush=True)
        for _ in range(options.runs):
            for structs in (SMALL, LARGE):
                for crate in crates:
                    crate.write(structs)
                    seconds = crate.measure(arguments)
                    times.setdefault((command, crate.name, structs), []).append(seconds)
                    print(f"{crate.name}: {command} of {structs} structs: {seconds:.2f} s", flush=True)
    return times


def per_struct(times, command, name):
    """Milliseconds per struct, and its variation between runs in either direction."""
    small, large = (times[command, name, structs] for structs in (SMALL, LARGE))
    scale = 1000 / (LARGE - SMALL)
    cost = (statistics.median(large) - statistics.median(small)) * scale
    noise = (max(large) - min(large) + max(small) - min(small)) / 2 * scale
    return cost, noise


def report(times, crates):
    """The table, as Markdown."""
    mine, peer = (crate.name for crate in crates)
    yield f"| command | {mine}, ms a struct | {peer}, ms a struct | ratio |"
    yield "|---|---|---|---|"
    for command in COMMANDS:
        (cost, noise), (other, other_noise) = (per_struct(times, command, name) for name in (mine, peer))
        yield f"| {command} | {cost:.1f} ± {noise:.1f} | {other:.1f} ± {other_noise:.1f} | {cost / other:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="runs of each measurement (3)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cargo's -j (all cores)")
    parser.add_argument("--reload", action="store_true", help="each struct is also saved to a record and loaded")
    parser.add_argument("--target", type=Path, help="keeps the built dependencies in this folder for another run")
    parser.add_argument("--keep", action="store_true", help="keeps the generated crates")
    options = parser.parse_args()

    folder = Path(tempfile.mkdtemp(prefix="compile-cost-"))
    options.target = options.target.resolve() if options.target else folder / "target"
    try:
        crates = [ours(folder / "ours", options), burn(folder / "burn", options)]
        for crate in crates:
            fetch(crate)
        rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
        versions = ", ".join(f"{crate.name} {crate.version(crate.name)}" for crate in crates)
        times = measure(crates, options)
        use = "counted, saved and loaded" if options.reload else "counted"
        print(f"\nrustc {rustc}, {platform.machine()}, {options.jobs} jobs, {versions}; {options.runs} runs; {use}\n")
        print("\n".join(report(times, crates)))
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
