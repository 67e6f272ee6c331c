"""The results as text, Markdown, JSON and a chart."""

import dataclasses
import html
import json
import statistics
from math import log2

import table

PEERS = {"torch": "PyTorch", "candle": "candle"}


@dataclasses.dataclass
class Result:
    """One run with one number of threads."""

    threads: int
    limits: dict
    rows: list
    times: dict
    again: list = dataclasses.field(default_factory=list)

    def time(self, row, program):
        """The median microseconds of a program, or None."""
        times = self.times[row.name].get(program)
        return statistics.median(times) if times else None

    def ratio(self, row, peer):
        """The median, minimum and maximum of the peer's time divided by ours, or None."""
        theirs = self.times[row.name].get(peer)
        if not theirs:
            return None
        ratios = [b / a for a, b in zip(self.times[row.name]["ours"], theirs, strict=True)]
        return statistics.median(ratios), min(ratios), max(ratios)

    def share(self, row):
        """The row's arithmetic as a fraction of the machine's peak, or None."""
        if row.multiply_adds is None or "gflops" not in self.limits:
            return None
        return 2 * row.multiply_adds / self.time(row, "ours") / 1e3 / self.limits["gflops"]

    def reached(self, row):
        """Whether the ratio to PyTorch meets its goal; with two threads, 0.9 of the goal suffices."""
        ratio = self.ratio(row, "torch")
        return ratio is None or ratio[0] >= row.goal * (1.0 if self.threads == 1 else 0.9)


@dataclasses.dataclass
class Saved:
    """What an earlier run of all rows has saved."""

    machine: dict
    runs: list

    @classmethod
    def read(cls, directory, name, machine):
        """Reads the results of a name, which must come from this processor with these versions."""
        saved = json.loads((directory / f"{name}.json").read_text())
        same = {key: value for key, value in machine.items() if key != "date"}
        if any(saved["machine"].get(key) != value for key, value in same.items()):
            raise SystemExit(f"{name}.json is of another processor or other versions; save all rows, without --only")
        return cls(saved["machine"], saved["runs"])

    def with_rows(self, results, rows):
        """The saved runs, with the rows of new ones with the same numbers of threads."""
        return [self._with_rows(run, results, rows) for run in self.runs]

    @staticmethod
    def _with_rows(run, results, rows):
        times = [result.times for result in results if result.threads == run["threads"]]
        times = times[0] if times else {}
        again = sorted({*run.get("again", []), *times})
        times = {**run["microseconds"], **times}
        # A new row may have been measured with one number of threads only.
        measured = [row for row in rows if row.name in times]
        return Result(run["threads"], run["limits"], measured, times, again)


def cells(result, row):
    """A row of the table."""
    torch, candle, share = result.ratio(row, "torch"), result.ratio(row, "candle"), result.share(row)
    return [
        row.name,
        micros(result.time(row, "ours")),
        micros(result.time(row, "torch")),
        f"{torch[0]:.2f}" if torch else "",
        f"{torch[1]:.2f}–{torch[2]:.2f}" if torch else "",
        f"{row.goal:g}" + ("" if result.reached(row) else " ✗"),
        f"{candle[0]:.2f}" if candle else "",
        f"{share:.0%}" if share else "",
    ]


HEADER = ["row", "ours, µs", "PyTorch, µs", "ratio", "of rounds", "goal", "candle's ratio", "of the peak"]


def micros(time):
    """Microseconds with three digits or more."""
    if time is None:
        return ""
    return f"{time:,.0f}" if time >= 100 else f"{time:.3g}"


def summary(result):
    """Lines that summarize the results."""
    compared = [row for row in result.rows if result.ratio(row, "torch")]
    lines = [heading(result)]
    if compared:
        ratios = [result.ratio(row, "torch")[0] for row in compared]
        reached = sum(result.reached(row) for row in compared)
        below = sum(ratio < 0.9 for ratio in ratios)
        mean = statistics.geometric_mean(ratios)
        lines.append(f"PyTorch: {reached} of {len(compared)} goals reached, {below} rows below 0.9, geometric mean {mean:.2f}")
    ratios = [result.ratio(row, "candle")[0] for row in result.rows if result.ratio(row, "candle")]
    if ratios:
        twice, slower = sum(r >= 2 for r in ratios), sum(r < 1 for r in ratios)
        lines.append(f"candle: {twice} of {len(ratios)} rows twice as fast or more, {slower} slower")
    return lines


