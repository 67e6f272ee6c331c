"""Files of random networks.

`case` is a list of networks: `network` (a description, as in the files of layers), `seed` of its initial weights and dropout,
`dtype`, `optimizer` and `options`, `group` (parameters with other `options`), `steps` (`paused`: parameters that do not require
gradients in this step; `clip`: the largest norm of the gradients; `eval`: whether the pass is one of evaluation mode, without a
step; `lrs`: learning rates of the groups from this step on), and `limits`: the largest difference
of each result. The loss is the mean of the squares of output - `<i>/y/<step>`, for the input `<i>/x/<step>`. The results are
`<i>/out/<step>`, `<i>/init/<key>`, which are equal, and `<i>/after/<key>`.
"""

import collections

import torch

from common import DTYPES, write_safetensors
from random_programs.reference import Refused, distance, largest

from .draw import network

FILE = "random_networks.safetensors"
# For each dtype: what is close, relative to the largest element or to 1; the change of the inputs; by how much that may change
# results; and how many times as far as it leads ours may be.
CLOSE = {torch.float64: 1e-9, torch.float32: 2e-5}
NUDGE = {torch.float64: 1e-13, torch.float32: 2e-7}
STEADY = {torch.float64: 1e-8, torch.float32: 1e-3}
TIMES = {torch.float64: 100, torch.float32: 20}
# A parameter on which nothing depends, such as a bias before a normalization, has gradients that are rounding alone, and
# optimizers make steps of them: the least gradient of a parameter, and of an element, if it is not 0.
LEAST = {torch.float64: (1e-7, 1e-12), torch.float32: (1e-4, 3e-5)}
SEEDS = range(3)


def is_rounding(gradient):
    whole, element = LEAST[gradient.dtype]
    sizes = gradient.abs()
    return bool(sizes.max() < whole or ((sizes > 0) & (sizes < element)).any())


def with_tuples(options):
    return {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}


def groups(made, parameters):
    """The groups of the optimizer: what no other has, and then the other."""
    if made.group is None:
        return [{"params": list(parameters.values())}]
    names = made.group["names"]
    rest = [p for name, p in parameters.items() if name not in names]
    return [{"params": rest}, {"params": [parameters[name] for name in names], **with_tuples(made.group["options"])}]


def trained(made, dtype, seed, nudge=None):
    """The results of all steps by their names in the file."""
    model = made.built(dtype, seed)
    found = {f"init/{name}": x.clone() for name, x in model.state_dict().items()}
    parameters = dict(model.named_parameters())
    optimizer = getattr(torch.optim, made.optimizer)(groups(made, parameters), **with_tuples(made.options))
    generator = torch.Generator().manual_seed(nudge or 0)
    for i, step in enumerate(made.steps):
        x = made.inputs[i]
        if nudge is not None:
            x = x * (1 + NUDGE[dtype] * torch.randn(x.shape, generator=generator, dtype=x.dtype))
        model.train(not step["eval"])
        for name, parameter in parameters.items():
            parameter.requires_grad_(name not in step["paused"])
        for group, lr in zip(optimizer.param_groups, step.get("lrs", [])):
            group["lr"] = lr
        optimizer.zero_grad()
        output = model(x.to(dtype))
        found[f"out/{i}"] = output.detach()
        if step["eval"] or not output.requires_grad:
            continue
        torch.nn.functional.mse_loss(output, made.targets[i].to(dtype)).backward()
        if any(is_rounding(x.grad) for x in parameters.values() if x.grad is not None):
            raise Refused("a gradient of rounding")
        if step["clip"] is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), step["clip"])
        optimizer.step()
    return found | {f"after/{name}": x.clone() for name, x in model.state_dict().items()}


def computed(made, dtype, seed):
    """The tensors to record, and the tolerance of each."""
    found = trained(made, dtype, seed)
    floating = {name: x for name, x in found.items() if x.is_floating_point()}
    if not all(torch.isfinite(x).all() for x in floating.values()):
        raise Refused("not finite")
    limits = {name: 0.0 if name.startswith("init/") else CLOSE[dtype] * largest(x) for name, x in floating.items()}
    for nudge in SEEDS:
        again = trained(made, dtype, seed, nudge + 1)
        for name, x in floating.items():
            change = distance(again[name], x)
            if change > STEADY[dtype] * largest(x):
                raise Refused("unsteady")
            limits[name] += TIMES[dtype] * change
    return found, limits


class Recording:
    """Networks with their results, and why others were left out."""

    def __init__(self):
        self.cases, self.tensors, self.refused = [], {}, collections.Counter()

    def add(self, seed, number, most=None):
        """Record a network, unless rounding decides what it learns or its tensors have more than `most` bytes."""
        made, draw = network(seed, number)
        name, weights = draw.pick(["f64", "f32"]), draw.between(0, 1_000_000)
        dtype = DTYPES[name]
        try:
            tensors, limits = computed(made, dtype, weights)
        except Refused as refused:
            self.refused[str(refused)] += 1
            return False
        tensors |= {f"{what}/{i}": x.to(dtype) for what in "xy" for i, x in enumerate({"x": made.inputs, "y": made.targets}[what])}
        if most is not None and sum(x.numel() * x.element_size() for x in tensors.values()) > most:
            return False
        case = {"number": number, "dtype": name, "seed": weights, "network": made.described, "optimizer": made.optimizer}
        case |= {"options": made.options, "group": made.group, "steps": made.steps, "limits": limits}
        prefix = len(self.cases)
        self.tensors |= {f"{prefix}/{name}": x.clone(memory_format=torch.contiguous_format) for name, x in tensors.items()}
        self.cases.append(case)
        return True

    def write(self, path):
        write_safetensors(path, self.tensors, self.cases)
