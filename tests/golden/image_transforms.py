"""image_transforms.safetensors and image_transforms_random.safetensors: torchvision's transforms.v2 of tensors, functions and, from seeds, random transforms."""

import numpy
import torch
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

from common import write_safetensors

SHAPES = [("u8", (3, 13, 17)), ("u8", (2, 3, 16, 11)), ("u8", (1, 9, 8)), ("f32", (3, 13, 17)), ("f32", (2, 1, 8, 9)), ("f64", (3, 7, 6))]
SQUARE = ("u8", (3, 12, 12))


def image(dtype, shape, seed):
    """Smooth with some noise, so that neither neighbors nor channels are alike."""
    draws = numpy.random.RandomState(seed)
    y, x = numpy.mgrid[0 : shape[-2], 0 : shape[-1]]
    smooth = numpy.sin(x / 3.0 + draws.uniform(0, 6, shape[:-2] + (1, 1))) * numpy.cos(y / 4.0)
    values = numpy.clip(0.5 + 0.4 * smooth + draws.uniform(-0.15, 0.15, shape), 0, 1)
    values = numpy.round(values * 255)
    if dtype == "u8":
        return torch.tensor(values.astype(numpy.uint8))
    return torch.tensor(values / 255).to({"f32": torch.float32, "f64": torch.float64}[dtype])


class Writer:
    def __init__(self):
        self.tensors, self.functions, self.random, self.mixes = {}, [], [], []
        self.inputs = {}
        for number, (dtype, shape) in enumerate(SHAPES + [SQUARE]):
            self.inputs[f"in{number}"] = image(dtype, shape, number)
        self.tensors |= self.inputs

    def keep(self, tensor):
        key = f"out{len(self.tensors)}"
        self.tensors[key] = tensor.contiguous().clone()
        return key

    def function(self, op, args, call, inputs=None):
        for name in inputs or self.inputs:
            self.functions.append({"op": op, "args": args, "in": name, "out": self.keep(call(self.inputs[name].clone()))})

    def drawn(self, op, args, transform, inputs, seeds):
        for name in inputs:
            for seed in seeds:
                torch.manual_seed(seed)
                out = transform(self.inputs[name].clone())
                after = torch.randint(1 << 20, (2,)).tolist()
                self.random.append({"op": op, "args": args, "in": name, "seed": seed, "out": self.keep(out), "after": after})


