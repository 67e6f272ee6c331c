"""layers/<layer>_<n>.safetensors: one layer, one configuration, one dtype, forward and backward."""

import collections
import itertools

import torch
from torch import nn

from common import DTYPES, integers, leaf, random, write_safetensors

COUNTERS = collections.Counter()


def build(spec, dtype):
    """A module from its JSON description: {"layer", "kwargs"} or, for Sequential, {"modules"}."""
    if spec["layer"] == "Sequential":
        children = [(name, build(child, dtype)) for name, child in spec["modules"]]
        return nn.Sequential(collections.OrderedDict(children))
    kwargs = {k: tuple(v) if isinstance(v, list) else v for k, v in spec["kwargs"].items()}
    if spec["layer"] in ("Linear", "Conv2d", "BatchNorm1d", "BatchNorm2d"):
        kwargs["dtype"] = dtype
    return getattr(nn, spec["layer"])(**kwargs)


def randomise_norms(module, seed):
    """Move batch norms away from ones and zeros, which would hide mistakes."""
    for name, norm in module.named_modules():
        if not isinstance(norm, (nn.BatchNorm1d, nn.BatchNorm2d)):
            continue
        for i, (key, value) in enumerate(norm.state_dict().items()):
            if value.is_floating_point():
                low, high = (0.5, 1.5) if key in ("weight", "running_var") else (-1.0, 1.0)
                value.copy_(random(value.shape, seed + i, value.dtype, low, high))


def layer_case(
    name, spec, shape, dtype="f32", mode="train", layout="contiguous", seed=0, warmup=0, data=None, label=""
):
    """Run one layer and write its file.

    `torch.manual_seed(seed)` runs right before the constructor and again right before the forward
    pass, so Linear and Conv2d weights and dropout masks can be reproduced, not only read.
    """
    number = COUNTERS[name]
    COUNTERS[name] += 1
    kind = DTYPES[dtype]
    torch.manual_seed(seed)
    module = build(spec, kind)
    randomise_norms(module, 100 + seed)
    tensors = {f"param.{key}": value.clone() for key, value in module.state_dict().items()}
    for step in range(warmup):
        x = random(shape, 500 + step, kind)
        tensors[f"warmup.{step}.input"] = x
        tensors[f"warmup.{step}.output"] = module.train()(x).detach()
        for key, value in module.state_dict().items():
            if key.rpartition(".")[2] in ("running_mean", "running_var", "num_batches_tracked"):
                tensors[f"warmup.{step}.buffer.{key}"] = value.clone()
    module.train(mode == "train")
    values = random(shape, 1 + number, kind) if data is None else data.to(kind)
    x = leaf(values, layout)
    torch.manual_seed(seed)
    y = module(x)
    tensors["input.0"], tensors["output"] = x.detach(), y.detach()
    tensors["grad_output"] = random(y.shape, 900 + number, kind)
    y.backward(tensors["grad_output"])
    tensors["grad_input.0"] = x.grad
    for key, parameter in module.named_parameters():
        if parameter.grad is not None:
            tensors[f"grad.{key}"] = parameter.grad
    for key, value in module.named_buffers():
        tensors[f"buffer_after.{key}"] = value
    case = dict(
        spec,
        label=label,
        mode=mode,
        dtype=dtype,
        seed=seed,
        warmup=warmup,
        inputs=[{"layout": layout, "strides": list(x.stride())}],
        keys=list(module.state_dict()),
        repr=repr(module),
    )
    write_safetensors(f"layers/{name}_{number}.safetensors", tensors, case)


def layer(name, **kwargs):
    """The JSON description of a plain layer."""
    return {"layer": name, "kwargs": kwargs}


def sequential(*modules):
    """The JSON description of a Sequential: (name, spec) pairs, or specs that are numbered."""
    pairs = [m if isinstance(m, tuple) else (str(i), m) for i, m in enumerate(modules)]
    return {"layer": "Sequential", "modules": [list(pair) for pair in pairs]}


def both(name, spec, shape, layout="contiguous", **kwargs):
    """The same case in f32 and f64; memory layouts are tried in f32 only."""
    for dtype in ("f32", "f64") if layout == "contiguous" else ("f32",):
        layer_case(name, spec, shape, dtype, layout=layout, **kwargs)


