#!/usr/bin/env python3
"""Measures the cost of the first build of a program with `module-nn`.

A program of a few lines is generated outside the workspace, with the workspace's versions of all
dependencies, and built from scratch in each of the named ways. The compiler is called through a
small wrapper that records the time for each crate.

With `--ir` the crates of this workspace are compiled again, as in the first named build, to
unoptimized LLVM IR: its lines are the work for LLVM, and unlike seconds they do not vary between
runs. It uses one codegen unit, so that nothing is counted twice.

With `--steps` the program trains a small transformer (benches/steps.rs) and is run, to show the
effect of each profile.

`--record FOLDER` only writes the wrapper there: cargo called with RUSTC_WRAPPER=FOLDER/wrapper records
what it compiles, and `--recorded FOLDER` reports that instead of a build of its own.

Needs Python 3 and cargo. Usage: python3 benches/peers/build_cost.py [--help]
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("module-core-derive", "module-tensor", "module-core", "module-nn")
OPTIMIZED = """
[profile.dev.package."*"]
opt-level = 3
"""
OURS_OPTIMIZED = "".join(
    f"\n[profile.dev.package.{package}]\nopt-level = 3\ndebug-assertions = false\noverflow-checks = false\n"
    for package in OURS
    if package != "module-core-derive"
)
# Cargo's arguments, the dependency's keys other than its path, and the profile.
BUILDS = {
    "release": (["--release"], "", ""),
    "lean": (["--release"], ", default-features = false", ""),
    "dev": ([], "", ""),
    "dev-optimized": ([], "", OPTIMIZED),
    "dev-ours-optimized": ([], "", OURS_OPTIMIZED),
    "lto-off": (["--release"], "", '\n[profile.release]\nlto = "off"\n'),
}
MANIFEST = """\
[package]
name = "hello"
version = "0.0.0"
edition = "2024"

[dependencies]
module-nn = {{ path = '{path}'{features} }}

[workspace]
{profile}"""
PROGRAM = """\
use module_nn::prelude::*;

