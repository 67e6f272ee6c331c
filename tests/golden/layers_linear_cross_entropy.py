"""layers_linear_cross_entropy.safetensors: the cross-entropy of a linear map."""

import torch

from layer_family import Arguments, Family, Input

NAME = "LinearCrossEntropyLoss"


def probabilities(*shape):
    return Input(list(shape), low=0.05, high=1.0)


def write():
    family = Family("linear_cross_entropy", modes=("train", "eval"))
    base = {"in_features": 3, "num_classes": 5}
    classes = torch.tensor([0, 4, 2, -100, 1, 1, 3])
    weight = torch.tensor([0.5, 2.0, 1.0, 0.0, 3.0])

    def options(**kwargs):
        return Arguments("LinearCrossEntropyOptions", **kwargs)

    chunked = (options(batch_chunk_size=2), options(batch_chunk_size=3, chunking_method=None), options(chunking_method="aspect_ratio:2"), options())
    for reduction in ("none", "mean", "sum"):
        for kwargs in ({}, {"bias": True, "weight": weight}, {"ignore_index": 1}, {"label_smoothing": 0.25}):
            given = [[7, 3], classes.clamp(min=0) if "ignore_index" in kwargs else classes]
            family.case(NAME, base | kwargs | {"reduction": reduction}, given)
            if "label_smoothing" not in kwargs:
                family.case(NAME, base | kwargs | {"reduction": reduction, "options": chunked[0]}, given, label="chunks")
        family.case(NAME, base | {"reduction": reduction, "bias": True}, [[7, 3], probabilities(7, 5)])
        family.case(NAME, base | {"reduction": reduction, "weight": weight, "options": chunked[0]},
                    [[7, 3], Input([7, 5], grad=False, low=0.05, high=1.0)], label="chunks of probabilities")
    for given in chunked[1:]:
        family.case(NAME, base | {"bias": True, "options": given}, [[7, 3], classes])
    wide = {"in_features": 2, "num_classes": 40}
    family.case(NAME, wide | {"options": options(chunking_method="aspect_ratio")}, [[50, 2], torch.arange(50) % 40])
    family.case(NAME, base | {"options": options(batch_chunk_size=2)}, [Input([7, 3], "transposed:0,1"), classes], dtypes=("f32",))
    family.case(NAME, base, [[3], torch.tensor(2)], label="no batch")
    family.case(NAME, base | {"options": chunked[0]}, [[3], torch.tensor(2)], label="no batch")
    family.case(NAME, base, [[3], probabilities(5)], label="no batch")
    family.case(NAME, base | {"out_features": [2], "bias": True}, [[4, 3], torch.tensor([[0, 1], [2, 3], [4, -100], [0, 0]])])
    family.case(NAME, base | {"out_features": [2, 3]}, [[2, 3], probabilities(2, 5, 2, 3)])
    family.case(NAME, base, [[0, 3], torch.zeros(0, dtype=torch.int64)], label="empty: NaN")
    family.case(NAME, base | {"reduction": "sum"}, [[0, 3], torch.zeros(0, dtype=torch.int64)], label="empty")
    family.halves(NAME, base | {"bias": True}, [[7, 3], classes])
    family.refuses(NAME, base, [[7, 4], classes], quotes=["[7, 4]", "[batch, 3]"])
    family.refuses(NAME, base, [[2, 7, 3], classes], quotes=["[2, 7, 3]"])
    family.refuses(NAME, base, [[7, 3], torch.tensor([0, 5, 2, 1, 1, 1, 3])], quotes=["target = 5"])
    family.refuses(NAME, base | {"options": chunked[0]}, [[7, 3], torch.tensor([0, 5, 2, 1, 1, 1, 3])], quotes=["target = 5"])
    family.refuses(NAME, base, [[7, 3], torch.tensor([0, 2, 1])], quotes=["[7]", "[3]"])
    family.refuses(NAME, base | {"ignore_index": 1}, [[7, 3], probabilities(7, 5)], quotes=["ignore_index = 1"])
    family.refuses(NAME, base | {"out_features": [2]}, [[3], torch.tensor([0, 1])], quotes=["[batch, 3]"])
    family.refuses(NAME, base | {"weight": torch.ones(4)}, quotes=["[5]", "[4]"])
    family.refuses(NAME, base | {"label_smoothing": 1.5}, quotes=["label_smoothing = 1.5"])
    family.refuses(NAME, base | {"in_features": -1}, quotes=["-1"])
    return family.write()
