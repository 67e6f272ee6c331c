"""layers_upsample.safetensors: image resizing."""

from layer_family import Family
from layers_pooling import SPATIAL

LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def write():
    family = Family("upsample", modes=("train", "eval"))
    for dims, size in SPATIAL.items():
        over(family, dims, [n // 2 + 1 for n in size])
    image = [1, 2, 4, 3]
    for kwargs in ({}, {"align_corners": True}):
        family.case("Upsample", {"scale_factor": [2.0, 1.5], "mode": "bicubic", **kwargs}, [image])
        family.case("Upsample", {"size": [3, 7], "mode": "bicubic", **kwargs}, [image])
    family.layouts("Upsample", {"scale_factor": 2.0, "mode": "bilinear"}, [2, 3, 4, 3], "transposed:1,3", "strided:2")
    family.halves("Upsample", {"scale_factor": 2.0, "mode": "bilinear"}, [image])
    refused(family, image)
    for layer in ("UpsamplingNearest2d", "UpsamplingBilinear2d"):
        named(family, layer, image)
    # In one and three dimensions PyTorch's gradient is that of another output.
    family.case("Upsample", {"scale_factor": [2.3, 1.05]}, [[1, 2, 3, 8]], label="the factors differ from the ratios of the sizes")
    return family.write()


def over(family, dims, size):
    image = [1, 2, *size]
    uneven = [2.0, 1.5, 0.7][:dims]
    for mode in ("nearest", "nearest-exact", "area"):
        family.case("Upsample", {"scale_factor": 2.0, "mode": mode}, [image])
        family.case("Upsample", {"scale_factor": uneven, "mode": mode}, [image])
        family.case("Upsample", {"size": [7, 2, 4][:dims], "mode": mode}, [image])
    linear = {"mode": LINEAR[dims]}
    for kwargs in ({}, {"align_corners": True}, {"align_corners": False}):
        family.case("Upsample", {"scale_factor": uneven, **linear, **kwargs}, [image])
        family.case("Upsample", {"size": 7, **linear, **kwargs}, [image])
    for recompute in (True, False):
        family.case("Upsample", {"scale_factor": 1.7, "recompute_scale_factor": recompute, **linear}, [image])
        family.case("Upsample", {"scale_factor": uneven, "recompute_scale_factor": recompute}, [image], dtypes=["f32"])
    family.case("Upsample", {"scale_factor": 2.0}, [[0, *image[1:]]], label="empty batch")


def refused(family, image):
    family.refuses("Upsample", {}, [image], quotes=["size", "scale_factor"])
    family.refuses("Upsample", {"size": 4, "scale_factor": 2.0}, [image], quotes=["size = 4", "2.0"])
    family.refuses("Upsample", {"scale_factor": 2.0, "align_corners": True}, [image], quotes=["align_corners = True", "nearest"])
    family.refuses("Upsample", {"scale_factor": 2.0, "mode": "linear"}, [image], quotes=["[1, 2, 4, 3]", "inear"])
    family.refuses("Upsample", {"scale_factor": 2.0, "mode": "round"}, [image], quotes=["round"])
    family.refuses("Upsample", {"size": [4, 4, 4]}, [image], quotes=["[4, 4, 4]", "2"])
    family.refuses("Upsample", {"scale_factor": [2.0, 2.0, 2.0]}, [image], quotes=["[2.0, 2.0, 2.0]", "2"])
    family.refuses("Upsample", {"size": 0}, [image], quotes=["size = 0"])
    family.refuses("Upsample", {"scale_factor": -1.0}, [image], quotes=["scale_factor = -1"])
    family.refuses("Upsample", {"scale_factor": 0.1}, [image], quotes=["0.1"])
    family.refuses("Upsample", {"size": 4, "recompute_scale_factor": True}, [image], quotes=["recompute_scale_factor = True"])
    family.refuses("Upsample", {"scale_factor": 2.0}, [[4, 3]], quotes=["[4, 3]"])


def named(family, layer, image):
    family.case(layer, {"scale_factor": 2.0}, [image])
    family.case(layer, {"scale_factor": [1.5, 3.0]}, [image])
    family.case(layer, {"size": 7}, [image])
    family.case(layer, {"size": [3, 8]}, [image])
    family.case(layer, {"size": [1, 1]}, [image])
    family.case(layer, {"scale_factor": 2.0}, [[0, 2, 4, 3]], label="empty batch")
    family.refuses(layer, {}, [image], quotes=["size", "scale_factor"])
    family.refuses(layer, {"size": 4, "scale_factor": 2.0}, [image], quotes=["size = 4", "2.0"])
    family.refuses(layer, {"size": [4, 4, 4]}, [image], quotes=["4, 4, 4"])
    family.refuses(layer, {"size": -1}, [image], quotes=["-1"])
    family.refuses(layer, {"scale_factor": -2.0}, [image], quotes=["-2"])
    family.refuses(layer, {"scale_factor": 2.0}, [[4, 3]], quotes=["[4, 3]"])
