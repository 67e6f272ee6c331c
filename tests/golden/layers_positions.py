"""layers_positions.safetensors: positions and grouped-query attention, compared with our own formulas."""

import math

import torch

from common import random
from layer_family import Arguments, Family, Input


def whole(values):
    return Input(torch.tensor(values), grad=False)


def sinusoidal(family):
    name = "SinusoidalPositionEmbedding"
    for kwargs, inputs in (
        ({"embedding_dim": 6, "max_len": 7}, [[5, 2, 6]]),
        ({"embedding_dim": 5, "max_len": 4}, [[4, 5]]),
        ({"embedding_dim": 6, "max_len": 7, "layout": "half_split", "batch_first": True}, [[2, 5, 6], 2]),
        ({"embedding_dim": 7, "max_len": 6, "layout": "half_split"}, [[3, 1, 7], 3]),
        ({"embedding_dim": 8, "max_len": 5, "downscale_freq_shift": 1.0, "layout": "half_split"}, [[2, 8]]),
        ({"embedding_dim": 4, "max_len": 9, "base": 100.0}, [[3, 2, 4], 6]),
        ({"embedding_dim": 1, "max_len": 2}, [[2, 1]]),
    ):
        family.case(name, kwargs, inputs)
    family.case(name, {"embedding_dim": 4, "max_len": 3}, [[0, 2, 4]], label="an empty sequence")
    family.case(name, {"embedding_dim": 4, "max_len": 3}, [[2, 0, 4]], label="empty batch")
    small = {"embedding_dim": 4, "max_len": 3}
    family.refuses(name, {"embedding_dim": 0}, quotes=["embedding_dim = 0"], accepted=True)
    family.refuses(name, {"embedding_dim": 4, "max_len": 0}, quotes=["max_len = 0"], accepted=True)
    family.refuses(name, {"embedding_dim": 4, "base": -1.0}, quotes=["base = -1"])
    family.refuses(name, {"embedding_dim": 4, "layout": "spiral"}, quotes=["spiral"], accepted=True)
    family.refuses(name, {"embedding_dim": 2, "downscale_freq_shift": 1.0}, quotes=["downscale_freq_shift = 1", "2"])
    family.refuses(name, small, [[4, 2, 4]], quotes=["max_len = 3", "4"])
    family.refuses(name, small, [[2, 2, 4], 2], quotes=["max_len = 3", "4"])
    family.refuses(name, small, [[2, 2, 5]], quotes=["[2, 2, 5]", "4"])


def rotary(family):
    name = "RotaryEmbedding"
    llama = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
             "original_max_position_embeddings": 64}
    for layout in ("half_split", "interleaved"):
        kind = {"layout": layout}
        family.case(name, {"head_dim": 6, **kind}, [[2, 3, 5, 6]])
        family.case(name, {"head_dim": 8, "rope_theta": 500.0, "rotary_dim": 4, **kind}, [[3, 8], 11])
        family.case(name, {"head_dim": 2, **kind}, [[2, 4, 2], whole([7, 0, 3, 3])])
        family.case(name, {"head_dim": 4, **kind}, [[2, 3, 4, 4], whole([[[0, 1, 2, 3]], [[0, 0, 1, 2]]])],
                    label="other positions in each element of the batch")
        family.case(name, {"head_dim": 8, "scaling": {"rope_type": "linear", "factor": 4.0}, **kind}, [[1, 3, 8], 100])
        family.case(name, {"head_dim": 16, "rope_theta": 500.0, "scaling": llama, **kind}, [[2, 16], 40])
        family.halves(name, {"head_dim": 6, **kind}, [[2, 5, 6]])
        family.case(name, {"head_dim": 4, **kind}, [Input([2, 3, 4], "transposed:0,1")], dtypes=["f32"])
        family.case(name, {"head_dim": 4, **kind}, [Input([3, 4], "strided:1")], dtypes=["f32"])
    family.case(name, {"head_dim": 4}, [[2, 0, 4]], label="an empty sequence")
    family.case(name, {"head_dim": 4}, [[0, 3, 4]], label="empty batch")
    family.refuses(name, {"head_dim": 5}, quotes=["rotary_dim = 5"])
    family.refuses(name, {"head_dim": 4, "rotary_dim": 6}, quotes=["rotary_dim = 6", "head_dim = 4"])
    family.refuses(name, {"head_dim": 4, "rotary_dim": 0}, quotes=["rotary_dim = 0"])
    family.refuses(name, {"head_dim": 4, "rope_theta": 0.0}, quotes=["rope_theta = 0"])
    family.refuses(name, {"head_dim": 4, "scaling": {"rope_type": "linear", "factor": 0.0}}, quotes=["factor = 0"])
    family.refuses(name, {"head_dim": 4, "scaling": {"rope_type": "spiral"}}, quotes=["spiral"], accepted=True)
    family.refuses(name, {"head_dim": 4, "scaling": llama | {"low_freq_factor": 4.0}}, quotes=["low_freq_factor = 4"],
                   accepted=True)
    family.refuses(name, {"head_dim": 4}, [[3, 6]], quotes=["[3, 6]", "4"])
    family.refuses(name, {"head_dim": 4}, [[3, 4], whole([0, 1])], quotes=["[3, 4]", "[2]"])
    family.refuses(name, {"head_dim": 4}, [[3, 4], Input([3])], quotes=["float32"], accepted=True)