def linear_cases():
    both("linear", layer("Linear", in_features=3, out_features=2), [5, 3])
    both("linear", layer("Linear", in_features=7, out_features=5, bias=False), [3, 7], seed=1)
    both("linear", layer("Linear", in_features=4, out_features=3), [4], label="one dimension")
    both("linear", layer("Linear", in_features=5, out_features=3), [2, 3, 5], label="three dimensions")
    both("linear", layer("Linear", in_features=6, out_features=4), [5, 6], layout="transposed:0,1")
    both("linear", layer("Linear", in_features=6, out_features=1), [5, 6], layout="narrowed:1")
    both("linear", layer("Linear", in_features=3, out_features=3), [4, 3], layout="expanded:0",
         data=random([1, 3], 77).expand(4, 3))
    both("linear", layer("Linear", in_features=3, out_features=2), [0, 3], label="empty batch")
    both("linear", layer("Linear", in_features=11, out_features=13), [7, 11])
    for dtype in ("f16", "bf16"):
        layer_case("linear", layer("Linear", in_features=5, out_features=3), [4, 5], dtype)


def conv_cases():
    def conv(cin, cout, kernel, **kwargs):
        return layer("Conv2d", in_channels=cin, out_channels=cout, kernel_size=kernel, **kwargs)

    both("conv2d", conv(1, 2, 3), [2, 1, 7, 5])
    both("conv2d", conv(3, 4, 3, bias=False), [2, 3, 5, 7])
    both("conv2d", conv(3, 4, 3, stride=2, padding=1), [2, 3, 7, 9])
    both("conv2d", conv(4, 6, [3, 2], stride=[2, 1], padding=[1, 0], groups=2), [2, 4, 7, 5])
    both("conv2d", conv(3, 6, 3, groups=3, padding=1), [1, 3, 5, 5], label="depthwise")
    both("conv2d", conv(2, 3, 3, dilation=2, padding=2), [2, 2, 7, 7])
    both("conv2d", conv(2, 3, [3, 2], dilation=[1, 3]), [1, 2, 6, 7])
    both("conv2d", conv(2, 3, 3, padding="same"), [2, 2, 5, 6])
    both("conv2d", conv(2, 3, [2, 4], padding="same", dilation=[1, 2]), [1, 2, 5, 6],
         label="even kernel: the extra row and column of padding go to the end")
    both("conv2d", conv(2, 3, 3, padding="valid", stride=2), [1, 2, 7, 6])
    both("conv2d", conv(2, 3, 1), [2, 2, 3, 3])
    both("conv2d", conv(2, 3, 1, stride=2, bias=False), [2, 2, 5, 4], label="strided 1x1 shortcut")
    for padding_mode in ("reflect", "replicate", "circular"):
        both("conv2d", conv(2, 3, 3, padding=[2, 1], padding_mode=padding_mode), [1, 2, 5, 4])
        both("conv2d", conv(2, 2, [2, 3], padding="same", padding_mode=padding_mode), [1, 2, 4, 5])
    both("conv2d", conv(2, 3, 3, padding=1), [2, 4, 5], label="no batch dimension", data=random([2, 4, 5], 5))
    both("conv2d", conv(3, 2, 3), [2, 3, 5, 5], layout="transposed:1,3")
    both("conv2d", conv(3, 2, 3, padding=1), [2, 3, 4, 6], layout="transposed:2,3")
    both("conv2d", conv(3, 2, 2), [2, 3, 4, 5], layout="narrowed:3")
    both("conv2d", conv(1, 2, 3, padding=1), [2, 1, 4, 4], layout="strided:2")
    both("conv2d", conv(2, 3, 3), [0, 2, 5, 5], label="empty batch")
    both("conv2d", conv(2, 3, 3), [1, 2, 3, 3], label="output of one pixel")
    both("conv2d", conv(2, 3, 2, stride=3), [1, 2, 7, 6], label="stride beyond the kernel")
    for dtype in ("f16", "bf16"):
        layer_case("conv2d", conv(2, 3, 3, padding=1), [1, 2, 5, 4], dtype)


