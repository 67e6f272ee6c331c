"""layers_batch_norm.safetensors: batch normalization."""

from common import random
from layer_family import Family, Input


def norm(count, **kwargs):
    return {"num_features": count, **kwargs}


def write():
    family = Family("batch_norm")
    for name, shapes in (("BatchNorm1d", ([5, 3], [3, 3, 4])), ("BatchNorm2d", ([2, 3, 2, 3],))):
        for shape in shapes:

            def both(label="", mode="train", warmup=0, **kwargs):
                family.case(name, norm(3, **kwargs), [shape], mode=mode, warmup=warmup, label=label)

            both()
            both(mode="eval")
            both(mode="eval", warmup=3)
            both(warmup=2)
            both(momentum=None, mode="eval", warmup=3)
            both(momentum=None)
            both(momentum=0.3, eps=0.01, warmup=2)
            both(momentum=0.0, label="statistics stay")
            both(affine=False)
            both(affine=False, mode="eval")
            both(bias=False, warmup=1)
            both(track_running_stats=False)
            both(track_running_stats=False, mode="eval", label="without statistics, eval normalizes by the batch")
            both(affine=False, track_running_stats=False)
            last = len(shape) - 1
            family.layouts(name, norm(3), shape, f"transposed:{last - 1},{last}")
    family.case("BatchNorm1d", norm(2), [[1, 2, 5]], label="one sample, five positions")
    family.case("BatchNorm1d", norm(2), [[1, 2]], mode="eval", label="one sample is fine in eval")
    family.case("BatchNorm1d", norm(4), [random([1, 4], 3).expand(3, 4)],
                label="constant channels: the variance is zero")
    family.layouts("BatchNorm1d", norm(5), [6, 5], "narrowed:1")
    family.case("BatchNorm2d", norm(5), [[3, 5, 1, 3]])
    family.layouts("BatchNorm2d", norm(2), [2, 2, 3, 5], "transposed:1,3")
    family.halves("BatchNorm1d", norm(3), [[5, 3]], mode="eval")
    family.halves("BatchNorm2d", norm(3), [[2, 3, 4, 3]], warmup=1)
    family.case("BatchNorm1d", norm(3), [[0, 3]], label="an empty batch is counted and moves nothing")
    family.case("BatchNorm2d", norm(2), [[0, 2, 3, 1]], warmup=1)
    for name, shape, wrong in (("BatchNorm1d", [1, 3], [2, 3, 4, 5]), ("BatchNorm2d", [1, 3, 1, 1], [2, 3])):
        family.refuses(name, norm(-1), quotes=["-1"])
        family.refuses(name, norm(0), quotes=["num_features = 0"], accepted=True)
        family.refuses(name, norm(3, eps=-1.0), quotes=["eps = -1"], accepted=True)
        family.refuses(name, norm(3, momentum=1.5), quotes=["momentum = 1.5"], accepted=True)
        family.refuses(name, norm(3), [shape], quotes=[str(shape)], label="one value per channel")
        family.refuses(name, norm(3), [wrong], quotes=[str(wrong)])
        family.refuses(name, norm(4), [[2] + shape[1:]], quotes=["4", "3"])
    return family.write()
