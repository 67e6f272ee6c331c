"""Files of random calls, in the format of `peer_ops.safetensors` with some more entries.

`views`: the steps from each base `in/<i>` to the tensor of the call; its gradient is that of the base. `tolerance`: those of
`out` and of `gin`. `outputs`: how many there are, of which those with `out/<i>` are compared. `torch/<part>`: PyTorch's own
result, where it is farther from the expected one than the tolerance.
"""

import collections

import torch

from common import write_safetensors

from . import different
from .families import call
from .reference import computed

FILE = "random_calls.safetensors"
# PyTorch's error in tolerances that rounding alone explains.
FAR = 100


class Recording:
    """Calls with their results, and what was noticed about PyTorch on the way."""

    def __init__(self):
        self.cases, self.tensors = [], {}
        # Calls that PyTorch refuses, errors of its own that are listed, and others.
        self.refused, self.listed, self.far = collections.Counter(), collections.Counter(), []

    def add(self, seed, number, families=None, small=False, most=None):
        """Record a call, unless PyTorch refuses it or its tensors have more than `most` bytes."""
        made, draw = call(seed, number, families, small)
        try:
            tensors, inexact = computed(made, draw)
        except (RuntimeError, NotImplementedError, IndexError) as error:
            self.refused[f"{made.op}: {str(error).splitlines()[0]}"] += 1
            return False
        operands = made.operands()
        tensors |= {f"in/{i}": operand.base for i, operand in enumerate(operands)}
        if most is not None and sum(x.numel() * x.element_size() for x in tensors.values()) > most:
            return False
        self.notice(made, inexact, f"seed {seed}, number {number}: {made.op} of {operands[0].dtype}")
        prefix = len(self.cases)
        case = {"op": made.op, "dtype": operands[0].dtype, "number": number, **made.described()}
        case |= {"grad": [int(x.grad) for x in operands], "views": [x.steps for x in operands]}
        case |= {"tolerance": {"out": made.out, "gin": made.gin}}
        if made.only_values:
            case["outputs"] = 2
        self.cases.append(case)
        fresh = {part: tensor.clone(memory_format=torch.contiguous_format) for part, tensor in tensors.items()}
        self.tensors |= {f"{prefix}/{part}": tensor for part, tensor in fresh.items()}
        return True

    def notice(self, made, inexact, where):
        """Count the call if it is listed in `different.py` and differs, or say where PyTorch is far from double precision."""
        entry, far = different.which(made), {part: worst for part, worst in inexact.items() if worst > FAR}
        if entry and (far or entry.instead):
            self.listed[entry.reason] += 1
        elif not entry:
            self.far += [f"{where}: PyTorch's {part} is {worst:.3g} tolerances from double precision" for part, worst in far.items()]

    def write(self, path):
        write_safetensors(path, self.tensors, self.cases)
