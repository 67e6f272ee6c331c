"""layers_conv_transpose.safetensors: transposed convolutions over one to three dimensions."""

from layer_family import Family, Input
from layers_convolution import conv

SPATIAL = {1: [5], 2: [4, 3], 3: [2, 3, 3]}


def write():
    family = Family("conv_transpose", modes=("train", "eval"))
    for dims, size in SPATIAL.items():
        over(family, f"ConvTranspose{dims}d", dims, size)
    family.halves("ConvTranspose2d", conv(2, 3, 3, stride=2, padding=1), [[1, 2, 4, 3]])
    return family.write()


def over(family, layer, dims, size):
    each = lambda *sizes: list(sizes)[:dims]

    def both(kwargs, shape, **options):
        family.case(layer, kwargs, [shape], **options)

    both(conv(2, 3, 3), [2, 2, *size])
    both(conv(2, 2, 2, stride=2, bias=False), [2, 2, *size])
    both(conv(2, 3, each(3, 2, 2), stride=each(2, 1, 3), padding=each(1, 0, 1), output_padding=each(1, 0, 2)),
         [1, 2, *size])
    both(conv(4, 6, 3, groups=2, padding=1), [1, 4, *size])
    both(conv(3, 3, 2, groups=3, stride=2), [1, 3, *size], label="depthwise")
    both(conv(2, 2, 2, dilation=each(3, 2, 2), output_padding=each(2, 1, 0)), [1, 2, *size],
         label="an output padding below the dilation")
    both(conv(2, 3, 1, stride=3), [1, 2, *size], label="places that nothing reaches but the bias")
    smallest = [(n - 1) * 3 + 1 for n in size]
    upsampling = conv(2, 3, 3, stride=3, padding=1)
    for more in ([0, 1, 2], [2, 0, 1]):
        output_size = [n + extra for n, extra in zip(smallest, more)]
        both(upsampling, [1, 2, *size], named={"output_size": output_size})
    both(upsampling, [2, *size], named={"output_size": [n + 1 for n in smallest]}, label="no batch dimension")
    both(conv(2, 3, 3, stride=2), [2, *size], label="no batch dimension")
    both(conv(2, 3, 3), [0, 2, *size], label="empty batch")
    family.layouts(layer, conv(3, 2, 3), [2, 3, *size], f"transposed:1,{dims + 1}", f"narrowed:{dims + 1}", "strided:2")
    image = [[1, 2, *size]]
    family.refuses(layer, conv(4, 6, 3, groups=3), quotes=["groups = 3", "in_channels = 4"])
    family.refuses(layer, conv(2, 2, 3, padding_mode="reflect"), quotes=["padding_mode", "zeros"])
    family.refuses(layer, conv(2, 2, 3, padding="same"), image, quotes=["same"])
    family.refuses(layer, conv(2, 2, 3, stride=0), image, quotes=["stride = (0,"])
    family.refuses(layer, conv(2, 2, 3, output_padding=2), image, quotes=["output_padding", "2"])
    family.refuses(layer, conv(2, 2, 1, padding=5), image, quotes=["5"])
    family.refuses(layer, conv(3, 2, 3), image, quotes=["[1, 2, "])
    family.refuses(layer, conv(2, 2, 3), [[2] * (dims + 3)], quotes=["[2, 2, "])
    for wrong in ([n + 3 for n in smallest], [n - 1 for n in smallest]):
        family.refuses(layer, upsampling, image, named={"output_size": wrong}, quotes=[str(wrong[0]), str(smallest[0])])
    family.refuses(layer, upsampling, image, named={"output_size": smallest + [1, 1, 1]}, quotes=["1"])
