"""layers_shape.safetensors: layers that only rearrange elements, or add overlapping ones."""

import torch

from layer_family import Family


def write():
    family = Family("shape", modes=("train", "eval"))
    family.case("Flatten", {}, [[2, 3, 2, 2]])
    family.case("Flatten", {"start_dim": 0}, [[2, 3, 2]])
    family.case("Flatten", {"start_dim": 1, "end_dim": 2}, [[2, 3, 2, 2]])
    family.case("Flatten", {"start_dim": -3, "end_dim": -2}, [[2, 3, 2, 2]])
    family.case("Flatten", {"start_dim": 2, "end_dim": 2}, [[2, 3, 4]], label="one dimension: nothing to do")
    family.layouts("Flatten", {}, [2, 3, 4], "transposed:1,2", label="needs a copy")
    family.case("Flatten", {"start_dim": 0, "end_dim": -1}, [torch.tensor(1.5)], label="no dimension gives one")
    family.case("Flatten", {}, [[0, 3, 2]], label="empty batch")
    family.case("Flatten", {}, [[3, 0, 2]], label="an empty dimension")
    family.refuses("Flatten", {"start_dim": 0.5}, quotes=["0.5"], accepted=True)
    family.refuses("Flatten", {}, [[3]], quotes=["1", "[3]"])
    family.refuses("Flatten", {"start_dim": 2, "end_dim": 1}, [[1, 2, 3]], quotes=["2", "1"])
    family.refuses("Flatten", {"end_dim": 3}, [[1, 2, 3]], quotes=["3", "[1, 2, 3]"])
    unflatten(family)
    shuffles(family)
    columns(family)
    return family.write()


def unflatten(family):
    to = lambda dim, sizes: {"dim": dim, "unflattened_size": sizes}
    family.case("Unflatten", to(1, [2, 3]), [[4, 6]])
    family.case("Unflatten", to(-1, [2, -1]), [[3, 2, 8]])
    family.case("Unflatten", to(0, [2, 1, 3]), [[6, 2]])
    family.case("Unflatten", to(1, [6]), [[2, 6, 2]])
    family.case("Unflatten", to(1, [2, 3]), [[0, 6]], label="empty batch")
    family.layouts("Unflatten", to(1, [2, 2]), [3, 4, 5], "transposed:1,2", "strided:1")
    family.refuses("Unflatten", to(1, [2, 3]), [[4, 5]], quotes=["[2, 3]", "5"])
    family.refuses("Unflatten", to(1, [2, 4]), [[4, 6]], quotes=["[2, 4]", "6"])
    family.refuses("Unflatten", to(3, [2, 3]), [[4, 6]], quotes=["3", "[4, 6]"])
    family.refuses("Unflatten", to(1, [-1, -1]), [[4, 6]], quotes=["(-1, -1)"])
    family.refuses("Unflatten", to(1, [3, -2]), [[4, 6]], quotes=["(3, -2)"])
    family.refuses("Unflatten", to(1, [1.5, 4]), quotes=["1.5"])


