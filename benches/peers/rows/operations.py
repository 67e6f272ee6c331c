"""Operations on tensors: the peer of the files with these names in `benches/rows`."""

import torch
from row import backward, forward, no_grad
from torch import nn
from torch.ao.quantization import quantize_dynamic
from torch.ao.quantization.qconfig import per_channel_dynamic_qconfig
from torch.nn import functional as F


def products(rows):
    sizes = {f"matmul {n}": (n, n, n) for n in (256, 512, 1024, 2048)}
    for m, k, n in [(128, 768, 3072), (1, 768, 3072), (64, 576, 3136), (32, 768, 3072), (512, 64, 784), (64, 64, 64), (16, 16, 16), (8, 1024, 1024)]:
        sizes[f"matmul {m}x{k}x{n}"] = (m, k, n)
    for name, (m, k, n) in sizes.items():
        rows.add(name, lambda m=m, k=k, n=n: forward(torch.matmul, [torch.randn(m, k), torch.randn(k, n)]))
    name = "matmul 4x1024x4096, b transposed"
    rows.add(name, lambda: forward(torch.matmul, [torch.randn(4, 1024), torch.randn(4096, 1024).t()]))
    for name, a, b in [("a transposed", 1, 0), ("b transposed", 0, 1), ("both transposed", 1, 1)]:
        x, y = (torch.randn(1024, 1024).t() if turned else torch.randn(1024, 1024) for turned in (a, b))
        rows.add(f"matmul 1024, {name}", lambda x=x, y=y: forward(torch.matmul, [x, y]))
    rows.both("matmul, 96 of 128x64x128", [(96, 128, 64), (96, 64, 128)], torch.matmul)
    for batch in (128, 1):
        name = f"linear 768 to 3072, {batch} rows"
        rows.add(name, lambda batch=batch: forward(nn.Linear(768, 3072), [torch.randn(batch, 768)]))
        rows.add(f"{name}, and backward", lambda batch=batch: of_layer(nn.Linear(768, 3072), torch.randn(batch, 768)))
    # PyTorch's weights are in full precision, except for those of `quantize_dynamic`.
    name = "linear 4096 to 4096, 1 rows"
    for suffix in ("", ", int8", ", int4", ", nf4"):
        rows.add(name + suffix, lambda: forward(nn.Linear(4096, 4096), [torch.randn(1, 4096)]))
    rows.add(f"{name}, int8 dynamic", lambda: forward(dynamic(nn.Linear(4096, 4096)), [torch.randn(1, 4096)]))
    for batch, dtype, name in [(1, torch.float16, "f16"), (1, torch.bfloat16, "bf16"), (128, torch.bfloat16, "bf16")]:
        rows.add(
            f"linear 768 to 3072, {batch} rows, {name}",
            lambda batch=batch, dtype=dtype: forward(nn.Linear(768, 3072).to(dtype), [torch.randn(batch, 768).to(dtype)]),
        )


def dynamic(layer):
    """A layer from `quantize_dynamic`, with a scale for each row of the weight."""
    return quantize_dynamic(nn.Sequential(layer), {nn.Linear: per_channel_dynamic_qconfig})


def of_layer(layer, x):
    """The work of a layer with the gradients of its input and its parameters."""
    return backward(layer, [x.requires_grad_()], list(layer.parameters()))


def activations(rows):
    shape = (128, 3072)
    for name, f in [
        ("relu", torch.relu),
        ("sigmoid", torch.sigmoid),
        ("tanh", torch.tanh),
        ("silu", F.silu),
        ("gelu", F.gelu),
        ("gelu by tanh", lambda x: F.gelu(x, approximate="tanh")),
        ("exp", torch.exp),
    ]:
        rows.both(f"{name} [128, 3072]", [shape], f)
    rows.both("add [128, 3072]", [shape, shape], torch.add)
    rows.both("add a row [128, 3072]", [shape, (3072,)], torch.add)
    rows.both("mul [128, 3072]", [shape, shape], torch.mul)
    rows.both("dropout [128, 3072]", [shape], lambda x: F.dropout(x, 0.1))
    rows.both("transpose and copy [1024, 1024]", [(1024, 1024)], lambda x: x.t().contiguous())
    rows.both("cat [128, 3072]", [shape, shape], lambda x, y: torch.cat([x, y], -1))
    rows.both("sum [128, 3072]", [shape], torch.sum)
    rows.both("sum over rows [128, 3072]", [shape], lambda x: x.sum(0))