def batch_norm_cases():
    for name, plain, shapes in (
        ("BatchNorm1d", 3, ([5, 3], [3, 3, 4])),
        ("BatchNorm2d", 3, ([2, 3, 2, 3],)),
    ):
        for shape in shapes:
            file = name.lower()
            both(file, layer(name, num_features=plain), shape)
            both(file, layer(name, num_features=plain), shape, mode="eval")
            both(file, layer(name, num_features=plain), shape, mode="eval", warmup=3)
            both(file, layer(name, num_features=plain), shape, warmup=2)
            both(file, layer(name, num_features=plain, momentum=None), shape, mode="eval", warmup=3)
            both(file, layer(name, num_features=plain, momentum=None), shape)
            both(file, layer(name, num_features=plain, momentum=0.3, eps=0.01), shape, warmup=2)
            both(file, layer(name, num_features=plain, momentum=0.0), shape, label="statistics stay")
            both(file, layer(name, num_features=plain, affine=False), shape)
            both(file, layer(name, num_features=plain, affine=False), shape, mode="eval")
            both(file, layer(name, num_features=plain, bias=False), shape, warmup=1)
            both(file, layer(name, num_features=plain, track_running_stats=False), shape)
            both(file, layer(name, num_features=plain, track_running_stats=False), shape, mode="eval",
                 label="without statistics, eval normalises by the batch")
            both(file, layer(name, num_features=plain, affine=False, track_running_stats=False), shape)
            last = len(shape) - 1
            both(file, layer(name, num_features=plain), shape, layout=f"transposed:{last - 1},{last}")
    both("batchnorm1d", layer("BatchNorm1d", num_features=2), [1, 2, 5], label="one sample, five positions")
    both("batchnorm1d", layer("BatchNorm1d", num_features=2), [1, 2], mode="eval", label="one sample is fine in eval")
    both("batchnorm1d", layer("BatchNorm1d", num_features=4), [3, 4], label="constant channels: the variance is zero",
         data=random([1, 4], 3).expand(3, 4))
    both("batchnorm1d", layer("BatchNorm1d", num_features=5), [6, 5], layout="narrowed:1")
    both("batchnorm2d", layer("BatchNorm2d", num_features=5), [3, 5, 1, 3])
    both("batchnorm2d", layer("BatchNorm2d", num_features=2), [2, 2, 3, 5], layout="transposed:1,3")
    for dtype in ("f16", "bf16"):
        layer_case("batchnorm1d", layer("BatchNorm1d", num_features=3), [5, 3], dtype, mode="eval")
        layer_case("batchnorm2d", layer("BatchNorm2d", num_features=3), [2, 3, 4, 3], dtype, warmup=1)
    both("batchnorm1d", layer("BatchNorm1d", num_features=3), [0, 3], label="an empty batch is counted and moves nothing")
    both("batchnorm2d", layer("BatchNorm2d", num_features=2), [0, 2, 3, 1], warmup=1)


SPECIAL = torch.tensor([-1.5, -0.0, 0.0, 1e-30, 2.5, float("nan"), float("inf"), float("-inf")])


def elementwise_cases():
    both("relu", layer("ReLU"), [3, 5])
    both("relu", layer("ReLU"), [8], data=SPECIAL, label="zeros, NaN and infinities")
    both("relu", layer("ReLU"), [], data=torch.tensor(-0.5), label="no dimension")
    both("relu", layer("ReLU"), [0, 3], label="empty")
    both("relu", layer("ReLU"), [4, 3], layout="transposed:0,1")
    both("relu", layer("ReLU"), [4, 3], layout="strided:1")
    for dtype in ("f16", "bf16"):
        layer_case("relu", layer("ReLU"), [8], dtype, data=SPECIAL)
    for shape, layout in (([3, 5], "contiguous"), ([3, 5], "transposed:0,1"), ([0], "contiguous")):
        both("identity", layer("Identity"), shape, layout=layout)


def dropout_cases():
    for p, mode in itertools.product((0.0, 0.3, 0.5, 1.0), ("train", "eval")):
        both("dropout", layer("Dropout", p=p), [3, 7], mode=mode, seed=3)
    both("dropout", layer("Dropout"), [5], seed=0, label="p is 0.5 when not given")
    both("dropout", layer("Dropout", p=0.3), [9, 13], seed=11)
    both("dropout", layer("Dropout", p=0.3), [4, 6], seed=5, layout="transposed:0,1",
         label="the mask follows the memory order of a dense input")
    both("dropout", layer("Dropout", p=0.3), [4, 6], seed=5, layout="narrowed:1")
    both("dropout", layer("Dropout", p=0.4), [2, 3, 4], seed=5, layout="transposed:0,2")
    both("dropout", layer("Dropout", p=0.3), [5, 4], seed=5, layout="expanded:0",
         data=random([1, 4], 8).expand(5, 4))
    both("dropout", layer("Dropout", p=0.5), [], data=torch.tensor(1.5), seed=2, label="no dimension")
    both("dropout", layer("Dropout", p=0.5), [0, 3], label="empty")
    both("dropout", layer("Dropout", p=0.5), [8], data=SPECIAL, seed=4,
         label="a dropped NaN stays NaN: the input is multiplied by the mask")
    both("dropout", layer("Dropout", p=1.0), [8], data=SPECIAL, seed=4)
    for dtype in ("f16", "bf16"):
        layer_case("dropout", layer("Dropout", p=0.3), [3, 7], dtype, seed=3)


