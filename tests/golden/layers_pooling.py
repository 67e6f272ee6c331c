"""layers_pooling.safetensors: max pooling and unpooling."""

import contextlib
from unittest import mock

import torch
import torch.nn.functional as F
from torch import nn

from common import integers
from layer_family import Family, Input

SPATIAL = {1: [9], 2: [7, 5], 3: [5, 4, 6]}


def pool(kernel, **kwargs):
    return {"kernel_size": kernel, **kwargs}


def write():
    family = Family("pooling", modes=("train", "eval"))
    ties = integers([2, 2, 7, 5], 1, 0, 3).double()
    one = integers([1, 2, 6, 7], 2, -1, 2).double()

    def both(kwargs, values, **options):
        family.case("MaxPool2d", kwargs, [values], **options)

    both(pool(2), [2, 2, 6, 4])
    both(pool(2), ties, label="odd size, ties")
    both(pool(2, ceil_mode=True), ties)
    both(pool(3, stride=1, padding=1), ties, label="overlapping windows, ties")
    both(pool(3, stride=2, padding=1, ceil_mode=True), one)
    both(pool([2, 3], stride=[1, 2], padding=[1, 1]), one)
    both(pool(2, dilation=2), one)
    both(pool([3, 2], stride=2, dilation=[1, 2], padding=[1, 0], ceil_mode=True), one)
    both(pool(2, stride=3, ceil_mode=True), [1, 1, 7, 5],
         label="a window that would start in the padding on the right is dropped")
    both(pool(2), [2, 5, 4], label="no batch dimension")
    family.layouts("MaxPool2d", pool(2), [2, 3, 4, 6], "transposed:2,3")
    family.layouts("MaxPool2d", pool(3, stride=2), [2, 3, 5, 5], "transposed:1,3")
    inf = float("inf")
    both(pool(2), torch.tensor([[1, float("nan"), -inf, -inf], [2, 3, -inf, -inf], [inf, 1, float("nan"), 1],
                                [5, 1, 1, float("nan")]]).reshape(1, 1, 4, 4),
         label="NaN wins, minus infinity pads")
    both(pool(2), [0, 2, 4, 4], label="empty batch")
    family.halves("MaxPool2d", pool(3, stride=2, padding=1), [one])
    image = [1, 1, 6, 6]
    family.refuses("MaxPool2d", pool([2, 0]), [image], quotes=["kernel_size = (2, 0)"])
    family.refuses("MaxPool2d", pool(3, padding=2), [image], quotes=["padding = (2, 2)", "(3, 3)"])
    family.refuses("MaxPool2d", pool(3, stride=[1, 0]), [image], quotes=["stride = (1, 0)"])
    family.refuses("MaxPool2d", pool(3, dilation=0), [image], quotes=["dilation = (0, 0)"])
    family.refuses("MaxPool2d", pool([2, 2, 2]), [image], quotes=["3", "2"])
    family.refuses("MaxPool2d", pool(7), [image], quotes=["7", "6"])
    family.refuses("MaxPool2d", pool(2), [[6, 6]], quotes=["[6, 6]"])
    with indices_at_the_call(f"{kind}Pool{dims}d" for kind in ("Max", "AdaptiveMax", "FractionalMax") for dims in SPATIAL):
        for dims, size in SPATIAL.items():
            greatest(family, dims, size)
            adaptive(family, dims, size)
            # With distinct places, as here, the way back is determined.
            torch.use_deterministic_algorithms(False)
            back(family, dims, size)
            if dims > 1:
                fractional(family, dims, size)
            torch.use_deterministic_algorithms(True)
    return family.write()


@contextlib.contextmanager
def indices_at_the_call(names):
    """Layers of which `return_indices` is an argument of the call, as it is of ours."""

    def variant(kind):
        def forward(self, input, return_indices=False):
            self.return_indices = return_indices
            return kind.forward(self, input)

        return type(kind.__name__, (kind,), {"forward": forward})

    with contextlib.ExitStack() as patches:
        for name in names:
            if hasattr(nn, name):
                patches.enter_context(mock.patch.object(nn, name, variant(getattr(nn, name))))
        yield


def greatest(family, dims, size):
    layer, each = f"MaxPool{dims}d", lambda *sizes: list(sizes)[:dims]
    ties = integers([2, 2, *size], 3, 0, 3).double()
    asked = {"return_indices": True}
    if dims != 2:
        family.case(layer, pool(2), [ties], label="odd size, ties")
        family.case(layer, pool(3, stride=2, padding=1, ceil_mode=True), [ties])
        family.case(layer, pool(each(3, 2, 1), stride=each(1, 2, 3), padding=each(1, 1, 0)), [[1, 2, *size]])
        family.case(layer, pool(2, dilation=each(3, 2, 2)), [[1, 2, *size]])
        family.case(layer, pool(2), [[2, *size]], label="no batch dimension")
        family.case(layer, pool(2), [[0, 2, *size]], label="empty batch")
        family.layouts(layer, pool(2), [2, 3, *size], f"transposed:1,{dims + 1}", "strided:2")
        image = [[1, 2, *size]]
        family.refuses(layer, pool(3, padding=2), image, quotes=["padding = (2,", "(3,"])
        family.refuses(layer, pool(2, stride=0), image, quotes=["stride = (0,"])
        family.refuses(layer, pool([2] * (dims + 1)), image, quotes=[str(dims + 1), str(dims)])
        family.refuses(layer, pool(20), image, quotes=["20", "[1, 2, "])
        family.refuses(layer, pool(2), [[2] * (dims + 3)], quotes=["[2, 2, "])
    family.case(layer, pool(2), [ties], named=asked)
    family.case(layer, pool(3, stride=each(2, 1, 2), padding=1), [[2, *size]], named=asked)
    family.case(layer, pool(2, stride=1, dilation=2, ceil_mode=True), [[1, 2, *size]], named=asked, dtypes=["f32"])


