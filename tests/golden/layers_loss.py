"""layers_loss.safetensors: losses on numbers and on probabilities."""

import torch

from common import random
from layer_family import Family, Input

REDUCTIONS = ("none", "mean", "sum")


def between(low, high, *shape):
    return Input(list(shape), low=low, high=high)


def write():
    family = Family("loss", modes=("train", "eval"))

    def both(name, pair, *, layouts=(), **kwargs):
        """Each reduction; `pair` makes the inputs of a shape."""
        for reduction in REDUCTIONS:
            family.case(name, {"reduction": reduction, **kwargs}, pair([3, 4]))
        family.case(name, kwargs, pair([]), label="no dimension")
        family.case(name, kwargs, pair([0, 3]), label="empty: NaN")
        family.case(name, kwargs, pair([2, 3, 5]), dtypes=["f16", "bf16"])
        x, y = pair([3, 4])
        x = Input(x.values, "transposed:0,1", low=x.low, high=x.high)
        y = Input(y.values, "strided:1", low=y.low, high=y.high)
        family.case(name, kwargs, [x, y], dtypes=["f32"])

    def refuses_shapes(name):
        family.refuses(name, {}, [between(0, 1, 8, 1), between(0, 1, 8)], quotes=["[8, 1]", "[8]"],
                       accepted=name not in ("BCELoss", "BCEWithLogitsLoss"), label="would broadcast")
        family.refuses(name, {}, [between(0, 1, 3, 4), between(0, 1, 3, 5)], quotes=["[3, 4]", "[3, 5]"])
        family.refuses(name, {}, [torch.tensor([1]), torch.tensor([2])], quotes=["int64"],
                       accepted=name == "PoissonNLLLoss")
        family.refuses(name, {"reduction": "average"}, [between(0, 1, 3), between(0, 1, 3)], quotes=["average"])

    numbers = lambda shape: [Input(shape), Input(shape)]
    for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"):
        both(name, numbers)
        refuses_shapes(name)
        special = torch.tensor([float("inf"), float("nan"), 1e30, -1e30])
        family.case(name, {"reduction": "none"}, [special, torch.zeros(4)], dtypes=["f32"], backward=False)
        equal = random([5], 3)
        family.case(name, {}, [equal, equal.clone()], label="no distance")
    for beta in (0.25, 0.0, 3.0):
        family.case("SmoothL1Loss", {"beta": beta}, [[3, 4], [3, 4]])
    family.case("SmoothL1Loss", {"reduction": "none"}, [torch.tensor([1.0, -1.0, 0.0]), torch.zeros(3)],
                label="at the edge")
    for delta in (0.25, 3.0):
        family.case("HuberLoss", {"delta": delta}, [[3, 4], [3, 4]])
    family.case("HuberLoss", {"reduction": "none"}, [torch.tensor([1.0, -1.0, 0.0]), torch.zeros(3)],
                label="at the edge")
    family.refuses("SmoothL1Loss", {"beta": -1.0}, [[3], [3]], quotes=["beta = -1"])
    family.refuses("HuberLoss", {"delta": 0.0}, [[3], [3]], quotes=["delta = 0"])

    probabilities = lambda shape: [between(0.05, 0.95, *shape), between(0, 1, *shape)]
    logits = lambda shape: [between(-4, 4, *shape), between(0, 1, *shape)]
    weight, column = torch.tensor([0.5, 2.0, 1.0, 0.0]), torch.tensor([[0.5], [2.0], [3.0]])
    both("BCELoss", probabilities)
    both("BCEWithLogitsLoss", logits)
    for name, pair in (("BCELoss", probabilities), ("BCEWithLogitsLoss", logits)):
        refuses_shapes(name)
        for reduction in REDUCTIONS:
            family.case(name, {"weight": weight, "reduction": reduction}, pair([3, 4]))
        family.case(name, {"weight": column}, pair([3, 4]), label="a weight for each sample")
        family.refuses(name, {"weight": torch.ones(3)}, [between(0, 1, 2, 4), between(0, 1, 2, 4)],
                       quotes=["[3]", "[2, 4]"])
        family.refuses(name, {"weight": torch.ones(5, 1, 1)}, [between(0, 1, 2, 4), between(0, 1, 2, 4)],
                       quotes=["[5, 1, 1]", "[2, 4]"], label="the losses would broadcast to the weight")
    family.case("BCELoss", {"reduction": "none"}, [torch.tensor([0.0, 1.0, 0.0, 1.0]), Input(torch.tensor([0.0, 1.0, 1.0, 0.0]), grad=False)],
                label="saturated")
    family.refuses("BCELoss", {}, [torch.tensor([0.5, 1.5]), torch.tensor([0.5, 0.5])], quotes=["input = 1.5"])
    family.refuses("BCELoss", {}, [torch.tensor([-0.25]), torch.tensor([0.5])], quotes=["input = -0.25"])
    family.case("BCEWithLogitsLoss", {"reduction": "none"},
                [torch.tensor([-500.0, 500.0, -500.0, 500.0, 0.0]), torch.tensor([0.0, 0.0, 1.0, 1.0, 0.5])],
                label="far out")
    for reduction in REDUCTIONS:
        family.case("BCEWithLogitsLoss", {"pos_weight": weight, "reduction": reduction}, logits([3, 4]))
    family.case("BCEWithLogitsLoss", {"pos_weight": torch.tensor(3.0), "weight": column}, logits([3, 4]))
    family.refuses("BCEWithLogitsLoss", {"pos_weight": torch.ones(3)}, [[2, 4], [2, 4]], quotes=["[3]", "[2, 4]"])

    log = lambda shape: [between(-3, 0, *shape), between(0.05, 1, *shape)]
    both("KLDivLoss", log)
    refuses_shapes("KLDivLoss")
    both("KLDivLoss", lambda shape: [between(-3, 0, *shape), between(-3, 0, *shape)], log_target=True)
    for log_target in (False, True):
        family.case("KLDivLoss", {"reduction": "batchmean", "log_target": log_target}, log([5, 3]))
    family.case("KLDivLoss", {"reduction": "batchmean"}, log([]), label="no dimension")
    family.case("KLDivLoss", {"reduction": "none"},
                [Input([4]), Input(torch.tensor([0.0, 1.0, 0.5, 0.0]), grad=False)], label="targets of 0")

    counts = lambda shape: [between(-2, 2, *shape), between(0, 4, *shape)]
    means = lambda shape: [between(0.1, 3, *shape), between(0, 4, *shape)]
    both("PoissonNLLLoss", counts)
    refuses_shapes("PoissonNLLLoss")
    both("PoissonNLLLoss", means, log_input=False)
    for kwargs, pair in (({}, counts), ({"log_input": False, "eps": 0.01}, means)):
        family.case("PoissonNLLLoss", {"full": True, **kwargs}, pair([3, 4]))
    family.case("PoissonNLLLoss", {"full": True, "reduction": "none"},
                [Input([5]), Input(torch.tensor([0.0, 1.0, 2.0, 5.0, 100.0]), grad=False)], label="counts")

    def gaussian(x, y, var, dtypes=("f32", "f64"), label="", **kwargs):
        family.case("GaussianNLLLoss", kwargs, [x, y, var], dtypes=dtypes, label=label)

    def variance(*shape):
        return between(0.1, 2, *shape)

    for reduction in REDUCTIONS:
        gaussian([3, 4], [3, 4], variance(3, 4), reduction=reduction)
        gaussian([3, 4], [3, 4], variance(3), reduction=reduction, label="without the last dimension")
        gaussian([3, 4], [3, 4], variance(3, 1), reduction=reduction, full=True)
    gaussian([2, 3, 4], [2, 3, 4], variance(2, 1, 4))
    gaussian([3], [3], torch.tensor([0.0, 1e-3, 1.0]), eps=0.01, reduction="none", label="raised to eps")
    gaussian([], [], variance(), label="no dimension")
    gaussian([0, 3], [0, 3], variance(0, 3), label="empty: NaN")
    gaussian([3, 4], [3, 4], variance(3, 4), dtypes=["f16", "bf16"])
    name = "GaussianNLLLoss"
    family.refuses(name, {}, [[8, 1], [8], variance(8, 1)], quotes=["[8, 1]", "[8]"], accepted=True, label="would broadcast")
    family.refuses(name, {}, [[3, 4], [3, 4], variance(4)], quotes=["[3, 4]", "[4]"])
    family.refuses(name, {}, [[3, 4], [3, 4], variance(1, 1)], quotes=["[3, 4]", "[1, 1]"])
    family.refuses(name, {}, [[2], [2], torch.tensor([1.0, -0.5])], quotes=["var = -0.5"])
    family.refuses(name, {"eps": 0.0}, quotes=["eps = 0"], accepted=True)
    family.refuses(name, {"reduction": "average"}, [[2], [2], variance(2)], quotes=["average"])
    return family.write()
