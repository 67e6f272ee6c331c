"""The rows, their goals, and the arithmetic they do: `benches/rows.tsv`; what limits them: `benches/limits.tsv`."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Row:
    """A row: what PyTorch's time divided by ours is to be at least, and its multiply-adds where they are the limit."""

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
    """Pairs of a pattern of names and what is known of those rows, of which the last that matches counts."""
    lines = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return [(re.compile(pattern), text) for pattern, text in lines]


def find_limit(limits, row):
    """What is known of a row, or nothing."""
    return next((text for pattern, text in reversed(limits) if pattern.search(row.name)), None)


def check_names(rows, program):
    """Stop if the program lacks a row, so that none is left out unseen."""
    missing = {row.name for row in rows} - set(program.names())
    if missing:
        raise SystemExit(f"benches/rows does not have: {', '.join(sorted(missing))}")