def normalizations(rows):
    rows.both("layer_norm [128, 768]", [(128, 768), (768,), (768,)], lambda x, w, b: F.layer_norm(x, [768], w, b))
    rows.both("layer_norm [12544, 96]", [(12544, 96), (96,), (96,)], lambda x, w, b: F.layer_norm(x, [96], w, b))
    rows.both("rms_norm [256, 1024]", [(256, 1024), (1024,)], lambda x, w: F.rms_norm(x, [1024], w, 1e-6))
    image = (8, 64, 32, 32)
    rows.both("group_norm [8, 64, 32, 32], 8 groups", [image, (64,), (64,)], lambda x, w, b: F.group_norm(x, 8, w, b))
    rows.both("batch_norm [8, 64, 32, 32]", [image, (64,), (64,)], batch_norm)
    rows.both("batch_norm [1024, 256]", [(1024, 256), (256,), (256,)], batch_norm)
    rows.both(
        "batch_norm in evaluation [8, 64, 32, 32]",
        [image, (64,), (64,)],
        lambda x, w, b: F.batch_norm(x, torch.zeros(64), torch.ones(64), w, b),
    )
    rows.both("softmax [12, 128, 128]", [(12, 128, 128)], lambda x: x.softmax(-1))
    rows.both("softmax [8, 256, 128], dimension 1", [(8, 256, 128)], lambda x: x.softmax(1))
    rows.both("log_softmax [256, 1024]", [(256, 1024)], lambda x: x.log_softmax(-1))
    rows.both("log_softmax [8, 256, 128], dimension 1", [(8, 256, 128)], lambda x: x.log_softmax(1))
    rows.both("logsumexp [256, 1024]", [(256, 1024)], lambda x: x.logsumexp(-1))


def batch_norm(x, w, b):
    return F.batch_norm(x, None, None, w, b, training=True)


def indices(count, *shape):
    """Indices below `count`, unordered."""
    return (torch.arange(torch.Size(shape).numel()) * 37 % count).reshape(shape)


def losses(rows):
    for shape, count, target in [((256, 1024), 1024, (256,)), ((8, 256, 128), 256, (8, 128))]:
        name = f"cross_entropy {list(shape)}"
        rows.both(name, [shape], lambda x, count=count, target=target: F.cross_entropy(x, indices(count, *target)))
    rows.both("mse_loss [128, 3072]", [(128, 3072), (128, 3072)], F.mse_loss)
    for batch in [1, 8]:
        rows.both(f"ctc_loss [499, {batch}, 32], 60 labels", [(499, batch, 32)], ctc_loss)
    name = "embedding of 30000x256, 32x128 tokens"
    rows.add(name, lambda: forward(nn.Embedding(30000, 256), [indices(30000, 32, 128)]))
    rows.add(f"{name}, and backward", embedding)


def ctc_loss(x):
    batch = x.shape[1]
    return F.ctc_loss(x, indices(31, batch, 60) + 1, [499] * batch, [60] * batch)


def embedding():
    layer, tokens = nn.Embedding(30000, 256), indices(30000, 32, 128)
    return backward(lambda: layer(tokens), [], list(layer.parameters()))


def attention(rows):
    heads = (4, 12, 128, 64)
    for name, causal in [("", False), (", causal", True)]:
        rows.both(
            f"attention [4, 12, 128, 64]{name}",
            [heads] * 3,
            lambda q, k, v, causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        )
    mask = (torch.arange(128) < 100).reshape(1, 1, 1, 128).expand(32, 1, 1, 128)
    rows.both(
        "attention [32, 12, 128, 32], padding mask",
        [(32, 12, 128, 32)] * 3,
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    )