def max_pool_cases():
    ties = integers([2, 2, 7, 5], 1, 0, 3).double()
    one = integers([1, 2, 6, 7], 2, -1, 2).double()

    def pool(*args, **kwargs):
        return layer("MaxPool2d", kernel_size=args[0], **kwargs)

    both("maxpool2d", pool(2), [2, 2, 6, 4])
    both("maxpool2d", pool(2), ties.shape, data=ties, label="odd size, ties")
    both("maxpool2d", pool(2, ceil_mode=True), ties.shape, data=ties)
    both("maxpool2d", pool(3, stride=1, padding=1), ties.shape, data=ties, label="overlapping windows, ties")
    both("maxpool2d", pool(3, stride=2, padding=1, ceil_mode=True), one.shape, data=one)
    both("maxpool2d", pool([2, 3], stride=[1, 2], padding=[1, 1]), one.shape, data=one)
    both("maxpool2d", pool(2, dilation=2), one.shape, data=one)
    both("maxpool2d", pool([3, 2], stride=2, dilation=[1, 2], padding=[1, 0], ceil_mode=True), one.shape, data=one)
    both("maxpool2d", pool(2, stride=3, ceil_mode=True), [1, 1, 7, 5],
         label="a window that would start in the padding on the right is dropped")
    both("maxpool2d", pool(2), [2, 5, 4], label="no batch dimension")
    both("maxpool2d", pool(2), [2, 3, 4, 6], layout="transposed:2,3")
    both("maxpool2d", pool(3, stride=2), [2, 3, 5, 5], layout="transposed:1,3")
    both("maxpool2d", pool(2), [1, 1, 4, 4], label="NaN wins, minus infinity pads",
         data=torch.tensor([[1, float("nan"), -float("inf"), -float("inf")],
                            [2, 3, -float("inf"), -float("inf")],
                            [float("inf"), 1, float("nan"), 1],
                            [5, 1, 1, float("nan")]]).reshape(1, 1, 4, 4))
    both("maxpool2d", pool(2), [0, 2, 4, 4], label="empty batch")
    for dtype in ("f16", "bf16"):
        layer_case("maxpool2d", pool(3, stride=2, padding=1), one.shape, dtype, data=one)


def flatten_cases():
    both("flatten", layer("Flatten"), [2, 3, 2, 2])
    both("flatten", layer("Flatten", start_dim=0), [2, 3, 2])
    both("flatten", layer("Flatten", start_dim=1, end_dim=2), [2, 3, 2, 2])
    both("flatten", layer("Flatten", start_dim=-3, end_dim=-2), [2, 3, 2, 2])
    both("flatten", layer("Flatten", start_dim=2, end_dim=2), [2, 3, 4], label="one dimension: nothing to do")
    both("flatten", layer("Flatten"), [2, 3, 4], layout="transposed:1,2", label="needs a copy")
    both("flatten", layer("Flatten", start_dim=0, end_dim=-1), [], data=torch.tensor(1.5), label="no dimension gives one")
    both("flatten", layer("Flatten"), [0, 3, 2], label="empty batch")
    both("flatten", layer("Flatten"), [3, 0, 2], label="an empty dimension")


def sequential_cases():
    linear = lambda i, o: layer("Linear", in_features=i, out_features=o)
    both("sequential", sequential(), [2, 3], label="empty: the identity")
    both("sequential", sequential(linear(4, 5), layer("ReLU"), linear(5, 2)), [3, 4])
    both("sequential", sequential(("first", linear(4, 3)), ("act", layer("ReLU")), ("last", linear(3, 3))), [3, 4])
    both("sequential",
         sequential(layer("Conv2d", in_channels=1, out_channels=2, kernel_size=3, padding=1, bias=False),
                    layer("BatchNorm2d", num_features=2), layer("ReLU"), layer("MaxPool2d", kernel_size=2),
                    sequential(layer("Flatten"), sequential(layer("Dropout", p=0.3), linear(12, 3)))),
         [3, 1, 4, 6], seed=2)
    both("sequential",
         sequential(("body", sequential(linear(3, 3), linear(3, 3), linear(3, 3))), ("empty", sequential()),
                    ("head", sequential(("norm", layer("BatchNorm1d", num_features=3)), ("fc", linear(3, 2))))),
         [4, 3], mode="eval", warmup=2)


