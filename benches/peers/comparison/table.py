"""The rows, their goals and their arithmetic (`benches/rows.tsv`), and their limits (`benches/limits.tsv`)."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Row:
    """A row: the goal for PyTorch's time divided by ours, and its multiply-adds if they are the limit."""

    name: str
    goal: float
    multiply_adds: float | None


def read(path):
    """The rows of the file."""
    rows = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, goal, work = line.split("\t")
            rows.append(Row(name, float(goal), float(work) if work != "-" else None))
    return rows


def read_limits(path):
    """Pairs of a name pattern and an explanation for those rows; the last match counts."""
    lines = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return [(re.compile(pattern), text) for pattern, text in lines]


def find_limit(limits, row):
    """The explanation for a row, or None."""
    return next((text for pattern, text in reversed(limits) if pattern.search(row.name)), None)


def check_names(rows, program):
    """Stops if the program lacks a row, so that none is omitted silently."""
    missing = {row.name for row in rows} - set(program.names())
    if missing:
        raise SystemExit(f"benches/rows does not have: {', '.join(sorted(missing))}")
