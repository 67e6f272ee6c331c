"""The peer of `benches/rows/gradients.rs`."""

from functools import partial

import torch
from torch.nn import functional as F


def numbers():
    return torch.randn(512, 1024)


def pair():
    return [numbers().abs() + 0.1, numbers()]


def of_pairs():
    yield "maximum", torch.maximum
    yield "pow", lambda x, y: x.pow(y)
    yield "div", lambda x, y: y / x
    yield "sub", lambda x, y: y - x
    yield "atan2", torch.atan2
    yield "mse", lambda x, y: F.mse_loss(x, y, reduction="none")
    yield "l1_loss", F.l1_loss
    yield "smooth_l1_loss", F.smooth_l1_loss
    yield "huber_loss", F.huber_loss
    yield "cosine_similarity", F.cosine_similarity
    yield "stack", lambda x, y: torch.stack([x, y], 1)
    yield "cat of rows", lambda x, y: torch.cat([x, y], 1)


def of_positive():
    yield "sqrt", torch.sqrt
    yield "rsqrt", torch.rsqrt
    yield "log", torch.log
    yield "pow 1.5", lambda x: x.pow(1.5)
    yield "prod of rows", lambda x: x.prod(1)
    yield "cumprod of rows", lambda x: x.cumprod(1)


def of_numbers():
    for name in ("abs", "sin", "tan", "erf", "square"):
        yield name, getattr(torch, name)
    for name in ("leaky_relu", "hardswish", "softplus", "logsigmoid", "elu", "mish"):
        yield name, getattr(F, name)
    yield "clamp", lambda x: x.clamp(-1, 1)
    yield "pow 3", lambda x: x.pow(3)
    yield "glu", lambda x: F.glu(x, 1)
    yield "norm", lambda x: torch.linalg.vector_norm(x)
    yield "norm of rows", lambda x: torch.linalg.vector_norm(x, dim=1)
    yield "norm 1 of rows", lambda x: torch.linalg.vector_norm(x, 1, dim=1)
    yield "normalize rows", F.normalize
    yield "amax of rows", lambda x: x.amax(1)
    yield "max with indices of rows", lambda x: x.max(1).values
    yield "mean of rows", lambda x: x.mean(1)
    yield "var of rows", lambda x: x.var(1)
    yield "std of columns", lambda x: x.std(0)
    yield "cumsum of rows", lambda x: x.cumsum(1)
    yield "logcumsumexp of rows", lambda x: x.logcumsumexp(1)
    yield "sort rows", lambda x: x.sort(1).values
    yield "topk of rows, 10", lambda x: x.topk(10, 1).values
    yield "flip", lambda x: x.flip(1)
    yield "roll", lambda x: x.roll(3, 1)
    yield "tril", lambda x: x.tril()
    yield "half of columns", lambda x: x[:, :512]
    yield "every second row", lambda x: x[::2]
    yield "expand", lambda x: x[None].expand(4, 512, 1024)
    yield "repeat", lambda x: x.repeat(2, 2)
    yield "diff", lambda x: x.diff()
    yield "to bf16 and back", lambda x: x.bfloat16().float()
    yield "binary_cross_entropy_with_logits", lambda x: F.binary_cross_entropy_with_logits(x, x.detach().sigmoid())
    yield (
        "kl_div of log_softmax",
        lambda x: F.kl_div(x.log_softmax(1), x.detach().softmax(1), reduction="batchmean"),
    )


def of_indexed():
    """Operations on numbers, others, a mask of columns, and an index of columns and one of rows."""
    yield "where", lambda x, y, mask, columns, rows: torch.where(mask, x, y)
    yield "scatter_add", lambda x, y, mask, columns, rows: x.scatter_add(1, columns, y)
    yield "index_add", lambda x, y, mask, columns, rows: x.index_add(0, rows, y)
    yield "masked_fill", lambda x, y, mask, columns, rows: x.masked_fill(mask, 0.0)
    yield "gather", lambda x, y, mask, columns, rows: x.gather(1, columns)
    yield "index_select of rows", lambda x, y, mask, columns, rows: x.index_select(0, rows)


