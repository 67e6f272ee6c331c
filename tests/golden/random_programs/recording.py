"""Files of random programs.

`case` is a list of programs: `dtype`, `leaves` (the steps from each `<i>/in/<j>` to the leaf's value, and whether it requires
a gradient), `steps` (`op`, `args`, `named` as in `peer_ops.safetensors`, and `uses`: the values that are its tensors), the
numbers of the `outputs` and of the values `between` whose gradients are recorded too, `hooks` (the number of a value, and by
what its gradient is multiplied), and `limits`: the largest difference of each result. The results are `<i>/out/<j>`; `gin`, with
`gout` as the gradients of the outputs; `twice`, with `start` as the gradients of these gradients.
"""

import collections

import torch

from common import DTYPES, write_safetensors

from .draw import program
from .reference import Refused, computed

FILE = "random_programs.safetensors"


class Recording:
    """Programs with their results, and why others were left out."""

    def __init__(self):
        self.cases, self.tensors, self.refused = [], {}, collections.Counter()

    def add(self, seed, number, small=False, most=None):
        """Record a program, unless it says nothing or its tensors have more than `most` bytes."""
        made, draw = program(seed, number, small)
        dtype = draw.pick(["f64", "f32"])
        try:
            tensors, limits = computed(made, draw, DTYPES[dtype])
        except Refused as refused:
            self.refused[str(refused)] += 1
            return False
        tensors |= {f"in/{i}": leaf.base for i, leaf in enumerate(made.leaves)}
        tensors = {name: x.to(DTYPES[dtype]) if x.is_floating_point() else x for name, x in tensors.items()}
        if most is not None and sum(x.numel() * x.element_size() for x in tensors.values()) > most:
            return False
        leaves = [{"views": leaf.steps, "grad": leaf.grad} for leaf in made.leaves]
        case = {"number": number, "dtype": dtype, "leaves": leaves, "steps": [step.described() for step in made.steps]}
        case |= {"outputs": made.outputs, "between": made.between, "twice": made.twice, "hooks": made.hooks, "limits": limits}
        self.tensors |= {f"{len(self.cases)}/{name}": tensor.clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
        self.cases.append(case)
        return True

    def write(self, path):
        write_safetensors(path, self.tensors, self.cases)