def convolutions(rows):
    kernel = (64, 64, 3, 3)
    for name, x, w, stride, groups in [
        ("3x3", (1, 64, 56, 56), kernel, 1, 1),
        ("3x3", (8, 64, 56, 56), kernel, 1, 1),
        ("3x3 depthwise", (1, 64, 56, 56), (64, 1, 3, 3), 1, 64),
        ("3x3 depthwise", (8, 64, 56, 56), (64, 1, 3, 3), 1, 64),
        ("3x3, stride 2", (8, 64, 56, 56), (128, 64, 3, 3), 2, 1),
        ("1x1 to 256", (8, 64, 56, 56), (256, 64, 1, 1), 1, 1),
        ("3x3", (8, 256, 14, 14), (256, 256, 3, 3), 1, 1),
        ("7x7, stride 2, to 64", (1, 3, 224, 224), (64, 3, 7, 7), 2, 1),
        ("3x3", (8, 512, 2, 2), (512, 512, 3, 3), 1, 1),
        ("3x3", (64, 64, 7, 7), kernel, 1, 1),
        ("3x3", (8, 64, 16, 16), kernel, 1, 1),
        ("7x7 depthwise", (8, 96, 28, 28), (96, 1, 7, 7), 1, 96),
        ("7x7 depthwise", (8, 384, 7, 7), (384, 1, 7, 7), 1, 384),
        ("1x1 to 64", (8, 64, 7, 7), (64, 64, 1, 1), 1, 1),
        ("1x1 to 576", (8, 96, 2, 2), (576, 96, 1, 1), 1, 1),
        ("1x1 to 144", (8, 576, 1, 1), (144, 576, 1, 1), 1, 1),
    ]:

        def conv2d(x, w, stride=stride, groups=groups):
            return F.conv2d(x, w, stride=stride, padding=w.shape[-1] // 2, groups=groups)

        both_layouts(rows, f"conv2d {name}, {list(x)}", x, w, conv2d)
    name = "conv1d 9, [8, 64, 4000]"
    rows.both(name, [(8, 64, 4000), (64, 64, 9)], lambda x, w: F.conv1d(x, w, padding=4))
    name = "conv3d 3x3x3, [2, 16, 16, 28, 28]"
    rows.both(name, [(2, 16, 16, 28, 28), (16, 16, 3, 3, 3)], lambda x, w: F.conv3d(x, w, padding=1))
    name = "conv_transpose2d 4x4, stride 2, [8, 64, 28, 28] to 32"
    both_layouts(rows, name, (8, 64, 28, 28), (64, 32, 4, 4), lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1))
    both_layouts(rows, "max_pool2d 3, stride 2, [1, 64, 112, 112]", (1, 64, 112, 112), None, lambda x: F.max_pool2d(x, 3, 2, 1))
    for stride in (1, 2):
        name = f"max_pool2d 3, stride {stride}, [128, 64, 7, 7]"
        both_layouts(rows, name, (128, 64, 7, 7), None, lambda x, stride=stride: F.max_pool2d(x, 3, stride, 1))
    image = (8, 64, 56, 56)
    for name, f in [
        ("max_pool2d 2", lambda x: F.max_pool2d(x, 2)),
        ("avg_pool2d 2", lambda x: F.avg_pool2d(x, 2)),
        ("avg_pool2d 3, stride 1", lambda x: F.avg_pool2d(x, 3, 1, 1)),
        ("adaptive_avg_pool2d to 1", lambda x: F.adaptive_avg_pool2d(x, 1)),
        ("adaptive_max_pool2d to 7", lambda x: F.adaptive_max_pool2d(x, 7)),
        ("im2col 3x3", lambda x: F.unfold(x, 3, padding=1)),
    ]:
        both_layouts(rows, f"{name}, [8, 64, 56, 56]", image, None, f)
    small = (8, 512, 7, 7)
    both_layouts(rows, f"adaptive_avg_pool2d to 1, {list(small)}", small, None, lambda x: F.adaptive_avg_pool2d(x, 1))
    for mode in ("nearest", "bilinear", "bicubic"):
        name = f"interpolate {mode} by 2, [8, 64, 28, 28]"
        both_layouts(rows, name, (8, 64, 28, 28), None, lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode))


def both_layouts(rows, name, x, w, f):
    """The work in PyTorch's two memory formats; all tensors are converted beforehand."""

    def inputs(memory_format):
        shapes = [x] if w is None else [x, w]
        return [torch.randn(*shape).to(memory_format=memory_format) for shape in shapes]

    formats = [torch.contiguous_format, torch.channels_last]
    rows.add(name, lambda: [forward(f, inputs(layout)) for layout in formats])
    rows.add(
        f"{name}, and backward",
        lambda: [backward(f, [x.requires_grad_() for x in inputs(layout)]) for layout in formats],
    )


def recurrent(rows):
    for batch in (8, 1):
        name = f"lstm 256, 64 steps, batch {batch}"
        rows.add(name, lambda batch=batch: forward(nn.LSTM(256, 256), [torch.randn(64, batch, 256)]))
        rows.add(f"{name}, and backward", lambda batch=batch: lstm(batch))


def lstm(batch):
    layer = nn.LSTM(256, 256)
    x = torch.randn(64, batch, 256, requires_grad=True)
    return backward(lambda x: layer(x)[0], [x], list(layer.parameters()))


def small(rows):
    a, b, tracked = torch.randn(1), torch.randn(1), torch.randn(1, requires_grad=True)
    rows.add("add one element", lambda: lambda: a + b)
    rows.add("add one element, tracked", lambda: lambda: tracked + b)
    rows.add("mul one element by a number", lambda: no_grad(lambda: a * 2.0))


def add(rows):
    for family in (products, activations, normalizations, losses, attention, convolutions, recurrent, small):
        family(rows)
