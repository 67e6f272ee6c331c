"""layers_normalization.safetensors: the normalizations other than batch normalization, over one and two dimensions."""

import itertools

from layer_family import Family, Input


def batch_norm(family):
    name, shape = "BatchNorm3d", [2, 3, 2, 1, 3]
    norm = {"num_features": 3}
    for kwargs in ({}, {"momentum": None}, {"momentum": 0.3, "eps": 0.01}, {"affine": False}, {"bias": False},
                   {"track_running_stats": False}):
        for mode in ("train", "eval"):
            family.case(name, norm | kwargs, [shape], mode=mode, warmup=2)
    family.layouts(name, norm, shape, "transposed:1,4", "strided:2")
    family.halves(name, norm, [shape], warmup=1)
    family.case(name, norm, [[0, 3, 2, 2, 1]])
    family.refuses(name, norm, [[2, 3, 4, 4]], quotes=["[2, 3, 4, 4]", "depth"])
    family.refuses(name, norm, [[1, 3, 1, 1, 1]], quotes=["[1, 3, 1, 1, 1]"])
    family.refuses(name, norm, [[2, 4, 1, 2, 1]], quotes=["3 channels", "[2, 4, 1, 2, 1]"])
    family.refuses(name, {"num_features": -2}, quotes=["-2"])


def instance_norm(family):
    shapes = {"InstanceNorm1d": [2, 3, 5], "InstanceNorm2d": [2, 3, 3, 2], "InstanceNorm3d": [2, 3, 2, 1, 3]}
    for name, shape in shapes.items():
        norm = {"num_features": 3}
        for kwargs in ({}, {"affine": True}, {"affine": True, "bias": False}, {"eps": 0.1, "momentum": 0.5, "track_running_stats": True},
                       {"affine": True, "track_running_stats": True}, {"momentum": 0.0, "track_running_stats": True}):
            for mode, given in itertools.product(("train", "eval"), (shape, shape[1:])):
                if mode == "eval" and "track_running_stats" not in kwargs:
                    continue
                warmup = 2 if "track_running_stats" in kwargs else 0
                dtypes = ("f32", "f64") if given == shape else ("f32",)
                family.case(name, norm | kwargs, [given], mode=mode, warmup=warmup, dtypes=dtypes)
        last = len(shape) - 1
        tracked = norm | {"affine": True, "track_running_stats": True}
        family.layouts(name, tracked, shape, f"transposed:1,{last}", f"strided:{last}")
        family.halves(name, tracked, [shape], warmup=1)
        family.case(name, norm, [[0] + shape[1:]], label="empty batch")
        family.case(name, {"num_features": 7}, [shape], label="the number of channels binds only members")
        one = shape[:2] + [1] * (len(shape) - 2)
        family.case(name, tracked, [one], mode="eval", warmup=0, label="one value by running statistics")
        family.refuses(name, norm, [one], quotes=[str(one)])
        family.refuses(name, norm, [one], quotes=[str(one)], mode="eval")
        family.refuses(name, norm, [[4, 5]] if len(shape) > 3 else [[2, 3, 4, 5]], quotes=["[batch, channels,"])
        family.refuses(name, {"num_features": 4, "affine": True}, [shape], quotes=["4 channels", str(shape)])
        family.refuses(name, {"num_features": 4, "track_running_stats": True}, [shape], quotes=["4 channels", str(shape)])
        family.refuses(name, {"num_features": 0}, quotes=["num_features = 0"], accepted=True)
        family.refuses(name, norm | {"momentum": -0.5}, quotes=["momentum = -0.5"], accepted=True)


def layer_norm(family):
    name = "LayerNorm"
    family.case(name, {"normalized_shape": 5}, [[3, 5]])
    family.case(name, {"normalized_shape": [4]}, [[4]], label="no batch")
    family.case(name, {"normalized_shape": [3, 4]}, [[2, 3, 4]])
    family.case(name, {"normalized_shape": [2, 3, 1], "eps": 0.01}, [[5, 2, 3, 1]])
    family.case(name, {"normalized_shape": [4], "elementwise_affine": False}, [[2, 3, 4]])
    family.case(name, {"normalized_shape": [4], "bias": False}, [[2, 3, 4]], mode="eval")
    family.case(name, {"normalized_shape": [1]}, [[3, 1]], dtypes=["f64"], label="one value is its mean, which f32 misses")
    family.case(name, {"normalized_shape": [4]}, [[0, 4]], label="empty")
    family.layouts(name, {"normalized_shape": [4]}, [3, 4], "transposed:0,1", "narrowed:1", "expanded:0")
    family.halves(name, {"normalized_shape": [7]}, [[3, 7]])
    family.refuses(name, {"normalized_shape": []}, [[2, 3]], quotes=["normalized_shape = []"])
    family.refuses(name, {"normalized_shape": [-3]}, quotes=["-3"])
    family.refuses(name, {"normalized_shape": 4, "eps": -1.0}, quotes=["eps = -1"], accepted=True)
    family.refuses(name, {"normalized_shape": [4]}, [[2, 3]], quotes=["[4]", "[2, 3]"])
    family.refuses(name, {"normalized_shape": [2, 4], "elementwise_affine": False}, [[4]], quotes=["[2, 4]", "[4]"])


