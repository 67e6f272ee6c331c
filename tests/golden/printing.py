"""printing.safetensors: tensors, and their printed form."""

import torch

from common import DTYPES, integers, random, write_safetensors

INF, NAN = float("inf"), float("nan")


def examples():
    for dtype in ("f32", "f64", "f16", "bf16"):
        kind = DTYPES[dtype]
        for values in (
            1.5, 3.0, 0.0, -0.0, NAN, -INF, 1e-7, 12345.678,
            [], [1.0, 2.0], [1.0, 2.5], [0.0, 0.0], [-1.0, 10.0, 100.0],
            [1.0, INF], [NAN, INF, -INF], [1.0, NAN], [0.5, INF, -INF], [NAN, 1e-6], [1e-5, 2e-7], [1.0, 1e5], [1000.0, 1.0], [1001.0, 1.0],
            [1001.5, 1.0], [0.0001, 0.05], [0.00009, 0.05], [0.03125, 0.09375], [0.00005, 0.00015], [2.5, 3.5], [1e8, 1e6], [2e8, 1e6], [-0.00001, 1.0],
            [123456.0, 1234567.0], [[1.0, 2.0], [3.0, 4.0]], [[0.25, -0.5], [INF, 1e-3]], [[[1.0], [2.0]], [[3.0], [4.0]]],
            [[[[1.5, 2.0]], [[3.0, 4.0]]], [[[5.0, 6.0]], [[7.0, 8.0]]]],
        ):
            yield torch.tensor(values, dtype=kind)
        yield random([3, 5], 1).to(kind)
        yield (random([40], 2) * 100).to(kind)
        yield random([2, 30], 3).to(kind)
        yield (random([1100], 4) * 3).to(kind)
        yield random([1000], 5).to(kind)
        yield random([8, 9, 20], 6).to(kind)
    for dtype in ("i64", "i32", "u8"):
        kind = DTYPES[dtype]
        for values in (0, 7, [], [1, 20, 200], [[1, 2], [3, 44]], [[[1, 2]], [[3, 4]]]):
            yield torch.tensor(values, dtype=kind)
        yield integers([50], 7, 0, 200).to(kind)
        yield integers([30, 40], 8, 0, 200).to(kind)
        yield integers([1001], 9, 0, 5).to(kind)
    yield torch.tensor([-5, 10])
    yield torch.tensor([2**63 - 1, -(2**63)])
    for values in (True, [], [True, False], [[False], [True]]):
        yield torch.tensor(values, dtype=torch.bool)
    yield integers([100, 11], 10, 0, 2).bool()
    for shape in ([0], [0, 3], [3, 0], [2, 0, 4], [1, 0]):
        for kind in (torch.float32, torch.float64, torch.int64, torch.bool):
            yield torch.zeros(shape, dtype=kind)
    yield random([2, 3, 2, 2], 11)
    yield random([1, 1, 1, 1], 12)
    yield random([7, 200], 13)
    yield random([200, 7], 14)
    yield random([4, 4, 4, 20], 15)
    yield random([1, 2000], 16)
    yield random([2000, 1], 17)
    yield torch.arange(2000).reshape(10, 10, 20)
    yield torch.cat([torch.zeros(3), torch.full([2000], 1e9), torch.ones(3)])
    # As wide as the line, and one more: the suffix moves to a line of its own.
    for length in (2, 7, 8, 9, 10, 11, 12):
        yield torch.full([length], 0.5, dtype=torch.float64)
        yield torch.full([2, length], 0.5, dtype=torch.float64)


def write():
    tensors, cases = {}, []
    for i, tensor in enumerate(examples()):
        tensors[f"{i}"] = tensor.clone(memory_format=torch.contiguous_format)
        grads = (False, True) if tensor.dtype == torch.float64 or i % 5 == 0 and tensor.is_floating_point() else (False,)
        for grad in grads:
            text = repr(tensor.clone().requires_grad_() if grad else tensor)
            cases.append({"key": f"{i}", "requires_grad": grad, "text": text})
    write_safetensors("printing.safetensors", tensors, cases)
    return len(cases)