def of_images():
    yield "pad", lambda x: F.pad(x, (1, 1, 1, 1))
    yield "pad by reflection", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")
    yield "pad by replication", lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate")
    yield "circular pad", lambda x: F.pad(x, (1, 1, 1, 1), mode="circular")
    yield "flip lines", lambda x: x.flip(-1)
    yield "roll of two dimensions", lambda x: x.roll((3, 3), (2, 3))
    yield "permute and copy", lambda x: x.permute(0, 2, 3, 1).contiguous()
    yield "mean of dimensions 2 and 3", lambda x: x.mean((2, 3))
    yield "pixel_shuffle by 2", lambda x: F.pixel_shuffle(x, 2)
    yield "pixel_unshuffle by 2", lambda x: F.pixel_unshuffle(x, 2)
    yield "channel_shuffle", lambda x: F.channel_shuffle(x, 4)
    yield "max_pool2d of 64", lambda x: F.max_pool2d(x, 64)
    yield "instance_norm", F.instance_norm
    yield "local_response_norm", lambda x: F.local_response_norm(x, 5)
    yield "unfold", lambda x: x.unfold(3, 4, 2).contiguous()


def indexed():
    columns = (torch.arange(512 * 1024) * 37 % 1024).reshape(512, 1024)
    return [numbers(), numbers(), torch.arange(1024) % 3 == 0, columns, torch.arange(512).flip(0)]


def sampled(channels):
    """Images of some channels, and the positions of a turned copy."""
    theta = torch.tensor([[[0.9, 0.1, 0.0], [-0.1, 0.9, 0.0]]]).expand(8, 2, 3)
    images = torch.randn(8, channels, 64, 64)
    return [images, F.affine_grid(theta, images.shape, align_corners=False)]


def add(rows):
    families = [
        (of_pairs, "[512, 1024]", pair),
        (of_positive, "[512, 1024]", lambda: pair()[:1]),
        (of_numbers, "[512, 1024]", lambda: [numbers()]),
        (of_indexed, "[512, 1024]", indexed),
        (of_images, "[8, 32, 64, 64]", lambda: [torch.randn(8, 32, 64, 64)]),
    ]
    for operations, shape, inputs in families:
        for name, f in operations():
            rows.backward_of(f"{name} {shape}", inputs, f)
    of = lambda *shapes: lambda: [torch.randn(shape) for shape in shapes]
    images = (8, 32, 64, 64)
    sample = lambda x, grid: F.grid_sample(x, grid, align_corners=False)
    for channels in (32, 3, 1):
        rows.backward_of(f"grid_sample [8, {channels}, 64, 64]", partial(sampled, channels), sample)
    rows.backward_of("cdist of [512, 64] and [512, 64]", of((512, 64), (512, 64)), torch.cdist)
    rows.backward_of("add channels [8, 32, 64, 64]", of(images, (32, 1, 1)), torch.add)
    rows.backward_of("mul channels [8, 32, 64, 64]", of(images, (8, 32, 1, 1)), torch.mul)
    rows.backward_of("div by rows [512, 1024]", of((512, 1024), (512, 1)), torch.div)
    rows.backward_of("max_pool2d 7 [8, 512, 7, 7]", of((8, 512, 7, 7)), lambda x: F.max_pool2d(x, 7))
    rows.backward_of("softmax of rows [7168, 7]", of((7168, 7)), lambda x: x.softmax(1))
    rows.backward_of("layer_norm of rows [4096, 20]", of((4096, 20)), lambda x: F.layer_norm(x, (20,)))
    heads = (32, 12, 50, 32)
    rows.backward_of(
        "attention of 50 positions, causal [32, 12, 50, 32]",
        of(heads, heads, heads),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    )
