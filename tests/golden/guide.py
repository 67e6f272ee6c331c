"""The tables of the guide: for each row, the value of the code in PyTorch's column.

The blocks of Python on the page run first, in order, as the page shows them. `data/guide.json` holds the values by code; statements
have none.
"""

import json
import pathlib
import re

import torch

from common import DATA

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parts(page):
    """The blocks of Python and the cells of code, in order."""
    lines, in_table = iter(page.splitlines()), False
    for line in lines:
        if line.startswith("```"):
            block = []
            for inner in lines:
                if inner == "```":
                    break
                block.append(inner)
            if line == "```python":
                yield "block", "\n".join(block)
        elif line == "| PyTorch | Rust |":
            in_table = True
        elif in_table and line.startswith("|---"):
            pass
        elif in_table and line.startswith("|"):
            yield "row", re.search(r"`([^`]*)`", line)[1]
        else:
            in_table = False


def value_of(value):
    if isinstance(value, torch.Tensor):
        value = value.detach()
        return {
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": list(value.shape),
            "values": value.double().flatten().tolist(),
        }
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, (list, tuple)):
        return [value_of(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return None


def run(code, scope):
    """The value of the last statement, if it is an expression."""
    try:
        return eval(code, scope)
    except SyntaxError:
        *first, last = code.split("; ")
        exec("; ".join(first or [last]), scope)
        return eval(last, scope) if first else None


def write():
    values = {}
    for name in ["from-pytorch"]:
        scope = {}
        for kind, code in parts((ROOT / f"docs/src/{name}.md").read_text()):
            if kind == "block":
                exec(code, scope)
            else:
                values[code] = value_of(run(code, scope))
    rows = (f"{json.dumps(code)}: {json.dumps(value)}" for code, value in values.items())
    (DATA / "guide.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return len(values)

