"""activation_checkpoints.safetensors: gradients of a network with dropout whose parts are recomputed in the backward pass.

`case` is `{"seed", "cases": [{"name", "dtype", "parts", "segments"}]}`. For each case: `<name>/param.<key>` the parameters,
`<name>/in` the input, `<name>/out` the output and `<name>/gin`, `<name>/grad.<key>` the gradients of the mean of its square, as
computed with `checkpoint` of the `parts` (ranges of layers) or `checkpoint_sequential` with this many `segments`. `<name>/after.<key>`
are the buffers after a plain pass, because PyTorch's checkpoints move running statistics twice. The seed is set before the pass.
"""

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from common import DTYPES, random, write_safetensors

SEED = 11
CASES = [
    ("parts", "f32", [[0, 4], [4, 7]], None),
    ("parts_f64", "f64", [[0, 4], [4, 7]], None),
    ("whole", "f32", [[0, 8]], None),
    ("segments", "f32", None, 3),
    ("segments_f64", "f64", None, 2),
]


def network(dtype):
    """Eight layers with constant weights."""
    net = torch.nn.Sequential(
        torch.nn.Linear(6, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.4),
        torch.nn.Linear(8, 8),
        torch.nn.GELU(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(8, 3),
    ).to(dtype)
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(random(p.shape, 600 + i, dtype, -1.0, 1.0))
    return net


def run(net, x, parts, segments):
    if segments:
        return checkpoint_sequential(net, segments, x, use_reentrant=False)
    end = 0
    for start, end in parts:
        x = checkpoint(net[start:end], x, use_reentrant=False)
    return net[end:](x)


def write():
    tensors, cases = {}, []
    for name, dtype, parts, segments in CASES:
        kind = DTYPES[dtype]
        net, x = network(kind), random([5, 6], 620, kind).requires_grad_()
        torch.manual_seed(SEED)
        out = run(net, x, parts, segments)
        out.square().mean().backward()
        found = {"in": x, "out": out, "gin": x.grad}
        found |= {f"param.{key}": p for key, p in net.named_parameters()}
        found |= {f"grad.{key}": p.grad for key, p in net.named_parameters()}
        plain = network(kind)
        torch.manual_seed(SEED)
        assert torch.equal(plain(x), out)
        found |= {f"after.{key}": b for key, b in plain.named_buffers()}
        tensors |= {f"{name}/{key}": value.detach().clone() for key, value in found.items()}
        cases.append({"name": name, "dtype": dtype, "parts": parts, "segments": segments})
    write_safetensors("activation_checkpoints.safetensors", tensors, {"seed": SEED, "cases": cases})
    return len(cases)
