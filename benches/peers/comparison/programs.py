"""The programs that are compared: building, starting and querying them in turn."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

# The seconds before each turn: PyTorch's threads keep spinning for about 12 ms after their work, on cores that the next program needs.
PAUSE = 0.02


# A row that all programs share among all their threads.
PARALLEL_ROW = "matmul 1024"


class Program:
    """A program that answers requests."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, request):
        """The response to a request, one line."""
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args} stopped at {request!r}")
        return answer.rstrip("\n")

    def names(self):
        """The names of its rows."""
        return self.ask("list").split("\t")

    def pin_threads(self, row, threads):
        """Gives each of the threads that share the work of this row a processor of its own.

        After a pause the system often wakes them on one processor and leaves them there for tens of milliseconds, so that
        two threads take as long as one. That is the same for all programs and has nothing to do with what is compared.
        """
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        if threads == 1 or not tasks.exists():
            return
        self.measure(row, 100)
        run_times = {int(task.name): int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()}
        busiest = sorted(run_times, key=run_times.get)[-threads:]
        for thread, processor in zip(sorted(busiest), sorted(os.sched_getaffinity(0))):
            os.sched_setaffinity(thread, {processor})

    def measure(self, row, milliseconds=0):
        """The microseconds of a row, or its bytes, or None if the program does not have it."""
        answer = self.ask(f"{row}\t{milliseconds}")
        if answer.startswith("error"):
            print(f"{row}: {answer}", file=sys.stderr)
        return None if answer == "none" or answer.startswith("error") else float(answer)


def build(benches, skip):
    """Builds the programs and returns the commands that start them."""
    built = {"ours": bench(benches, "rows")}
    if "torch" not in skip:
        built["torch"] = torch(benches)
    if "candle" not in skip:
        manifest = benches / "peers" / "candle" / "Cargo.toml"
        command = ["cargo", "build", "--release", "--manifest-path", str(manifest)]
        # Unlike the other two, candle selects its instructions at compile time.
        flags = "-C target-cpu=native -C target-feature=-prefer-256-bit"
        built["candle"] = [executable(command, benches, {"RUSTFLAGS": flags})]
    return built


def bench(benches, name):
    """The command that starts a bench of this workspace, which is built."""
    return [executable(["cargo", "bench", "-p", "module-benches", "--bench", name, "--no-run"], benches, {})]


def torch(benches):
    """The command that starts PyTorch's program."""
    return [sys.executable, str(benches / "peers" / "rows")]


def executable(command, directory, environment):
    """The program built by a cargo command."""
    run = subprocess.run(
        [*command, "--message-format=json-render-diagnostics"],
        cwd=directory,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    paths = [json.loads(line).get("executable") for line in run.stdout.splitlines()]
    return str(pathlib.Path([path for path in paths if path][-1]))


@contextlib.contextmanager
def start(built, threads):
    """The programs, running with this many threads, each on a processor of its own."""
    environment = {"THREADS": str(threads), "RAYON_NUM_THREADS": str(threads)}
    running = {name: Program(command, environment) for name, command in built.items()}
    try:
        for program in running.values():
            program.pin_threads(PARALLEL_ROW, threads)
        yield running
    finally:
        for program in running.values():
            program.process.stdin.close()
            program.process.wait()


def take_turns(running, rows, rounds, milliseconds):
    """The microseconds of each row and program, one per round."""
    names = list(running)
    times = {row.name: {name: [] for name in names} for row in rows}
    for turn in range(rounds):
        first = turn % len(names)
        for row in rows:
            for name in names[first:] + names[:first]:
                time.sleep(PAUSE)
                microseconds = running[name].measure(row.name, milliseconds)
                if microseconds is not None:
                    times[row.name][name].append(microseconds)
    return times
