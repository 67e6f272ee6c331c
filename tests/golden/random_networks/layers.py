"""The layers of random networks, by the shape of their input: a batch of vectors, of sequences or of images."""

from layer_family import module

ACTIVATIONS = "ReLU GELU SiLU Tanh Sigmoid ELU LeakyReLU Mish Softplus Hardswish Identity".split()


def anywhere(draw, shape):
    channels = shape[1]
    which = draw.pick(["activation"] * 4 + ["dropout", "norm", "prelu", "last", "last norm", "softmax"])
    if which == "activation":
        return module(draw.pick(ACTIVATIONS))
    if which == "dropout":
        return module("Dropout", p=draw.pick([0.0, 0.2, 0.5]))
    if which == "prelu":
        return module("PReLU", num_parameters=draw.pick([1, channels]))
    if which == "last":
        return module("Linear", in_features=shape[-1], out_features=draw.between(2, 9), bias=draw.chance(0.8))
    if which == "last norm":
        return module(draw.pick(["LayerNorm", "RMSNorm"]), normalized_shape=shape[-1:])
    if which == "softmax":
        return module(draw.pick(["Softmax", "LogSoftmax"]), dim=draw.pick([1, -1]))
    kind = {2: "BatchNorm1d", 3: "BatchNorm1d", 4: "BatchNorm2d"}[len(shape)]
    options = {"momentum": draw.pick([None, 0.3])} if draw.chance(0.3) else {}
    return module(kind, num_features=channels, affine=draw.chance(0.8), **options)


def vector(draw, shape):
    for parts in (2, 3, 4):
        if shape[1] % parts == 0 and draw.chance(0.2):
            return module("Unflatten", dim=1, unflattened_size=[parts, shape[1] // parts])
    return module("Linear", in_features=shape[1], out_features=draw.between(2, 12), bias=draw.chance(0.8))


def windowed(draw, shape):
    """A layer over the dimensions after the channels."""
    d, channels = f"{len(shape) - 2}d", shape[1]
    which = draw.pick("conv conv conv depthwise transposed pool pool adaptive group instance upsample flatten encoder".split())
    if which == "conv":
        return module(f"Conv{d}", in_channels=channels, out_channels=draw.between(2, 8), kernel_size=draw.between(1, 3),
                      stride=draw.between(1, 2), padding=draw.between(0, 1), bias=draw.chance(0.8),
                      padding_mode=draw.pick(["zeros", "zeros", "reflect", "replicate", "circular"]))
    if which == "depthwise":
        return module(f"Conv{d}", in_channels=channels, out_channels=channels, kernel_size=3, padding=1, groups=channels)
    if which == "transposed":
        return module(f"ConvTranspose{d}", in_channels=channels, out_channels=draw.between(2, 5), kernel_size=draw.between(2, 3),
                      stride=draw.between(1, 2))
    if which == "pool":
        return module(f"{draw.pick(['Max', 'Avg'])}Pool{d}", kernel_size=draw.between(2, 3), stride=draw.between(1, 2))
    if which == "adaptive":
        return module(f"Adaptive{draw.pick(['Avg', 'Max'])}Pool{d}", output_size=draw.between(1, 3))
    if which == "group":
        groups = draw.pick([n for n in (1, 2, 3, channels) if channels % n == 0])
        return module("GroupNorm", num_groups=groups, num_channels=channels)
    if which == "instance":
        return module(f"InstanceNorm{d}", num_features=channels, affine=draw.chance(0.5))
    if which == "upsample":
        return module("Upsample", scale_factor=2.0, mode=draw.pick(["nearest", "linear" if d == "1d" else "bilinear"]))
    if which == "encoder":
        heads = [n for n in (1, 2, 3, 4) if shape[-1] % n == 0]
        return module("TransformerEncoderLayer", d_model=shape[-1], nhead=draw.pick(heads), dim_feedforward=draw.between(3, 8),
                      dropout=draw.pick([0.0, 0.1]), activation=draw.pick(["relu", "gelu"]), batch_first=True, norm_first=draw.chance(0.5))
    return module("Flatten")


def layer(draw, shape):
    if draw.chance(0.5):
        return anywhere(draw, shape)
    return vector(draw, shape) if len(shape) == 2 else windowed(draw, shape)
