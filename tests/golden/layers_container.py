"""layers_container.safetensors: containers that run their layers."""

from layer_family import Family, module, sequential


def linear(i, o):
    return module("Linear", in_features=i, out_features=o)


def write():
    family = Family("container")

    def both(description, shape, **options):
        family.case("Sequential", description["kwargs"], [shape], **options)

    both(sequential(), [2, 3], label="empty: the identity")
    both(sequential(linear(4, 5), module("ReLU"), linear(5, 2)), [3, 4])
    both(sequential(("first", linear(4, 3)), ("act", module("ReLU")), ("last", linear(3, 3))), [3, 4])
    both(sequential(module("Conv2d", in_channels=1, out_channels=2, kernel_size=3, padding=1, bias=False),
                    module("BatchNorm2d", num_features=2), module("ReLU"), module("MaxPool2d", kernel_size=2),
                    sequential(module("Flatten"), sequential(module("Dropout", p=0.3), linear(12, 3)))),
         [3, 1, 4, 6], seed=2)
    both(sequential(("body", sequential(linear(3, 3), linear(3, 3), linear(3, 3))), ("empty", sequential()),
                    ("head", sequential(("norm", module("BatchNorm1d", num_features=3)), ("fc", linear(3, 2))))),
         [4, 3], mode="eval", warmup=2)
    both(sequential(linear(4, 5), module("ReLU"), linear(5, 2)), [0, 4], label="empty batch")
    family.refuses("Sequential", sequential(linear(4, 5), module("ReLU"), linear(5, 2))["kwargs"], [[3, 5]], quotes=["0", "[3, 5]", "4"])
    family.refuses("Sequential", sequential(("a.b", linear(1, 1)))["kwargs"], quotes=["a.b"])
    family.refuses("Sequential", sequential(linear(4, 3), linear(4, 3))["kwargs"], [[2, 4]], quotes=["1", "[2, 3]"])
    return family.write()
