"""The peaks of memory as text and Markdown."""

import dataclasses
import statistics

import report
import table

# Smaller differences do not count: PyTorch's profiler sees neither the graph nor the scratch memory of its libraries.
NEGLIGIBLE = 2**16

HEADER = ["row", "ours, KiB", "PyTorch, KiB", "ratio"]
HEADER_OF_PROCESSES = ["row", "ours, MiB", "PyTorch, MiB", "ratio"]


@dataclasses.dataclass(frozen=True)
class Peak:
    """The bytes that a row needs, or None for a program that does not have it."""

    row: table.Row
    ours: float | None
    torch: float | None

    def compared(self):
        """Whether there are two sides."""
        return self.ours is not None and self.torch is not None

    def more(self):
        """Whether ours is more than PyTorch's."""
        return self.compared() and self.ours > self.torch + NEGLIGIBLE

    def ratio(self):
        """Our bytes divided by PyTorch's, or None if either is negligible."""
        return self.ours / self.torch if self.compared() and min(self.ours, self.torch) >= NEGLIGIBLE else None

    def cells(self):
        """A row of the table."""
        ratio = self.ratio()
        mark = (f"{ratio:.2f}" if ratio else "") + (" ✗" if self.more() else "")
        return [self.row.name, kibibytes(self.ours), kibibytes(self.torch), mark]


def kibibytes(size):
    """A number of bytes in KiB."""
    return "" if size is None else f"{size / 1024:,.0f}"


def summary(peaks):
    """A sentence about all rows."""
    compared = [peak for peak in peaks if peak.compared()]
    ratios = [peak.ratio() for peak in compared if peak.ratio()]
    mean = f", geometric mean of the ratios {statistics.geometric_mean(ratios):.2f}" if ratios else ""
    return f"{sum(not peak.more() for peak in compared)} of {len(compared)} rows need at most PyTorch's memory{mean}"


def text(peaks):
    """The table for a terminal."""
    return report.align([HEADER, *(peak.cells() for peak in peaks)]) + f"\n{summary(peaks)}"


def text_of_processes(peaks):
    """The table of whole processes for a terminal."""
    return report.align([HEADER_OF_PROCESSES, *(cells_of_process(peak) for peak in peaks)])


def cells_of_process(peak):
    """A row of the table of whole processes, in MiB."""
    sizes = ["" if size is None else f"{size / 2**20:,.1f}" for size in (peak.ours, peak.torch)]
    return [peak.row.name, *sizes, f"{peak.ours / peak.torch:.2f}" if peak.compared() else ""]


def markdown(peaks, processes, machine, causes):
    """The tables, and why rows need more than PyTorch."""
    lines = [
        "# Memory of training rows beside PyTorch",
        "",
        f"Written by `python benches/memory --save` on {machine['date']}: {machine['processor']}, one thread, "
        f"PyTorch {machine['torch']}.",
        "[README.md](README.md#memory-of-a-training-step) says what is counted. ✗ marks rows that need more than PyTorch.",
        "",
        f"{summary(peaks)}.",
        "",
        "The whole process, as the system counts it: gradients, the optimizer's state, and all that libraries keep.",
        "",
        report.table_line(HEADER_OF_PROCESSES),
        "|---" * len(HEADER_OF_PROCESSES) + "|",
        *(report.table_line(cells_of_process(peak)) for peak in processes),
        "",
        "Live bytes, of PyTorch those of tensors only:",
        "",
        report.table_line(HEADER),
        "|---" * len(HEADER) + "|",
        *(report.table_line(peak.cells()) for peak in peaks),
    ]
    if any(peak.more() for peak in peaks):
        lines += ["", "More than PyTorch's, with the ratio of each:", "", *explain(peaks, causes)]
    return "\n".join(lines) + "\n"


def explain(peaks, causes):
    """Lines that explain the rows above PyTorch's."""
    rows = {}
    for peak in peaks:
        if peak.more():
            name = f"{peak.row.name} ({peak.ours / max(peak.torch, 1):.2f})"
            rows.setdefault(table.find_limit(causes, peak.row) or "Not looked into.", []).append(name)
    return [f"- {text} *{'; '.join(names)}*" for text, names in rows.items()]