fn main() -> Result<()> {
    let layer = Linear::new(2, 1)?;
    println!("{}", layer.call(Tensor::ones([3, 2], DType::F32)?)?);
    Ok(())
}
"""
# The wrapper is called with the compiler and its arguments.
WRAPPER = """\
#!{python} -IS
import json, os, sys
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
if "CARGO_PKG_NAME" in os.environ:
    record = dict(
        package=os.environ["CARGO_PKG_NAME"],
        version=os.environ["CARGO_PKG_VERSION"],
        seconds=used.ru_utime + used.ru_stime,
    )
    if os.environ["CARGO_PKG_NAME"] in {ours}:
        record.update(arguments=sys.argv[1:], folder=os.getcwd(), environment=dict(os.environ))
    with open({records!r}, "a") as records:
        records.write(json.dumps(record) + "\\n")
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Recorded:
    """The compiler's calls that the wrapper in a folder has recorded."""

    def __init__(self, folder):
        self.folder, self.units = folder, []
        self.records, self.wrapper = folder / "records", folder / "wrapper"

    def write_wrapper(self):
        text = WRAPPER.format(python=sys.executable, ours=OURS, records=str(self.records))
        self.wrapper.write_text(text, encoding="utf-8")
        self.wrapper.chmod(0o755)

    def read(self):
        lines = self.records.read_text(encoding="utf-8").splitlines() if self.records.exists() else []
        self.units = [json.loads(line) for line in lines]

    def missing(self):
        """Our packages that were not compiled."""
        found = {unit["package"] for unit in self.units}
        return [package for package in OURS if package not in found]

    def seconds_of(self, package):
        """The compile time of a package, including its build script."""
        return sum(unit["seconds"] for unit in self.units if unit["package"] == package)

    def functions_of(self, package):
        """{name: (copies, lines)} of the LLVM IR of a package."""
        unit = next(unit for unit in self.units if unit["package"] == package)
        folder = self.folder / f"ir-{package}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        arguments = iter(unit["arguments"])
        command = []
        for argument in arguments:
            if argument == "--out-dir":
                next(arguments)
            elif not argument.startswith(("--emit", "--error-format", "--json")):
                command.append(argument)
        command += ["--emit=llvm-ir", "--out-dir", str(folder), "-Cno-prepopulate-passes", "-Ccodegen-units=1"]
        done = subprocess.run(command, cwd=unit["folder"], env=unit["environment"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{package}: the compiler failed\n{done.stderr}")
        functions = {}
        for file in folder.glob("*.ll"):
            count(file, functions)
        return functions


class Build(Recorded):
    """A build of the program from scratch."""

    def __init__(self, name, folder, options):
        super().__init__(folder / name)
        self.name, self.options = name, options
        self.arguments, features, profile = BUILDS[name]
        (self.folder / "src").mkdir(parents=True)
        manifest = MANIFEST.format(path=ROOT / "module-nn", features=features, profile=profile)
        (self.folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
        steps = ROOT / "benches" / "steps.rs"
        program = steps.read_text(encoding="utf-8") if options.steps else PROGRAM
        (self.folder / "src" / "main.rs").write_text(program, encoding="utf-8")
        shutil.copy(ROOT / "Cargo.lock", self.folder)
        self.write_wrapper()

    def environment(self):
        """A user's environment, without flags, profiles or caches of the person who measures.

        Crates from a registry are never compiled incrementally; those in a directory would be.
        """
        own = ("CARGO_PROFILE_", "CARGO_INCREMENTAL", "CARGO_TARGET_", "CARGO_BUILD_", "RUSTC_", "RUSTFLAGS")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        own = {"CARGO_TARGET_DIR": str(self.folder / "target"), "RUSTC_WRAPPER": str(self.wrapper)}
        return {**kept, **own, "CARGO_INCREMENTAL": "0"}

    def cargo(self, arguments):
        """Runs cargo for the program."""
        command = ["cargo", *arguments, "--quiet"]
        done = subprocess.run(command, cwd=self.folder, env=self.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{self.name}: `{' '.join(command)}` failed\n{done.stderr}")

    def run(self):
        """Builds the program; everything else is computed afterwards."""
        self.cargo(["fetch", "--target", host()])
        before, start = processor_seconds(), time.perf_counter()
        self.cargo(["build", *self.arguments, "-j", str(self.options.jobs), "--offline"])
        self.wall = time.perf_counter() - start
        self.seconds = processor_seconds() - before
        profile = "release" if "--release" in self.arguments else "debug"
        suffix = ".exe" if os.name == "nt" else ""
        program = self.folder / "target" / profile / f"hello{suffix}"
        self.size = program.stat().st_size
        runs = [subprocess.run([program], capture_output=True, text=True, check=True) for _ in range(2)]
        self.step = min(float(run.stdout) for run in runs) if self.options.steps else None
        self.read()
        # Excluding the program itself.
        self.packages = {(unit["package"], unit["version"]) for unit in self.units} - {("hello", "0.0.0")}


def count(file, functions):
    """Adds the functions of an LLVM IR file to {name: (copies, lines)}."""
    name, comment, lines = None, "", 0
    with open(file, encoding="utf-8", errors="replace") as text:
        for line in text:
            if line.startswith("; ") and not line.startswith("; Function Attrs"):
                comment = line[2:].strip()
            elif line.startswith("define "):
                # The compiler writes the demangled name in the line above.
                name, lines = comment, 0
            elif line.startswith("}") and name is not None:
                copies, before = functions.get(name, (0, 0))
                functions[name] = (copies + 1, before + lines)
                name = None
            else:
                lines += 1


def merged(functions):
    """The same without the generic arguments of the functions."""
    merged = {}
    for name, (copies, lines) in functions.items():
        plain = re.sub(r"::h[0-9a-f]{16}$", "", name)
        before = merged.get(plain, (0, 0))
        merged[plain] = (before[0] + copies, before[1] + lines)
    return merged


def host():
    """The host platform of the compiler."""
    about = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return re.search(r"host: (\S+)", about)[1]


def processor_seconds():
    """The CPU time of finished child processes in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processor():
    """The name of the CPU."""
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$", about, re.MULTILINE))
    return f"{fields.get('model name', platform.machine())} (family {fields.get('cpu family')}, model {fields.get('model')})"


def report(builds):
    """The tables, as Markdown."""
    steps = any(build.step is not None for build in builds)
    yield "| build | wall, s | processor, s | crates | program, MB |" + " a step, ms |" * steps
    yield "|---|---|---|---|---|" + "---|" * steps
    for build in builds:
        crates = len(build.packages)
        row = f"| {build.name} | {build.wall:.1f} | {build.seconds:.1f} | {crates} | {build.size / 1e6:.1f} |"
        yield row + (f" {build.step:.2f} |" if steps else "")
    yield ""
    yield f"| processor, s | {' | '.join(OURS)} | the others, and the program |"
    yield "|---|" + "---|" * (len(OURS) + 1)
    for build in builds:
        ours = [build.seconds_of(package) for package in OURS]
        row = [*ours, build.seconds - sum(ours)]
        yield f"| {build.name} | {' | '.join(f'{seconds:.1f}' for seconds in row)} |"


def report_crates(recorded, packages=None):
    """The time for each crate, slowest first, or for those of some packages."""
    seconds = Counter()
    for unit in recorded.units:
        if packages is None or unit["package"] in packages:
            seconds[unit["package"]] += unit["seconds"]
    yield "\n| processor, s | crate |\n|---|---|"
    for package, took in seconds.most_common():
        yield f"| {took:.2f} | {package} |"


def report_ir(recorded, options):
    """The lines of LLVM IR, and where most of them are."""
    most = options.functions
    yield ""
    yield "| crate | functions | lines of LLVM's language |"
    yield "|---|---|---|"
    longest = []
    # The compiler uses one thread for each crate.
    with ThreadPoolExecutor(options.jobs) as pool:
        counts = list(pool.map(recorded.functions_of, OURS))
    for package, functions in zip(OURS, map(merged, counts)):
        copies, lines = (sum(counts) for counts in zip(*functions.values()))
        yield f"| {package} | {copies:,} | {lines:,} |"
        ranked = Counter({name: lines for name, (_, lines) in functions.items()}).most_common(most)
        longest.append((package, [(name, functions[name]) for name, _ in ranked]))
    for package, functions in longest if most else []:
        yield f"\n| lines | copies | of {package} |\n|---|---|---|"
        for name, (copies, lines) in functions:
            yield f"| {lines:,} | {copies:,} | `{name}` |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", metavar="BUILD", help=f"of {', '.join(BUILDS)} (all)")
    parser.add_argument("--crates", action="store_true", help="lists what each crate of the first build took")
    parser.add_argument("--ir", action="store_true", help="counts the lines given to LLVM for the first build")
    parser.add_argument("--functions", type=int, default=0, help="lists so many functions of each crate; needs --ir")
    parser.add_argument("--steps", action="store_true", help="builds and runs steps of training instead")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cargo's -j (all cores)")
    parser.add_argument("--record", metavar="FOLDER", type=Path, help="writes the wrapper that records there, and nothing else")
    parser.add_argument("--recorded", metavar="FOLDER", type=Path, help="reports what was recorded there")
    parser.add_argument("--keep", action="store_true", help="keeps the programs and what was built")
    options = parser.parse_args()
    names = options.builds or list(BUILDS)
    for name in names:
        if name not in BUILDS:
            parser.error(f"`{name}` is not a build; there are {', '.join(BUILDS)}")

    if options.record:
        options.record.mkdir(parents=True, exist_ok=True)
        Recorded(options.record.resolve()).write_wrapper()
        return
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    print(f"rustc {rustc}, {processor()}, {os.cpu_count()} cores, {options.jobs} jobs\n", flush=True)
    if options.recorded:
        recorded = Recorded(options.recorded.resolve())
        recorded.read()
        if recorded.missing():
            print(f"{', '.join(recorded.missing())}: built before, so there is nothing to report")
            return
        print("\n".join(report_crates(recorded, OURS)), flush=True)
        if options.ir:
            print("\n".join(report_ir(recorded, options)))
        return
    folder = Path(tempfile.mkdtemp(prefix="build-cost-"))
    try:
        builds = []
        for name in names:
            build = Build(name, folder, options)
            build.run()
            builds.append(build)
        print("\n".join(report(builds)), flush=True)
        if options.crates:
            print("\n".join(report_crates(builds[0])), flush=True)
        if options.ir:
            print("\n".join(report_ir(builds[0], options)))
    finally:
        if options.keep:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