def shuffles(family):
    for layer, argument, shapes in (
        ("PixelShuffle", "upscale_factor", {2: [2, 8, 3, 2], 3: [1, 9, 2, 2], 1: [2, 3, 2, 2]}),
        ("PixelUnshuffle", "downscale_factor", {2: [2, 2, 6, 4], 3: [1, 1, 6, 3], 1: [2, 3, 2, 2]}),
        ("ChannelShuffle", "groups", {2: [2, 4, 3, 2], 3: [1, 6, 5], 1: [2, 3, 2, 2]}),
    ):
        for factor, shape in shapes.items():
            family.case(layer, {argument: factor}, [shape])
        shape = shapes[2]
        if layer != "PixelUnshuffle":
            # PyTorch's PixelUnshuffle leaves the shape of an empty batch, and PixelShuffle has no gradient for one.
            family.case(layer, {argument: 2}, [[0, *shape[1:]]], label="empty batch", backward=layer == "ChannelShuffle")
        family.layouts(layer, {argument: 2}, shape, "transposed:1,3", "narrowed:1", "strided:2")
        if layer != "ChannelShuffle":
            family.case(layer, {argument: 2}, [shape[1:]], label="no batch dimension")
            family.case(layer, {argument: 2}, [[2, *shape]], label="more dimensions in front")
            family.refuses(layer, {argument: 2}, [[4, 6]], quotes=["[4, 6]"])
        else:
            family.case(layer, {argument: 2}, [[1, 4, 2, 1, 3]])
            family.refuses(layer, {argument: 2}, [[2, 4]], quotes=["[2, 4]"])
        family.refuses(layer, {argument: 5}, [shape], quotes=["5"])
        family.refuses(layer, {argument: 0}, [shape], quotes=[f"{argument} = 0"])
        family.refuses(layer, {argument: -2}, [shape], quotes=["-2"])


def columns(family):
    windows = lambda kernel, **kwargs: {"kernel_size": kernel, **kwargs}
    family.case("Unfold", windows(2), [[2, 3, 4, 5]])
    family.case("Unfold", windows([2, 3], dilation=[2, 1], padding=[1, 0], stride=[1, 2]), [[1, 2, 5, 6]])
    family.case("Unfold", windows(3, padding=1), [[2, 3, 4]], label="no batch dimension")
    family.case("Unfold", windows([1, 2], stride=3), [[1, 2, 4, 5]])
    family.case("Unfold", windows(2), [[0, 2, 3, 3]], label="empty batch")
    family.layouts("Unfold", windows(2), [2, 3, 4, 5], "transposed:1,3", "strided:2")
    image = [[1, 2, 4, 5]]
    family.refuses("Unfold", windows(0), image, quotes=["kernel_size = (0, 0)"])
    family.refuses("Unfold", windows(2, stride=[1, 0]), image, quotes=["stride = (1, 0)"])
    family.refuses("Unfold", windows(2, dilation=0), image, quotes=["dilation = (0, 0)"])
    family.refuses("Unfold", windows([2, 2, 2]), image, quotes=["3"])
    family.refuses("Unfold", windows(6), image, quotes=["6", "[1, 2, 4, 5]"])
    family.refuses("Unfold", windows(2), [[4, 5]], quotes=["[4, 5]"])
    fold = lambda size, kernel, **kwargs: {"output_size": size, **windows(kernel, **kwargs)}
    family.case("Fold", fold([4, 5], 2), [[2, 12, 12]])
    family.case("Fold", fold([5, 6], [2, 3], dilation=[2, 1], padding=[1, 0], stride=[1, 2]), [[1, 12, 10]])
    family.case("Fold", fold(4, 3, padding=1), [[18, 16]], label="no batch dimension")
    family.case("Fold", fold([4, 6], 2, stride=2), [[1, 8, 6]], label="windows side by side")
    family.case("Fold", fold(5, 3), [[3, 9, 9]])
    family.case("Fold", fold(3, 2), [[0, 8, 4]], label="empty batch")
    family.layouts("Fold", fold([4, 5], 2), [2, 12, 12], "transposed:1,2", "narrowed:1")
    family.refuses("Fold", fold([4, 5], 2), [[2, 13, 12]], quotes=["13"])
    family.refuses("Fold", fold([4, 5], 2), [[2, 12, 11]], quotes=["11", "[3, 4]"])
    family.refuses("Fold", fold([4, 5], 0), [[2, 12, 12]], quotes=["kernel_size = (0, 0)"])
    family.refuses("Fold", fold([4, 5], 2), [[2, 2, 12, 12]], quotes=["[2, 2, 12, 12]"])
    family.refuses("Fold", fold([4, -5], 2), [[2, 12, 12]], quotes=["-5"])