def heading(result):
    """The number of threads and the machine's limits."""
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    if not result.limits:
        return threads
    gflops, gbytes = result.limits["gflops"], result.limits["gbytes"]
    return f"{threads}: {gflops:.0f} GFLOP/s at most, copies {gbytes:.0f} GB/s (reading and writing)"


def text(result):
    """The table for a terminal."""
    lines = [HEADER] + [cells(result, row) for row in result.rows]
    return "\n".join([align(lines), *summary(result), ""])


def align(lines):
    """Lines of cells as columns, the first on the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    )


def below_goals(result, limits):
    """Lines that explain the rows below their goals."""
    rows = {}
    for row in result.rows:
        if not result.reached(row):
            ratio = f"{row.name} ({result.ratio(row, 'torch')[0]:.2f} of {row.goal:g})"
            rows.setdefault(table.find_limit(limits, row) or "Not looked into.", []).append(ratio)
    return [f"- {text} *{'; '.join(names)}*" for text, names in rows.items()]


def markdown(results, machine, limits, name):
    """The tables for all numbers of threads."""
    command = "python benches/run --save" + ("" if name == "latest" else f" {name}")
    lines = [
        "# Rows beside PyTorch and candle",
        "",
        f"Written by `{command}` on {machine['date']}: {machine['processor']} (family {machine['family']}, model "
        f"{machine['model']}; {machine['flags']}), rustc {machine['rustc']}, PyTorch {machine['torch']}, candle {machine['candle']}.",
        "Ratios are the peer's time divided by ours, so that more is better; ✗ marks a goal that is not reached.",
        "",
        f"![ratios]({name}.svg)",
    ]
    for result in results:
        head, *rest = summary(result)
        lines += ["", f"## {head}", "", *(f"{line}  " for line in rest), "", table_line(HEADER), "|---" * len(HEADER) + "|"]
        lines += [table_line(cells(result, row)) for row in result.rows]
        if result.again:
            lines += ["", f"Measured again after the others, because their kernels have changed: {'; '.join(result.again)}."]
        lines += ["", "Below their goals, with the ratio and the goal of each:", "", *below_goals(result, limits)]
    return "\n".join(lines) + "\n"


def table_line(line):
    """A line of a Markdown table."""
    return "| " + " | ".join(line) + " |"


def as_json(results, machine):
    """All measurements."""
    runs = [{"threads": r.threads, "limits": r.limits, "microseconds": r.times, "again": r.again} for r in results]
    return json.dumps({"machine": machine, "runs": runs}, indent=1) + "\n"


def chart(result):
    """The ratios to PyTorch's time as bars on a logarithmic scale, with a tick at each goal."""
    rows = [row for row in result.rows if result.ratio(row, "torch")]
    left, scale, height = 360, 110, 14
    x = lambda ratio: left + scale * (2 + max(-2.0, min(4.0, log2(ratio))))  # noqa: E731
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 6 * scale + 60}" height="{height * len(rows) + 40}" '
        'font-family="sans-serif" font-size="10">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for tick in (0.25, 0.5, 1, 2, 4, 8, 16):
        color = "#333" if tick == 1 else "#ddd"
        lines.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="20" y2="{height * len(rows) + 24}" stroke="{color}"/>')
        lines.append(f'<text x="{x(tick):.1f}" y="14" text-anchor="middle">{tick:g}</text>')
    for i, row in enumerate(rows):
        ratio, y = result.ratio(row, "torch")[0], 24 + height * i
        start, end = sorted((x(1), x(ratio)))
        color = "#2a9d5c" if result.reached(row) else "#d1495b"
        lines.append(f'<text x="{left - 6}" y="{y + 9}" text-anchor="end">{html.escape(row.name)}</text>')
        lines.append(f'<rect x="{start:.1f}" y="{y + 1}" width="{max(end - start, 1):.1f}" height="{height - 4}" fill="{color}"/>')
        lines.append(f'<line x1="{x(row.goal):.1f}" x2="{x(row.goal):.1f}" y1="{y}" y2="{y + height - 2}" stroke="black"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def save(results, machine, directory, name):
    """Writes all forms next to the driver."""
    (directory / f"{name}.json").write_text(as_json(results, machine))
    limits = table.read_limits(directory / "limits.tsv")
    (directory / f"{name}.md").write_text(markdown(results, machine, limits, name))
    (directory / f"{name}.svg").write_text(chart(results[0]))
