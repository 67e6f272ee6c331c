"""layers_margin.safetensors: margin and distance losses."""

import functools

import torch

from common import integers, random
from layer_family import Family, Input

REDUCTIONS = ("none", "mean", "sum")


def signs(shape, seed, floating=True, grad=True):
    """Targets of 1 and -1."""
    values = integers(shape, seed, 0, 2) * 2 - 1
    return Input(values.double() if floating else values, grad=grad)


def write():
    family = Family("margin", modes=("train", "eval"))

    def each(name, inputs, dtypes=("f32", "f64"), **kwargs):
        for reduction in REDUCTIONS:
            family.case(name, {"reduction": reduction, **kwargs}, inputs, dtypes=dtypes)

    def refuses_reduction(name, *inputs):
        family.refuses(name, {"reduction": "average"}, list(inputs), quotes=["average"])

    for name, kwargs in (("SoftMarginLoss", {}), ("HingeEmbeddingLoss", {"margin": 0.5})):
        # PyTorch takes no target that asks for a gradient.
        signed = functools.partial(signs, grad=name != "SoftMarginLoss")
        each(name, [[3, 4], signed([3, 4], 1)])
        family.case(name, kwargs, [[3, 4], signed([3, 4], 1)])
        family.case(name, {}, [[], signed([], 2)], label="no dimension")
        family.case(name, {}, [[0, 2], signed([0, 2], 2)], label="empty: NaN")
        family.case(name, {}, [[5], signed([5], 3, floating=False)], label="targets of integers")
        family.case(name, {}, [Input([4, 3], "transposed:0,1"), signed([4, 3], 4)], dtypes=["f32"])
        family.halves(name, {}, [[3, 4], signed([3, 4], 1)])
        family.refuses(name, {}, [[8, 1], signed([8], 1)], quotes=["[8, 1]", "[8]"],
                       accepted=name == "HingeEmbeddingLoss", label="would broadcast")
        family.refuses(name, {}, [[3, 4], signed([3, 5], 1)], quotes=["[3, 4]", "[3, 5]"])
        family.refuses(name, {}, [torch.tensor([True]), signed([1], 1)], quotes=["bool"])
        refuses_reduction(name, [3], signed([3], 1))
    family.case("SoftMarginLoss", {"reduction": "none"}, [torch.tensor([60.0, -60.0]), signs([2], 1, grad=False)], label="far out")
    family.case("HingeEmbeddingLoss", {"reduction": "none"}, [[3], torch.tensor([0, 1, -1])], label="a target of neither sign")

    name = "MarginRankingLoss"
    for margin in (0.0, 0.5):
        each(name, [[3, 4], [3, 4], signs([3, 4], 1)], margin=margin)
    family.case(name, {}, [[5], [5], signs([5], 2, floating=False)], label="targets of integers")
    family.case(name, {}, [[], [], signs([], 2)], label="no dimension")
    family.case(name, {}, [[0], [0], signs([0], 2)], label="empty: NaN")
    family.halves(name, {}, [[6], [6], signs([6], 1)])
    family.refuses(name, {}, [[8, 1], [8, 3], signs([8, 3], 1)], quotes=["[8, 1]", "[8, 3]"], accepted=True, label="would broadcast")
    family.refuses(name, {}, [[8], [8], signs([1], 1)], quotes=["[8]", "[1]"], accepted=True, label="would broadcast")
    family.refuses(name, {}, [[8], [8], signs([4, 2], 1)], quotes=["[8]", "[4, 2]"])
    refuses_reduction(name, [3], [3], signs([3], 1))

    name = "CosineEmbeddingLoss"
    for margin in (0.0, 0.3):
        each(name, [[5, 3], [5, 3], signs([5], 1)], margin=margin)
    family.case(name, {}, [[4], [4], signs([], 1)], label="no batch dimension")
    family.case(name, {}, [[4], [4], torch.tensor(-1)], label="no batch dimension")
    family.case(name, {}, [[0, 3], [0, 3], signs([0], 2)], label="empty: NaN")
    family.case(name, {"reduction": "none"}, [[3, 3], [3, 3], torch.tensor([1, -1, 0])], label="a target of neither sign")
    family.halves(name, {}, [[5, 3], [5, 3], signs([5], 1)])
    family.refuses(name, {}, [[8, 3], [1, 3], signs([8], 1)], quotes=["[8, 3]", "[1, 3]"], accepted=True, label="would broadcast")
    family.refuses(name, {}, [[8, 3], [8, 3], signs([8, 1], 1)], quotes=["[8, 3]", "[8, 1]"])
    family.refuses(name, {}, [[8, 3], [8, 3], signs([1], 1)], quotes=["[8, 3]", "[1]"], accepted=True, label="would broadcast")
    family.refuses(name, {}, [[2, 8, 3], [2, 8, 3], signs([2, 8], 1)], quotes=["[2, 8, 3]"])
    refuses_reduction(name, [2, 3], [2, 3], signs([2], 1))

    triplet = [[5, 4], [5, 4], [5, 4]]
    for name in ("TripletMarginLoss", "TripletMarginWithDistanceLoss"):
        each(name, triplet)
        each(name, triplet, margin=2.0, swap=True)
        family.case(name, {}, [[4], [4], [4]], label="no batch dimension")
        family.case(name, {}, [[0, 4], [0, 4], [0, 4]], label="empty: NaN")
        family.case(name, {"reduction": "none"}, [[2, 3, 4]] * 3)
        family.case(name, {}, [Input([4, 5], "transposed:0,1")] * 3, dtypes=["f32"])
        family.refuses(name, {}, [[8, 3], [1, 3], [8, 3]], quotes=["[8, 3]", "[1, 3]"], accepted=True, label="would broadcast")
        family.refuses(name, {}, [[8, 3], [8, 3], [3]], quotes=["[8, 3]", "[3]"])
        family.refuses(name, {"margin": 0.0}, triplet, quotes=["margin = 0"])
    for p in (1.0, 3.0):
        family.case("TripletMarginLoss", {"p": p, "eps": 0.01}, triplet)
    family.halves("TripletMarginLoss", {}, triplet)
    same = random([2, 3], 5)
    family.case("TripletMarginLoss", {"eps": 0.0}, [same, same.clone(), [2, 3]], label="no distance")

    name = "PairwiseDistance"
    for kwargs in ({}, {"p": 1.0}, {"p": 3.0, "eps": 0.1}, {"keepdim": True}, {"p": float(2), "eps": 0.0}):
        family.case(name, kwargs, [[5, 4], [5, 4]])
    family.case(name, {}, [[4], [4]])
    family.case(name, {}, [[3, 1, 4], [5, 4]], label="broadcasts")
    family.case(name, {}, [[0, 4], [0, 4]])
    family.refuses(name, {}, [[5, 4], [5, 3]], quotes=["[5, 4]", "[5, 3]"])

    name = "MultiMarginLoss"
    target, weight = torch.tensor([0, 3, 2, 3, 1]), torch.tensor([0.5, 2.0, 0.0, 1.25])
    for p in (1, 2):
        each(name, [[5, 4], target], p=p)
        each(name, [[5, 4], target], p=p, weight=weight, margin=0.5)
    family.case(name, {}, [[4], torch.tensor(2)], label="no batch dimension")
    family.case(name, {"weight": weight, "reduction": "none"}, [[4], torch.tensor(1)], label="no batch dimension")
    family.case(name, {}, [Input([5, 4], "transposed:0,1"), target], dtypes=["f32"])
    # PyTorch's mean and sum of nothing are what the memory held before.
    family.case(name, {"reduction": "none"}, [[0, 4], target[:0]], label="empty batch")
    family.refuses(name, {}, [[5, 4], torch.tensor([0, 4, 0, 0, 0])], quotes=["target = 4", "4"])
    family.refuses(name, {}, [[5, 4], torch.tensor([0, -1, 0, 0, 0])], quotes=["target = -1"])
    family.refuses(name, {}, [[5, 4], torch.tensor([0])], quotes=["[5, 4]", "[1]"])
    family.refuses(name, {}, [[2, 5, 4], target], quotes=["[2, 5, 4]"])
    family.refuses(name, {"p": 3}, [[5, 4], target], quotes=["p = 3"])
    family.refuses(name, {"weight": torch.ones(3)}, [[5, 4], target], quotes=["[3]"])
    family.refuses(name, {"weight": torch.ones(2, 2)}, [[5, 4], target], quotes=["[2, 2]"])

    name = "MultiLabelMarginLoss"
    labels = torch.tensor([[3, 0, -1, 1], [1, -1, 2, 3], [-1, 0, 1, 2], [0, 1, 2, 3], [2, 2, -1, -1]])
    each(name, [[5, 4], labels])
    family.case(name, {}, [[4], labels[0]], label="no batch dimension")
    family.case(name, {"reduction": "none"}, [[4], labels[1]], label="no batch dimension")
    family.case(name, {}, [Input([5, 4], "transposed:0,1"), labels], dtypes=["f32"])
    family.case(name, {"reduction": "none"}, [[0, 4], labels[:0]], label="empty batch")
    refuses_reduction(name, [5, 4], labels)
    family.refuses(name, {}, [[2, 4], torch.tensor([[4, 0, 0, 0], [0, 0, 0, 0]])], quotes=["target = 4"])
    family.refuses(name, {}, [[2, 4], labels[0]], quotes=["[2, 4]", "[4]"])
    family.refuses(name, {}, [[2, 2, 4], labels], quotes=["[2, 2, 4]"])

    name = "MultiLabelSoftMarginLoss"
    soft = lambda *shape: Input(list(shape), low=0, high=1)
    each(name, [[5, 4], soft(5, 4)])
    each(name, [[5, 4], soft(5, 4)], weight=weight)
    family.case(name, {}, [[4], soft(4)], label="no batch dimension")
    family.case(name, {}, [[2, 3, 4], soft(2, 3, 4)])
    family.case(name, {}, [[0, 4], soft(0, 4)], label="empty: NaN")
    family.halves(name, {}, [[5, 4], soft(5, 4)])
    family.refuses(name, {}, [[8, 1], soft(8)], quotes=["[8, 1]", "[8]"], accepted=True, label="would broadcast")
    family.refuses(name, {"weight": torch.ones(3)}, [[2, 4], soft(2, 4)], quotes=["[3]", "[2, 4]"])
    family.refuses(name, {}, [[], soft()], quotes=["[]"])
    refuses_reduction(name, [5, 4], soft(5, 4))

    name = "NLLLoss"
    log = lambda *shape: Input(list(shape), low=-3, high=0)
    grid = integers([2, 3], 4, 0, 4)
    each(name, [log(5, 4), target])
    each(name, [log(5, 4), target], weight=weight, ignore_index=3)
    each(name, [log(2, 4, 3), grid], weight=weight)
    family.case(name, {}, [log(4), torch.tensor(2)], label="no batch dimension")
    family.case(name, {}, [log(0, 4), torch.zeros(0, dtype=torch.int64)], label="empty: NaN")
    family.case(name, {}, [log(5, 4), torch.tensor([0, -100, 2, -100, 1])])
    family.halves(name, {}, [log(5, 4), target])
    family.refuses(name, {}, [log(5, 4), torch.tensor([0, 4, 0, 0, 0])], quotes=["4"])
    family.refuses(name, {}, [log(5, 4), torch.tensor([0, 1])], quotes=["[5, 4]", "[2]"])
    family.refuses(name, {"weight": torch.ones(3)}, [log(5, 4), target], quotes=["[3]", "4"])
    family.refuses(name, {"weight": torch.ones(2, 2)}, [log(5, 4), target], quotes=["[2, 2]"])
    return family.write()