def adaptive(family, dims, size):
    layer, each = f"AdaptiveMaxPool{dims}d", lambda *sizes: list(sizes)[:dims]
    family.case(layer, {"output_size": 1}, [[2, 2, *size]])
    family.case(layer, {"output_size": each(4, 3, 2)}, [[2, 2, *size]])
    # PyTorch's one-dimensional layer takes no None.
    family.case(layer, {"output_size": each(4, None if dims > 1 else 4, 3)}, [[1, 2, *size]], named={"return_indices": True})
    family.case(layer, {"output_size": 3}, [integers([1, 2, *size], 4, 0, 2).double()], label="ties")
    family.case(layer, {"output_size": 10}, [[2, *size]], label="no batch dimension, more places than there are",
                dtypes=["f32"])
    family.case(layer, {"output_size": 2}, [[0, 2, *size]], label="empty batch")
    family.layouts(layer, {"output_size": 2}, [2, 3, *size], f"transposed:1,{dims + 1}", "narrowed:2")
    family.refuses(layer, {"output_size": [2] * (dims + 1)}, [[1, 2, *size]], quotes=["(2, 2", str(dims)])
    family.refuses(layer, {"output_size": -2}, [[1, 2, *size]], quotes=["-2"])
    family.refuses(layer, {"output_size": 2}, [[2] * (dims + 3)], quotes=["[2, 2, "])
    family.refuses(layer, {"output_size": 2}, [[1, 2, 0, *size[1:]]], quotes=["[1, 2, 0"])


def back(family, dims, size):
    layer = f"MaxUnpool{dims}d"
    find = getattr(F, f"max_pool{dims}d")

    def both(kwargs, shape, named=None, **options):
        x = torch.arange(torch.Size(shape).numel()).double().sin().reshape(shape)
        values, places = find(x, return_indices=True, **kwargs)
        family.case(layer, kwargs, [Input(values), Input(places, grad=False)], named=named, **options)
        return values, places

    even, odd = [n // 2 * 2 for n in size], [n // 2 * 2 + 1 for n in size]
    values, places = both(pool(2), [2, 2, *even])
    both(pool(2), [2, 2, *size], {"output_size": size})
    both(pool(3, stride=2, padding=1), [1, 2, *odd])
    both(pool(3, stride=2), [1, 2, *size], {"output_size": size})
    both(pool(2), [2, *even], label="no batch dimension")
    none = [0, 2, *size]
    family.case(layer, pool(2), [none, Input(torch.zeros(none, dtype=torch.int64), grad=False)], label="empty batch")
    both(pool([2] * dims, stride=[3] * dims), [1, 1, *size], {"output_size": size}, dtypes=["f32"])
    far = [n + 2 for n in even]
    given = [Input(values), Input(places, grad=False)]
    family.refuses(layer, pool(2), given, named={"output_size": far}, quotes=[str(far[0])])
    family.refuses(layer, pool(2), [Input(values), Input(places[:1], grad=False)], quotes=["[1, 2, ", "[2, 2, "])
    family.refuses(layer, pool(2), [Input(values), Input(places + 1000, grad=False)], quotes=["10"])
    family.refuses(layer, pool(2), [Input(values), Input(values, grad=False)], quotes=["float32", "I64"])
    family.refuses(layer, pool(1, padding=5), given, quotes=["5"])
    family.refuses(layer, pool([2] * (dims + 1)), given, quotes=[str(dims + 1)])


def fractional(family, dims, size):
    layer, each = f"FractionalMaxPool{dims}d", lambda *sizes: list(sizes)[:dims]
    family.case(layer, pool(2, output_size=each(3, 2, 4)), [[2, 3, *size]])
    family.case(layer, pool(each(3, 2, 2), output_size=2), [[2, 2, *size]], named={"return_indices": True}, seed=3)
    family.case(layer, pool(2, output_ratio=0.5), [integers([2, 2, *size], 4, 0, 3).double()], label="ties")
    family.case(layer, pool(1, output_ratio=each(0.9, 0.5, 0.7)), [[1, 2, *size]], mode="eval")
    family.case(layer, pool(2, output_size=1), [[1, 2, *size]], label="one window, at the end")
    family.case(layer, pool(2, output_size=2), [[3, *size]], label="no batch dimension")
    family.case(layer, pool(2, output_size=2), [[0, 2, *size]], label="empty batch")
    family.layouts(layer, pool(2, output_size=2), [2, 3, *size], f"transposed:1,{dims + 1}", "strided:2")
    image = [[1, 2, *size]]
    family.refuses(layer, pool(2), quotes=["output_size", "output_ratio"])
    family.refuses(layer, pool(2, output_size=2, output_ratio=0.5), quotes=["output_size = (2, 2", "0.5"])
    family.refuses(layer, pool(2, output_ratio=1.5), quotes=["output_ratio = (1.5,"])
    family.refuses(layer, pool(20, output_size=2), image, quotes=["20", "[1, 2, "])
    family.refuses(layer, pool(2, output_size=20), image, quotes=["20", "[1, 2, "])
    family.refuses(layer, pool(2, output_size=2), [[2] * (dims + 3)], quotes=["[2, 2, "])
