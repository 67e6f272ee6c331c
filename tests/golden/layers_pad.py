"""layers_pad.safetensors: padding."""

import torch

from layer_family import Family

SPATIAL = {1: [5], 2: [4, 3], 3: [3, 4, 3]}


def write():
    family = Family("pad", modes=("train", "eval"))
    for dims, size in SPATIAL.items():
        for kind in ("Zero", "Constant", "Reflection", "Replication", "Circular"):
            over(family, f"{kind}Pad{dims}d", dims, size)
    family.case("ConstantPad1d", {"padding": [1, 2], "value": 3.0},
                [torch.tensor([[1, 2, 3]])], label="integers", backward=False)
    family.case("ZeroPad2d", {"padding": 1}, [torch.ones(2, 2, dtype=torch.int64)], label="integers", backward=False)
    family.refuses("ConstantPad1d", {"padding": 1, "value": 0.5}, [torch.tensor([[1, 2, 3]])], quotes=["0.5"],
                   accepted=True, label="ours does not cut the number")
    return family.write()


def over(family, layer, dims, size):
    given = {"value": 0.5} if layer.startswith("Constant") else {}
    amounts = lambda *each: {"padding": list(each)[: 2 * dims], **given}
    one = {"padding": 2 if dims < 3 else 1, **given}
    shape = [1, 2 if dims < 3 else 1, *size]
    family.case(layer, one, [shape])
    family.case(layer, amounts(2, 1, 0, 3, 1, 2), [shape])
    family.case(layer, amounts(-1, 2, 1, -2, -1, -1), [shape], label="negative amounts cut off")
    family.case(layer, amounts(2, -1, -2, 1, 0, 0), [shape], dtypes=["f32"])
    family.case(layer, amounts(-1, -1, -1, 0, -2, 1), [shape], dtypes=["f32"])
    family.case(layer, amounts(1, 1, 1, 1, 1, 1), [shape[1:]], label="no batch dimension")
    family.case(layer, {"padding": 0, **given}, [shape], label="nothing to do")
    family.case(layer, one, [[0, *shape[1:]]], label="empty batch")
    if dims < 3:
        family.layouts(layer, amounts(2, 1, 0, 1), [2, 2, *size], f"transposed:1,{dims + 1}", "strided:2")
    if dims == 2:
        family.halves(layer, amounts(2, 1, 0, 1, 1, 2), [shape])
    count = str(2 * dims)
    family.refuses(layer, {"padding": [1] * (2 * dims + 1), **given}, [shape], quotes=["(1, 1, ", count])
    family.refuses(layer, {"padding": 0.5, **given}, [shape], quotes=["0.5"])
    family.refuses(layer, {"padding": -7, **given}, [shape], quotes=["-7", "size"])
    if given or layer.startswith("Zero"):
        family.refuses(layer, one, [torch.tensor(1.5)], quotes=["[]"])
    else:
        family.refuses(layer, one, [[2] * (dims + 3)], quotes=["[2, 2, "])
        family.refuses(layer, one, [[4] * (dims or 1)], quotes=["[4"])
    if layer.startswith(("Reflection", "Circular")):
        family.refuses(layer, {"padding": 20}, [shape], quotes=["20"])
    if layer.startswith("Reflection"):
        family.refuses(layer, {"padding": size[-1]}, [shape], quotes=[str(size[-1]), str(size[-1] - 1)])
