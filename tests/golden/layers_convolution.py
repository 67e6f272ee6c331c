"""layers_convolution.safetensors: convolutions over one to three dimensions."""

from layer_family import Family, Input


def conv(cin, cout, kernel, **kwargs):
    return {"in_channels": cin, "out_channels": cout, "kernel_size": kernel, **kwargs}


def write():
    family = Family("convolution", modes=("train", "eval"))

    def both(kwargs, shape, **options):
        family.case("Conv2d", kwargs, [shape], **options)

    both(conv(1, 2, 3), [2, 1, 7, 5])
    both(conv(3, 4, 3, bias=False), [2, 3, 5, 7])
    both(conv(3, 4, 3, stride=2, padding=1), [2, 3, 7, 9])
    both(conv(4, 6, [3, 2], stride=[2, 1], padding=[1, 0], groups=2), [2, 4, 7, 5])
    both(conv(3, 6, 3, groups=3, padding=1), [1, 3, 5, 5], label="depthwise")
    both(conv(2, 3, 3, dilation=2, padding=2), [2, 2, 7, 7])
    both(conv(2, 3, [3, 2], dilation=[1, 3]), [1, 2, 6, 7])
    both(conv(2, 3, 3, padding="same"), [2, 2, 5, 6])
    both(conv(2, 3, [2, 4], padding="same", dilation=[1, 2]), [1, 2, 5, 6],
         label="even kernel: the extra row and column of padding go to the end")
    both(conv(2, 3, 3, padding="valid", stride=2), [1, 2, 7, 6])
    both(conv(2, 3, 1), [2, 2, 3, 3])
    both(conv(2, 3, 1, stride=2, bias=False), [2, 2, 5, 4], label="strided 1x1 shortcut")
    for padding_mode in ("reflect", "replicate", "circular"):
        both(conv(2, 3, 3, padding=[2, 1], padding_mode=padding_mode), [1, 2, 5, 4])
        both(conv(2, 2, [2, 3], padding="same", padding_mode=padding_mode), [1, 2, 4, 5])
    both(conv(2, 3, 3, padding=1), [2, 4, 5], label="no batch dimension")
    for kwargs, shape, layout in (
        (conv(3, 2, 3), [2, 3, 5, 5], "transposed:1,3"),
        (conv(3, 2, 3, padding=1), [2, 3, 4, 6], "transposed:2,3"),
        (conv(3, 2, 2), [2, 3, 4, 5], "narrowed:3"),
        (conv(1, 2, 3, padding=1), [2, 1, 4, 4], "strided:2"),
    ):
        family.case("Conv2d", kwargs, [Input(shape, layout)], dtypes=["f32"])
    both(conv(2, 3, 3), [0, 2, 5, 5], label="empty batch")
    both(conv(2, 3, 3), [1, 2, 3, 3], label="output of one pixel")
    both(conv(2, 3, 2, stride=3), [1, 2, 7, 6], label="stride beyond the kernel")
    family.halves("Conv2d", conv(2, 3, 3, padding=1), [[1, 2, 5, 4]])
    family.refuses("Conv2d", conv(4, 6, 3, groups=3), quotes=["groups = 3", "in_channels = 4"])
    family.refuses("Conv2d", conv(6, 4, 3, groups=3), quotes=["groups = 3", "out_channels = 4"])
    family.refuses("Conv2d", conv(1, 1, 3, groups=0), quotes=["groups = 0"])
    family.refuses("Conv2d", conv(1, 1, 3, padding="same", stride=2), quotes=["stride = (2, 2)", "same"])
    family.refuses("Conv2d", conv(1, 1, 3, padding="full"), quotes=["full"])
    family.refuses("Conv2d", conv(1, 1, 3, padding_mode="mirror"), quotes=["mirror"])
    family.refuses("Conv2d", conv(1, 1, -3), quotes=["-3"])
    family.refuses("Conv2d", conv(1, 1, 3, stride=0), [[1, 1, 5, 5]], quotes=["stride = (0, 0)"])
    family.refuses("Conv2d", conv(2, 3, 3), [[1, 3, 5, 5]], quotes=["[1, 3, 5, 5]"])
    family.refuses("Conv2d", conv(2, 3, 3), [[2, 5]], quotes=["[2, 5]"])
    family.refuses("Conv2d", conv(2, 3, 3), [[1, 2, 2, 5]], quotes=["3", "2"])
    others(family)
    return family.write()


def others(family):
    """Over one and three dimensions."""
    spatial = {1: [9], 3: [4, 5, 3]}
    for dims, size in spatial.items():
        layer, each = f"Conv{dims}d", lambda *sizes: list(sizes)[:dims]

        def both(kwargs, shape, **options):
            family.case(layer, kwargs, [shape], **options)

        both(conv(2, 3, 3), [2, 2, *size])
        both(conv(4, 6, each(3, 2, 2), stride=each(2, 1, 3), padding=each(1, 0, 2), groups=2), [1, 4, *size])
        both(conv(2, 4, 2, dilation=each(3, 2, 1), bias=False), [2, 2, *size])
        both(conv(3, 3, 3, padding=1, groups=3), [1, 3, *size], label="depthwise")
        both(conv(2, 3, 2, padding="same"), [1, 2, *size],
             label="even kernel: the extra place of padding goes to the end")
        both(conv(2, 2, 3, padding="valid", stride=2), [2, 2, *size])
        for padding_mode in ("reflect", "replicate", "circular"):
            both(conv(1, 2, 3, padding=each(2, 1, 1), padding_mode=padding_mode), [1, 1, *size])
            both(conv(1, 2, 2, padding="same", padding_mode=padding_mode), [1, 1, *size])
        both(conv(2, 3, 3), [2, *size], label="no batch dimension")
        both(conv(2, 3, 3), [0, 2, *size], label="empty batch")
        family.layouts(layer, conv(3, 2, 3), [2, 3, *size], f"transposed:1,{dims + 1}", f"narrowed:{dims + 1}",
                       "strided:2")
        image = [[1, 2, *size]]
        family.refuses(layer, conv(4, 6, 3, groups=3), quotes=["groups = 3", "in_channels = 4"])
        family.refuses(layer, conv(2, 2, 3, padding="same", stride=2), quotes=["stride = (2,", "same"])
        family.refuses(layer, conv(2, 2, 3, padding="full"), quotes=["full"])
        family.refuses(layer, conv(2, 2, [3] * (dims + 1)), image, quotes=[str(dims + 1), str(dims)])
        family.refuses(layer, conv(2, 2, 3, stride=0), image, quotes=["stride = (0,"])
        family.refuses(layer, conv(3, 2, 3), image, quotes=["[1, 2, "])
        family.refuses(layer, conv(2, 2, 3), [[2] * (dims + 3)], quotes=["[2, 2, "])
        family.refuses(layer, conv(2, 2, 3, padding=10, padding_mode="reflect"), image, quotes=["10"])
