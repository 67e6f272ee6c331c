"""magnitudes.safetensors: functions of tensors whose elements are very large or very small, with gradients.

Where PyTorch's own result is not what its formula gives, the function is left out at that magnitude: LEFT_OUT says why.
"""

import torch
from torch.nn import functional as F

from common import random, write_safetensors

SCALES = {"1e30": 1e30, "1e15": 1e15, "1e-15": 1e-15, "1e-30": 1e-30}
FUNCTIONS = {
    "std": lambda x, y: x.std(-1),
    "std_rows": lambda x, y: x.std(0),
    "std_all": lambda x, y: x.std(correction=0),
    "var": lambda x, y: x.var(-1),
    "norm": lambda x, y: x.norm(dim=-1),
    "norm_1": lambda x, y: x.norm(p=1, dim=-1),
    "norm_inf": lambda x, y: x.norm(p=float("inf"), dim=-1),
    "normalize": lambda x, y: F.normalize(x, dim=-1),
    "cosine_similarity": lambda x, y: F.cosine_similarity(x, y, dim=-1),
    "pairwise_distance": lambda x, y: F.pairwise_distance(x, y),
    "cdist": lambda x, y: torch.cdist(x, y),
    "layer_norm": lambda x, y: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x, y: F.rms_norm(x, x.shape[-1:]),
    "sum": lambda x, y: x.sum(-1),
    "mean": lambda x, y: x.mean(0),
    "logsumexp": lambda x, y: x.logsumexp(-1),
    "softmax": lambda x, y: x.softmax(-1),
    "log_softmax": lambda x, y: x.log_softmax(-1),
    "logcumsumexp": lambda x, y: x.logcumsumexp(-1),
    "logaddexp": lambda x, y: torch.logaddexp(x, y),
    "hypot": lambda x, y: torch.hypot(x, y),
    "atan2": lambda x, y: torch.atan2(x, y),
    "div": lambda x, y: x / y,
    "reciprocal": lambda x, y: x.reciprocal(),
    "sqrt": lambda x, y: x.abs().sqrt(),
    "rsqrt": lambda x, y: x.abs().rsqrt(),
    "square": lambda x, y: x.square(),
    "pow": lambda x, y: x.abs().pow(-1.5),
    "prod": lambda x, y: x[:, :2].prod(-1),
    "expm1": lambda x, y: x.expm1(),
    "log": lambda x, y: x.abs().log(),
    "log1p": lambda x, y: x.abs().log1p(),
    "atan": lambda x, y: x.atan(),
    "asinh": lambda x, y: x.asinh(),
    "sinh": lambda x, y: x.sinh(),
    "tanh": lambda x, y: x.tanh(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "silu": lambda x, y: F.silu(x),
    "mish": lambda x, y: F.mish(x),
    "log_sigmoid": lambda x, y: F.logsigmoid(x),
    "erf": lambda x, y: x.erf(),
    "erfc": lambda x, y: x.erfc(),
    "lgamma": lambda x, y: x.lgamma(),
    "fmod": lambda x, y: torch.fmod(x, y.detach()),
    "remainder": lambda x, y: torch.remainder(x, y.detach()),
    "mse_loss": lambda x, y: F.mse_loss(x, y),
    "huber_loss": lambda x, y: F.huber_loss(x, y),
    "cross_entropy": lambda x, y: F.cross_entropy(x, torch.arange(x.shape[0])),
    "attention": lambda x, y: F.scaled_dot_product_attention(x, y, y),
}
# The variance overflows, and PyTorch subtracts infinities.
LEFT_OUT = {("layer_norm", "1e30")}
# PyTorch multiplies three inverses of the root of the mean square, which underflow; ours is the exact gradient.
LEFT_OUT |= {("rms_norm", "1e15")}
# Scores overflow: PyTorch gives 0, and we NaN.
LEFT_OUT |= {("attention", "1e30"), ("attention", "1e15")}


def write():
    tensors = {}
    bases = [random([4, 9], 301), random([4, 9], 302)]
    for scale, factor in SCALES.items():
        inputs = [(base.double() * factor).float() for base in bases]
        for name, x in zip("xy", inputs):
            tensors[f"{scale} {name}"] = x
        for function, f in FUNCTIONS.items():
            if (function, scale) in LEFT_OUT:
                continue
            leaves = [x.clone().requires_grad_() for x in inputs]
            out = f(*leaves)
            weights = torch.linspace(-1, 1, out.numel()).reshape(out.shape)
            (out * weights).sum().backward()
            tensors[f"{scale} {function}"] = out.detach().contiguous()
            for name, x in zip("xy", leaves):
                if x.grad is not None:
                    tensors[f"{scale} {function} {name}"] = x.grad
    write_safetensors("magnitudes.safetensors", tensors, {})
    return len(tensors)