def rms_norm(family):
    name = "RMSNorm"
    family.case(name, {"normalized_shape": 5}, [[3, 5]])
    family.case(name, {"normalized_shape": [4], "eps": 0.01}, [[4]], label="no batch")
    family.case(name, {"normalized_shape": [3, 4]}, [[2, 3, 4]])
    family.case(name, {"normalized_shape": [4], "elementwise_affine": False}, [[2, 3, 4]])
    family.case(name, {"normalized_shape": [3]}, [Input([4, 3], low=-1e-4, high=1e-4)], mode="eval", label="near the epsilon")
    family.case(name, {"normalized_shape": [4]}, [[0, 4]], label="empty")
    family.layouts(name, {"normalized_shape": [4]}, [3, 4], "transposed:0,1", "strided:1")
    family.halves(name, {"normalized_shape": [7]}, [[3, 7]])
    family.refuses(name, {"normalized_shape": []}, [[2, 3]], quotes=["normalized_shape = []"])
    family.refuses(name, {"normalized_shape": [4]}, [[2, 3]], quotes=["[4]", "[2, 3]"])
    family.refuses(name, {"normalized_shape": 4, "eps": -0.5}, quotes=["eps = -0.5"], accepted=True)
    family.refuses(name, {"normalized_shape": 4, "bias": True}, quotes=["bias"])


def group_norm(family):
    name = "GroupNorm"

    def norm(groups, channels, **kwargs):
        return {"num_groups": groups, "num_channels": channels, **kwargs}

    family.case(name, norm(2, 6), [[3, 6]])
    family.case(name, norm(3, 6), [[2, 6, 5]])
    family.case(name, norm(1, 4, eps=0.01), [[2, 4, 3, 1]])
    family.case(name, norm(4, 4), [[2, 4, 3, 2]], mode="eval", label="as instance normalization")
    family.case(name, norm(2, 4, affine=False), [[2, 4, 2, 1, 3]])
    family.case(name, norm(2, 4, bias=False), [[2, 4, 3]])
    family.case(name, norm(2, 2), [[2, 2]], dtypes=["f64"], label="one value in each group")
    family.case(name, norm(2, 4), [[0, 4, 3]], label="empty")
    family.layouts(name, norm(2, 4), [2, 4, 3], "transposed:1,2", "narrowed:1", "expanded:0")
    family.halves(name, norm(2, 4), [[2, 4, 3]])
    family.refuses(name, norm(2, 3), quotes=["num_channels = 3", "num_groups = 2"])
    family.refuses(name, norm(0, 3), quotes=["num_groups = 0"])
    family.refuses(name, norm(2, -4), quotes=["-4"])
    family.refuses(name, norm(2, 4), [[2, 6, 3]], quotes=["4", "[2, 6, 3]"])
    family.refuses(name, norm(2, 4, affine=False), [[2, 6, 3]], quotes=["4", "[2, 6, 3]"], accepted=True)
    family.refuses(name, norm(2, 4), [[4]], quotes=["[4]"])
    family.refuses(name, norm(2, 2), [[1, 2]], quotes=["[1, 2]"])


def local_response_norm(family):
    name = "LocalResponseNorm"
    family.case(name, {"size": 2}, [[2, 5, 3]])
    family.case(name, {"size": 3, "alpha": 0.5}, [[2, 4, 3, 2]])
    family.case(name, {"size": 4, "alpha": 2.0, "beta": 0.5, "k": 2.0}, [[1, 7, 2, 1, 3]])
    family.case(name, {"size": 9, "alpha": 1.0, "beta": 1.0}, [[2, 3, 4]], label="more channels than there are", mode="eval")
    family.case(name, {"size": 1, "alpha": 0.3}, [[2, 3, 2, 2, 2, 1]])
    family.case(name, {"size": 2}, [[0, 3, 4, 5]], label="empty")
    family.layouts(name, {"size": 3, "alpha": 1.0}, [2, 4, 3], "transposed:1,2", "strided:1", "expanded:0")
    family.halves(name, {"size": 3, "alpha": 0.1}, [[2, 4, 3]])
    family.refuses(name, {"size": 2}, [[2, 3]], quotes=["[2, 3]"])
    family.refuses(name, {"size": 0}, [[2, 3, 4]], quotes=["size = 0"])
    family.refuses(name, {}, quotes=["size"])


def write():
    family = Family("normalization")
    for part in (batch_norm, instance_norm, layer_norm, rms_norm, group_norm, local_response_norm):
        part(family)
    return family.write()