def functions(w):
    color = [name for name, x in w.inputs.items() if x.shape[-3] in (1, 3)]
    w.function("horizontal_flip", {}, F.horizontal_flip, ["in0", "in4"])
    w.function("vertical_flip", {}, F.vertical_flip, ["in1", "in3"])
    for start, size in [([2, 3], [5, 4]), ([-2, -1], [8, 6]), ([3, 2], [20, 20]), ([0, 0], [7, 6])]:
        w.function("crop", {"start": start, "size": size}, lambda x: F.crop(x, *start, *size), ["in1", "in3", "in5"])
    for size in ([5, 6], [4, 30], [20, 3], [19, 24], [8, 8]):
        w.function("center_crop", {"size": size}, lambda x: F.center_crop(x, size), ["in0", "in4", "in5"])
    for mode in ("constant", "edge", "reflect", "symmetric"):
        fills = [[], [7.0], [1.0, 2.0, 3.0]] if mode == "constant" else [[]]
        for fill in fills:
            args = {"padding": [2, 1, 3, 0], "fill": fill, "mode": mode}
            w.function("pad", args, lambda x: F.pad(x, args["padding"], fill or None, mode), ["in0", "in3"])
    for size in ([5, 6], [23, 29], [13, 7], [1, 1], [6, 17]):
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
            inputs = ["in0", "in1", "in3", "in5"] if mode.startswith("bi") else ["in0", "in3"]
            if size == [23, 29]:
                inputs = inputs[:3]
            if size == [1, 1]:
                # PyTorch 2.15 fails an assertion of its own for three channels of bytes that become one pixel.
                inputs = ["in2", "in3", "in5"]
            w.function("resize", {"size": size, "mode": mode}, lambda x: F.resize(x, size, InterpolationMode(mode), antialias=True), inputs)
    w.function("resized_crop", {"start": [1, 2], "of": [5, 4], "size": [9, 8]}, lambda x: F.resized_crop(x, 1, 2, 5, 4, [9, 8]), ["in0", "in3"])
    for mode in ("nearest", "bilinear"):
        for angle, expand, center, fill in [(30.0, False, None, []), (-77.5, True, None, [5.0]), (90.0, False, None, []), (90.0, True, None, []),
                                            (180.0, False, None, []), (270.0, False, None, [9.0]), (405.0, False, [3.0, 2.0], [1.0, 2.0, 3.0])]:
            args = {"angle": angle, "expand": expand, "center": center, "fill": fill, "mode": mode}
            inputs = ["in0", "in3", "in6"] if len(fill) == 3 else ["in0", "in1", "in3", "in5", "in6"]
            w.function("rotate", args, lambda x: F.rotate(x, angle, InterpolationMode(mode), expand, center, fill or None), inputs)
        for angle, translate, scale, shear, center, fill in [(0.0, [3, -2], 1.0, [0.0, 0.0], None, []), (20.0, [1, 0], 1.3, [10.0, -5.0], None, [4.0]),
                                                             (0.0, [0, 0], 1.0, [16.7, 0.0], [0.0, 0.0], []), (-50.0, [0, 2], 0.7, [0.0, 20.0], [4.0, 5.0], [9.0])]:
            args = {"angle": angle, "translate": translate, "scale": scale, "shear": shear, "center": center, "fill": fill, "mode": mode}
            w.function("affine", args, lambda x: F.affine(x, angle, translate, scale, shear, InterpolationMode(mode), fill or None, center), ["in0", "in1", "in3", "in5"])
    for op in ("brightness", "contrast", "saturation", "sharpness"):
        for factor in (0.0, 0.37, 1.0, 1.9):
            w.function(f"adjust_{op}", {"factor": factor}, lambda x: getattr(F, f"adjust_{op}")(x, factor), color)
    for factor in (-0.5, -0.13, 0.0, 0.41):
        w.function("adjust_hue", {"factor": factor}, lambda x: F.adjust_hue(x, factor), color)
    w.function("rgb_to_grayscale", {}, lambda x: F.rgb_to_grayscale(x, x.shape[-3]), color)
    w.function("invert", {}, F.invert)
    w.function("autocontrast", {}, F.autocontrast, color)
    w.function("equalize", {}, F.equalize)
    for share in (0.0, 0.45, 1.0):
        for name, x in w.inputs.items():
            bound = 255 if x.dtype == torch.uint8 else 1
            w.function("solarize", {"threshold": share * bound}, lambda x: F.solarize(x, share * bound), [name])
    for bits in (0, 1, 5, 8):
        w.function("posterize", {"bits": bits}, lambda x: F.posterize(x, bits), ["in0", "in2", "in3"])
    for name, dtype in (("u8", torch.uint8), ("f32", torch.float32), ("f64", torch.float64)):
        w.function("to_dtype_scaled", {"dtype": name}, lambda x: F.to_dtype(x, dtype, scale=True), ["in0", "in3", "in5"])
    w.function("normalize", {"mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}, lambda x: F.normalize(x, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
               ["in3", "in5"])
    for size, sigma in (([3, 3], [0.8, 0.8]), ([5, 3], [1.7, 0.4]), ([1, 9], [0.3, 2.0]), ([7, 7], [10.0, 10.0])):
        w.function("gaussian_blur", {"kernel_size": size, "sigma": sigma}, lambda x: F.gaussian_blur(x, size, sigma), ["in0", "in1", "in3", "in5"])
    w.function("normalize", {"mean": [0.5], "std": [0.25]}, lambda x: F.normalize(x, [0.5], [0.25]), ["in4"])


def random(w):
    some, more = [0, 1, 2], list(range(8))
    w.drawn("RandomHorizontalFlip", {}, v2.RandomHorizontalFlip(), ["in0"], [0, 1, 2, 3])
    w.drawn("RandomVerticalFlip", {"p": 0.3}, v2.RandomVerticalFlip(0.3), ["in1"], [0, 1, 2, 3])
    w.drawn("RandomCrop", {"size": [5, 6]}, v2.RandomCrop((5, 6)), ["in0", "in5"], some)
    args = {"size": [12, 10], "padding": [1, 2, 3, 4], "fill": [7.0]}
    w.drawn("RandomCrop", args, v2.RandomCrop((12, 10), (1, 2, 3, 4), fill=7), ["in0", "in1"], some)
    args = {"size": [15, 9], "pad_if_needed": True, "padding_mode": "symmetric"}
    w.drawn("RandomCrop", args, v2.RandomCrop((15, 9), pad_if_needed=True, padding_mode="symmetric"), ["in0", "in3"], some)
    w.drawn("RandomResizedCrop", {"size": [8, 7]}, v2.RandomResizedCrop((8, 7)), ["in0", "in3"], more)
    args = {"size": [6, 6], "scale": [0.9, 1.0], "ratio": [3.0, 4.0]}
    w.drawn("RandomResizedCrop", args, v2.RandomResizedCrop((6, 6), (0.9, 1.0), (3.0, 4.0)), ["in0"], some)
    w.drawn("RandomRotation", {"degrees": [-45.0, 60.0]}, v2.RandomRotation((-45, 60)), ["in0", "in3"], some)
    args = {"degrees": [-90.0, 90.0], "interpolation": "bilinear", "expand": True, "fill": [3.0]}
    w.drawn("RandomRotation", args, v2.RandomRotation(90, InterpolationMode.BILINEAR, True, fill=3), ["in0"], some)
    args = {"degrees": [-20.0, 20.0], "translate": [0.2, 0.3], "scale": [0.7, 1.2], "shear_x": [-10.0, 10.0], "shear_y": [-5.0, 5.0]}
    w.drawn("RandomAffine", args, v2.RandomAffine(20, (0.2, 0.3), (0.7, 1.2), (-10, 10, -5, 5)), ["in0", "in3"], some)
    w.drawn("RandomAffine", {"degrees": [0.0, 0.0], "shear_x": [-8.0, 8.0]}, v2.RandomAffine(0, shear=8), ["in1"], some)
    args = {"brightness": [0.6, 1.4], "contrast": [0.5, 1.5], "saturation": [0.0, 2.0], "hue": [-0.2, 0.2]}
    w.drawn("ColorJitter", args, v2.ColorJitter(0.4, 0.5, (0.0, 2.0), 0.2), ["in0", "in1", "in3", "in5"], more)
    w.drawn("ColorJitter", {"contrast": [0.5, 1.5], "hue": [0.0, 0.0]}, v2.ColorJitter(contrast=0.5, hue=0.0), ["in0"], some)
    w.drawn("RandomGrayscale", {"p": 0.5}, v2.RandomGrayscale(0.5), ["in0"], [0, 1, 2, 3])
    w.drawn("GaussianBlur", {"kernel_size": [5, 3]}, v2.GaussianBlur((5, 3)), ["in0", "in1", "in3", "in5"], some)
    w.drawn("GaussianBlur", {"kernel_size": [3, 3], "sigma": [0.5, 0.9]}, v2.GaussianBlur(3, (0.5, 0.9)), ["in0"], some)
    w.drawn("RandomErasing", {"p": 0.8}, v2.RandomErasing(0.8), ["in0", "in3"], more)
    w.drawn("RandomErasing", {"p": 1.0, "value": [9.0, 8.0, 7.0]}, v2.RandomErasing(1.0, value=(9, 8, 7)), ["in1"], some)
    w.drawn("RandAugment", {}, v2.RandAugment(), ["in0", "in1"], range(24))
    args = {"num_ops": 4, "magnitude": 24, "interpolation": "bilinear", "fill": [9.0]}
    w.drawn("RandAugment", args, v2.RandAugment(4, 24, 31, InterpolationMode.BILINEAR, 9.0), ["in0", "in6"], range(16))
    w.drawn("RandAugment", {"num_ops": 3, "magnitude": 6, "num_magnitude_bins": 10}, v2.RandAugment(3, 6, 10), ["in3"], range(8))
    chain = v2.Compose([v2.RandomCrop(12, 4), v2.RandomHorizontalFlip(), v2.RandAugment(), v2.ColorJitter(0.3), v2.ToDtype(torch.float32, scale=True),
                        v2.Normalize([0.5] * 3, [0.25] * 3), v2.RandomErasing()])
    w.drawn("Compose", {}, chain, ["in6"], range(6))


def mixes(w):
    labels = torch.tensor([2, 0, 1, 3])
    batch = image("f32", (4, 3, 7, 9), 100)
    w.tensors |= {"mix.images": batch, "mix.labels": labels}
    for seed in range(12):
        for op, of in (("MixUp", v2.MixUp), ("CutMix", v2.CutMix)):
            alpha = [0.2, 1.0, 3.5][seed % 3]
            torch.manual_seed(seed)
            images, probabilities = of(alpha=alpha, num_classes=5)(batch, labels)
            after = torch.randint(1 << 20, (2,)).tolist()
            w.mixes.append({"op": op, "alpha": alpha, "seed": seed, "images": w.keep(images), "labels": w.keep(probabilities), "after": after})


def write():
    w = Writer()
    functions(w)
    write_safetensors("image_transforms.safetensors", w.tensors, {"functions": w.functions})
    count = len(w.functions)
    w = Writer()
    random(w)
    mixes(w)
    write_safetensors("image_transforms_random.safetensors", w.tensors, {"random": w.random, "mixes": w.mixes})
    return count + len(w.random) + len(w.mixes)
