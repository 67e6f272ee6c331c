"""What a call must give: PyTorch's results, and those of the same call in double precision.

A result of single or half precision is compared with that of double precision, rounded. Where PyTorch's own result is
farther from it than the tolerance, it is recorded too, and ours may be up to four times as far: roundings are independent.
"""

import torch

from . import different
from .call import run

# As in `tests/conformance/src/golden.rs`: relative to the element (or to this number, if it is larger), or to the largest element.
TOLERANCES = {"elementwise": {"f32": 1e-6, "floor": 0.1}, "contraction": {"f32": 1e-5, "floor": 1e-3},
              "difference": {"f32": 1e-5, "floor": 1.0}}
OF_HALVES = {torch.float16: 2e-3, torch.bfloat16: 2e-2}


def errors(actual, exact, kind):
    """The distance of each element, as a multiple of the tolerance; not finite where only one of the two is."""
    a, b = actual.double(), exact.double()
    if kind == "exact":
        return torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, torch.inf)
    tolerance = TOLERANCES[kind]
    finite = b[b.isfinite()].abs()
    if kind == "elementwise":
        scale = b.abs().clamp_min(tolerance["floor"])
    else:
        scale = max([tolerance["floor"], *([float(finite.max())] if finite.numel() else [])])
    limit = OF_HALVES.get(exact.dtype, tolerance["f32"])
    distance = (a - b).abs() / (limit * scale)
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, distance.nan_to_num(torch.inf, torch.inf))


def results(call, draw, starts=None, double=False):
    """The outputs and gradients by the names of the file, and the gradients of the outputs from which they start."""
    outputs, leaves = run(call, double, different.instead(call))
    outputs = outputs[:1] if call.only_values else outputs
    followed = [i for i, output in enumerate(outputs) if output.requires_grad]
    if starts is None:
        starts = {i: draw.values(list(outputs[i].shape), "f64").to(outputs[i].dtype) for i in followed}
    if followed:
        torch.autograd.backward([outputs[i] for i in followed], [starts[i].to(outputs[i].dtype) for i in followed])
    found = {f"out/{i}": output.detach() for i, output in enumerate(outputs)}
    return found | {f"gin/{i}": leaf.grad for i, leaf in enumerate(leaves) if leaf.grad is not None}, starts


def computed(call, draw):
    """What is recorded of a call, and for the parts in which PyTorch is not exact, by how many tolerances."""
    found, starts = results(call, draw)
    tensors = found | {f"gout/{i}": start for i, start in starts.items()}
    singles = ("f32", "f16", "bf16")
    if call.op == "to" or not any(operand.dtype in singles for operand in call.operands()):
        return tensors, {}
    inexact = {}
    for part, exact in results(call, draw, starts, double=True)[0].items():
        plain = found[part]
        if not plain.is_floating_point():
            continue
        exact = exact.to(plain.dtype)
        kind = call.out if part.startswith("out") else call.gin
        tensors[part] = exact
        worst = max(errors(plain, exact, kind).reshape(-1).tolist(), default=0.0)
        if worst > 1:
            tensors[f"torch/{part}"] = plain
            inexact[part] = worst
    return tensors, inexact
