"""Operations on short rows, on small maps, and on factors that are small in some direction, by name."""

import torch
import torch.nn.functional as F
from row import forward


def of_rows():
    """Operations on rows of a few elements to some dozens, with the shapes of their operands."""
    yield "softmax of rows", [(7168, 7)], lambda x: x.softmax(1)
    yield "logsumexp of rows", [(7168, 7)], lambda x: x.logsumexp(1)
    yield "norm of rows", [(7168, 7)], lambda x: x.norm(2, 1)
    yield "stack of columns", [(7168, 7), (7168, 7)], lambda x, y: torch.stack([x, y], 2)
    yield "sum of rows", [(7168, 7)], lambda x: x.sum(1)
    yield "amax of rows", [(7168, 7)], lambda x: x.amax(1)
    yield "argmax of rows", [(7168, 7)], lambda x: x.argmax(1)
    yield "sum of rows", [(4096, 49)], lambda x: x.sum(1)
    yield "prod of rows", [(4096, 20)], lambda x: x.prod(1)
    yield "amax of rows", [(4096, 20)], lambda x: x.amax(1)
    yield "argmax of rows", [(4096, 20)], lambda x: x.argmax(1)
    yield "max with indices of rows", [(4096, 20)], lambda x: x.max(1).values
    yield "log_softmax of rows", [(4096, 20)], lambda x: x.log_softmax(1)
    yield "layer_norm of rows", [(4096, 20)], lambda x: F.layer_norm(x, (20,))
    yield "std of rows", [(4096, 20)], lambda x: x.std(1)
    yield "cumsum of rows", [(4096, 20)], lambda x: x.cumsum(1)
    yield "sort of rows", [(4096, 20)], lambda x: x.sort(1).values
    yield "amax of rows", [(4096, 64)], lambda x: x.amax(1)
    yield "argmax of columns", [(4096, 3)], lambda x: x.argmax(0)
    yield "flip of rows", [(4096, 3)], lambda x: x.flip(0)
    yield "roll of rows", [(4096, 20)], lambda x: x.roll(3, 1)
    yield "cat of columns", [(4096, 3), (4096, 5)], lambda x, y: torch.cat([x, y], 1)


def of_maps():
    """The same for maps of a few positions."""
    maps = (8, 128, 7, 7)
    yield "permute and copy", [maps], lambda x: x.permute(0, 2, 3, 1).contiguous()
    yield "pad by reflection", [maps], lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect")
    yield "add channels", [maps, (128, 1, 1)], torch.add
    yield "softmax of channels", [maps], lambda x: x.softmax(1)
    yield "sum of dimensions 0, 2 and 3", [maps], lambda x: x.sum((0, 2, 3))


def with_gradients():
    """The same for maps of a few positions, heads of a few queries and small factors, with their gradients."""
    maps, larger, heads = (8, 128, 7, 7), (8, 128, 14, 14), (8, 12, 128, 64)
    yield "avg_pool2d 2", [larger], lambda x: F.avg_pool2d(x, 2)
    yield "max_pool2d 2", [larger], lambda x: F.max_pool2d(x, 2)
    yield "group_norm of 1 group", [maps], lambda x: F.group_norm(x, 1)
    yield "group_norm of 32 groups", [maps], lambda x: F.group_norm(x, 32)
    yield "conv2d 2x2, stride 2", [(8, 64, 14, 14), (128, 64, 2, 2)], lambda x, w: F.conv2d(x, w, stride=2)
    yield "conv2d 3x3, stride 2", [(8, 3, 64, 64), (16, 3, 3, 3)], lambda x, w: F.conv2d(x, w, stride=2, padding=1)
    yield "conv2d 5x5 depthwise", [(8, 96, 4, 4), (96, 1, 5, 5)], lambda x, w: F.conv2d(x, w, padding=2, groups=96)
    yield "conv1d 3", [(8, 32, 50), (32, 32, 3)], lambda x, w: F.conv1d(x, w, padding=1)
    yield "attention of 1 query", [(8, 12, 1, 64), heads, heads], F.scaled_dot_product_attention
    yield "attention of 20 positions", [(32, 12, 20, 32)] * 3, F.scaled_dot_product_attention
    yield "matmul, 512 by 8x8 of", [(512, 8, 8)] * 2, torch.matmul
    yield "linear to 10 of", [(64, 128), (10, 128)], F.linear
    yield "linear to 1000 of", [(8, 8), (1000, 8)], F.linear
    yield "matmul by 4096x5 of", [(5, 4096), (4096, 5)], torch.matmul
    yield "matmul by 1000x10 of", [(7, 1000), (1000, 10)], torch.matmul
    yield "matmul by 100x1 of", [(100, 100), (100, 1)], torch.matmul


def add(rows):
    for operations in (of_rows, of_maps):
        for name, shapes, f in operations():
            make = lambda f=f, shapes=shapes: forward(f, [torch.randn(shape) for shape in shapes])
            rows.add(f"{name} {list(shapes[0])}", make)
    for name, shapes, f in with_gradients():
        rows.both(f"{name} {list(shapes[0])}", shapes, f)
    index = torch.tensor([6, 0, 3, 3, 1])
    name = "index_select of columns [8, 128, 7, 7]"
    rows.add(name, lambda: forward(lambda x: x.index_select(-1, index), [torch.randn(8, 128, 7, 7)]))