def cross_entropy_case(shape, target, weight=None, dtype="f32", layout="contiguous", label="", soft=False, **kwargs):
    """One loss: integer classes, or class probabilities when `soft`; `weight` is a buffer."""
    name = "crossentropyloss"
    number = COUNTERS[name]
    COUNTERS[name] += 1
    kind = DTYPES[dtype]
    weights = None if weight is None else torch.tensor(weight, dtype=kind)
    module = nn.CrossEntropyLoss(weight=weights, **kwargs)
    x = leaf(random(shape, 40 + number, kind, -3, 3), layout)
    if soft:
        target = target.detach().to(kind, copy=True).requires_grad_()
    y = module(x, target)
    tensors = {f"param.{key}": value for key, value in module.state_dict().items()}
    tensors |= {"input.0": x.detach(), "target": target.detach(), "output": y.detach()}
    tensors["grad_output"] = random(y.shape, 60 + number, kind)
    y.backward(tensors["grad_output"])
    tensors["grad_input.0"] = x.grad
    if soft:
        tensors["grad_target"] = target.grad
    case = {
        "layer": "CrossEntropyLoss",
        "kwargs": kwargs | ({"weight": {"tensor": "param.weight"}} if weight else {}),
        "label": label,
        "mode": "train",
        "dtype": dtype,
        "target": "probabilities" if soft else "classes",
        "inputs": [{"layout": layout, "strides": list(x.stride())}],
        "keys": list(module.state_dict()),
        "repr": repr(module),
    }
    write_safetensors(f"layers/{name}_{number}.safetensors", tensors, case)


def cross_entropy_cases():
    def both_losses(*args, **kwargs):
        for dtype in ("f32", "f64"):
            cross_entropy_case(*args, dtype=dtype, **kwargs)

    plain, grid = torch.tensor([0, 3, 2, 3, 1]), integers([2, 3], 4, 0, 4)
    weight = [0.5, 2.0, 0.0, 1.25]
    soft = torch.softmax(random([5, 4], 9, torch.float64), 1)
    soft_grid = torch.softmax(random([2, 4, 3], 9, torch.float64), 1)
    for reduction in ("none", "mean", "sum"):
        both_losses([5, 4], plain, reduction=reduction)
        both_losses([5, 4], plain, weight, reduction=reduction)
        both_losses([5, 4], plain, weight, reduction=reduction, label_smoothing=0.1, ignore_index=3)
        both_losses([2, 4, 3], grid, weight, reduction=reduction, label_smoothing=0.2, ignore_index=1)
        both_losses([5, 4], soft, weight, reduction=reduction, label_smoothing=0.1, soft=True)
        both_losses([2, 4, 3], soft_grid, reduction=reduction, soft=True,
                    label="the mean of probabilities divides by N and d1, never by weights")
    both_losses([5, 4], torch.tensor([0, -100, 2, -100, 1]), label="-100 is ignored when not told otherwise")
    both_losses([5, 4], torch.tensor([-1, 1, -1, 2, 0]), ignore_index=-1)
    both_losses([3, 4], torch.tensor([-100, -100, -100]), label="all ignored: NaN, with zero gradients")
    both_losses([3, 4], torch.tensor([-100, -100, -100]), reduction="sum")
    both_losses([5, 4], plain, label_smoothing=1.0)
    both_losses([4], torch.tensor(2), label="no batch dimension")
    both_losses([4], torch.tensor([0.1, 0.2, 0.3, 0.4]), soft=True, label="no batch dimension")
    both_losses([5, 4], plain, layout="transposed:0,1")
    both_losses([2, 4, 3, 2], integers([2, 3, 2], 6, 0, 4), layout="transposed:1,3")
    both_losses([0, 4], torch.zeros(0, dtype=torch.int64), label="empty batch: NaN")
    for dtype in ("f16", "bf16"):
        cross_entropy_case([5, 4], plain, dtype=dtype)


def write():
    COUNTERS.clear()
    linear_cases()
    conv_cases()
    batch_norm_cases()
    elementwise_cases()
    dropout_cases()
    max_pool_cases()
    flatten_cases()
    sequential_cases()
    cross_entropy_cases()
    return sum(COUNTERS.values())