def grouped(family):
    name = "GroupedQueryAttention"
    cache = {"key": Input([2, 2, 3, 2]), "value": Input([2, 2, 3, 2])}
    turned = {"rotary": Arguments("RotaryEmbedding", head_dim=2)}
    few = {"embed_dim": 8, "num_heads": 4, "num_kv_heads": 2}

    def both(kwargs, shape, named=None, mode="train", **options):
        family.case(name, kwargs, [shape], named, mode=mode, **options)

    both({"embed_dim": 4, "num_heads": 2}, [2, 3, 4])
    both(few, [2, 3, 8])
    both(few | {"num_kv_heads": 1, "bias": True, "out_bias": True}, [1, 4, 8], mode="eval")
    both(few | {"is_causal": False, "scale": 0.3}, [2, 3, 8])
    both({"embed_dim": 5, "num_heads": 3, "num_kv_heads": 3, "head_dim": 2, "bias": True}, [2, 3, 5])
    both(few | turned, [2, 4, 8])
    both(few | turned, [2, 1, 8], cache)
    both(few | turned, [2, 3, 8], cache)
    both(few, [2, 2, 8], cache)
    both(few | {"is_causal": False}, [2, 2, 8], cache)
    both(few | turned, [2, 3, 8], {"positions": whole([[0, 1, 2], [0, 0, 1]])})
    both(few | turned, [2, 3, 8], {"positions": whole([4, 5, 6])})
    allowed = (random([2, 1, 3, 3], 5) > -1.0) | torch.eye(3, dtype=torch.bool)
    both(few, [2, 3, 8], {"attn_mask": Input(allowed, grad=False)})
    both(few | {"is_causal": False}, [2, 3, 8], {"attn_mask": Input([4, 3, 3])})
    both(few, [2, 3, 8], {"attn_mask": Input([3, 6]), **cache})
    padded = torch.tensor([[[[True] * 6]], [[[False, False, True, True, True, True]]]])
    both(few | turned, [2, 3, 8], {"attn_mask": Input(padded, grad=False), **cache})
    both(few | {"dropout": 0.3}, [2, 3, 8], seed=3)
    both(few | {"dropout": 0.3}, [2, 3, 8], mode="eval")
    family.case(name, few | turned, [Input([2, 3, 8], "transposed:1,2")], dtypes=["f32"])
    both(few, [0, 3, 8], label="empty batch")
    family.halves(name, few | turned, [[2, 3, 8]])
    both(few | turned | {"qk_norm_eps": 1e-6}, [2, 3, 8], cache)
    both(few | {"qk_norm_eps": 0.1, "sliding_window": 2}, [2, 5, 8])
    both(few | turned | {"sliding_window": 4}, [2, 3, 8], cache)
    both(few | {"sliding_window": 2}, [2, 2, 8], cache)
    family.refuses(name, few | {"sliding_window": 0}, quotes=["sliding_window = 0"])
    family.refuses(name, few | {"sliding_window": 2, "is_causal": False}, quotes=["sliding_window = 2", "is_causal"])
    family.refuses(name, few | {"num_kv_heads": 3}, quotes=["num_heads = 4", "num_kv_heads = 3"])
    family.refuses(name, {"embed_dim": 6, "num_heads": 4}, quotes=["embed_dim = 6", "num_heads = 4"])
    family.refuses(name, few | {"num_kv_heads": 0}, quotes=["num_kv_heads = 0"])
    family.refuses(name, few | {"head_dim": 0}, quotes=["head_dim = 0"])
    family.refuses(name, few | {"dropout": -0.1}, quotes=["dropout = -0.1"], accepted=True)
    family.refuses(name, few | {"rotary": Arguments("RotaryEmbedding", head_dim=4)}, quotes=["4", "2"])
    family.refuses(name, few, [[2, 3, 8]], {"positions": whole([0, 1, 2])}, quotes=["[3]"], accepted=True)
    family.refuses(name, few, [[3, 8]], quotes=["[3, 8]"])
    family.refuses(name, few, [[2, 3, 7]], quotes=["[2, 3, 7]", "8"])
    family.refuses(name, few, [[2, 3, 8]], {"key": Input([2, 2, 3, 3]), "value": Input([2, 2, 3, 3])}, quotes=["3", "2"])
    family.refuses(name, few, [[2, 3, 8]], {"key": Input([1, 2, 3, 2]), "value": Input([1, 2, 3, 2])}, quotes=["1", "2"])
    family.refuses(name, few, [[2, 3, 8]], {"attn_mask": Input(torch.ones(3, 4, dtype=torch.bool))}, quotes=["[3, 4]"])


def write():
    family = Family("positions", modes=("train", "eval"))
    sinusoidal(family)
    rotary(family)
    grouped(family)
    return family.write()
