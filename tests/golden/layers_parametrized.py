"""layers_parametrized.safetensors: layers whose weight is computed."""

from layer_family import Family, Input, module


def linear(i, o, **kwargs):
    return module("Linear", in_features=i, out_features=o, **kwargs)


def conv(i, o, kernel, **kwargs):
    return module("Conv2d", in_channels=i, out_channels=o, kernel_size=kernel, **kwargs)


def write():
    family = Family("parametrized")

    def both(norm, inner, shape, mode="train", warmup=0, **kwargs):
        family.case(f"Parametrized{inner['layer']}", {"norm": norm, "module": inner, **kwargs}, [shape], mode=mode,
                    warmup=warmup)

    for dim in (0, 1, None):
        both("weight_norm", linear(4, 3), [5, 4], dim=dim)
        both("weight_norm", conv(2, 3, [3, 2]), [2, 2, 4, 5], dim=dim, mode="eval")
    both("weight_norm", linear(17, 9, bias=False), [3, 17], dim=0, warmup=1)
    both("weight_norm", conv(3, 4, 3, padding=1, bias=False), [1, 3, 5, 5], dim=0)
    both("weight_norm", linear(1, 1), [0, 1], dim=0)
    both("weight_norm", conv(2, 3, [3, 2]), [0, 2, 4, 5], dim=0)
    for mode, warmup in (("train", 0), ("train", 2), ("eval", 0), ("eval", 2)):
        both("spectral_norm", linear(4, 3), [5, 4], mode=mode, warmup=warmup)
        both("spectral_norm", conv(2, 3, [3, 2]), [2, 2, 4, 5], mode=mode, warmup=warmup)
    both("spectral_norm", linear(33, 18, bias=False), [3, 33])
    both("spectral_norm", linear(4, 3), [5, 4], n_power_iterations=3, warmup=1)
    both("spectral_norm", conv(2, 3, 3), [1, 2, 4, 5], dim=1, eps=1e-6)
    both("spectral_norm", linear(1, 1), [2, 1])
    for inner, dims, wrong, size in ((linear(4, 3), 2, [5, 3], "4"), (conv(2, 3, [3, 2]), 4, [2, 3, 4, 5], "2")):
        name = f"Parametrized{inner['layer']}"
        for norm, kwargs, quote, accepted in (
            ("weight_norm", {"dim": dims}, f"{dims}", False),
            ("spectral_norm", {"dim": dims}, f"{dims}", False),
            ("spectral_norm", {"n_power_iterations": 0}, "n_power_iterations = 0", False),
            ("spectral_norm", {"eps": 0.0}, "eps = 0", True),
        ):
            family.refuses(name, {"norm": norm, "module": inner, **kwargs}, quotes=[quote], accepted=accepted)
        for norm, kwargs in (("weight_norm", {"dim": 0}), ("spectral_norm", {})):
            family.refuses(name, {"norm": norm, "module": inner, **kwargs}, [wrong], quotes=[str(wrong), size])
    return family.write()
