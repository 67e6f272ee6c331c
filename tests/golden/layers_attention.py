"""layers_attention.safetensors: multi-head attention."""

import math

import torch

from common import random
from layer_family import Family, Input

NAME = "MultiheadAttention"


def fixed(values):
    """A mask: no gradient is asked for."""
    return Input(values, grad=False)


def causal(size, dtype=torch.float64):
    return torch.full((size, size), -math.inf, dtype=dtype).triu(1)


def arguments(embed_dim, num_heads, **kwargs):
    return {"embed_dim": embed_dim, "num_heads": num_heads, **kwargs}


def write():
    family = Family("attention")

    def both(kwargs, shapes, named=None, **options):
        family.case(NAME, kwargs, shapes, named, **options)

    q, k = [3, 2, 4], [5, 2, 4]
    first = {"batch_first": True}
    blocked = torch.tensor([[False, True, False, False, False], [True, False, False, False, True],
                            [False, False, False, True, False]])
    padding = torch.tensor([[False, False, False, False, True], [False, False, False, True, True]])
    by_head = (random([4, 3, 5], 7) > 0.8).bool()
    both(arguments(4, 2), [q, k, k])
    both(arguments(6, 3, bias=False), [[2, 1, 6]] * 3, mode="eval")
    both(arguments(4, 1, **first), [[2, 3, 4], [2, 5, 4], [2, 5, 4]], seed=2)
    both(arguments(4, 2), [[3, 4], [5, 4], [5, 4]], label="no batch dimension")
    both(arguments(4, 2, **first), [[3, 4], [5, 4], [5, 4]], {"need_weights": False}, label="no batch dimension")
    both(arguments(4, 2, kdim=3, vdim=5), [q, [5, 2, 3], [5, 2, 5]])
    both(arguments(4, 2, kdim=3, bias=False, **first), [[2, 3, 4], [2, 5, 3], [2, 5, 4]], {"need_weights": False})
    both(arguments(4, 2), [q, k, k], {"need_weights": False})
    both(arguments(4, 2), [q, k, k], {"average_attn_weights": False})
    both(arguments(4, 2), [[3, 4], [5, 4], [5, 4]], {"average_attn_weights": False})
    for need_weights in (True, False):
        asked = {"need_weights": need_weights}
        both(arguments(4, 2), [q, k, k], {"attn_mask": fixed(blocked), **asked})
        both(arguments(4, 2), [q, k, k], {"key_padding_mask": fixed(padding), **asked})
        both(arguments(4, 2), [q, k, k], {"key_padding_mask": fixed(padding), "attn_mask": fixed(by_head), **asked})
        both(arguments(4, 2), [q, k, k], {"attn_mask": Input([3, 5]), **asked}, label="the mask is learned")
        both(arguments(4, 2, **first), [[2, 3, 4], [2, 5, 4], [2, 5, 4]],
             {"attn_mask": Input([4, 3, 5]), "key_padding_mask": Input([2, 5]), **asked})
        both(arguments(4, 2), [[3, 4], [5, 4], [5, 4]],
             {"attn_mask": fixed(by_head[:2]), "key_padding_mask": fixed(padding[0]), **asked})
        both(arguments(4, 2), [q, q, q], {"attn_mask": fixed(causal(3)), "is_causal": True, **asked})
        both(arguments(4, 2), [q, q, q], {"attn_mask": fixed(causal(3)), "is_causal": True,
                                          "key_padding_mask": fixed(torch.tensor([[0, 0, -math.inf], [0, 1, 0]])), **asked})
        both(arguments(4, 2, add_bias_kv=True), [q, k, k], {"key_padding_mask": fixed(padding), **asked})
        both(arguments(4, 2, add_zero_attn=True), [q, k, k], {"attn_mask": fixed(by_head), **asked})
        both(arguments(4, 2, add_bias_kv=True, add_zero_attn=True, kdim=3, **first), [[2, 3, 4], [2, 5, 3], [2, 5, 4]],
             {"attn_mask": Input([3, 5]), **asked}, seed=3)
        both(arguments(4, 2, dropout=0.4), [q, k, k], asked, seed=4, label="the mask is that of the weights")
        both(arguments(4, 2, dropout=0.4, add_bias_kv=True), [q, k, k], {"attn_mask": fixed(blocked), **asked}, seed=5)
        both(arguments(4, 2, dropout=0.4), [q, k, k], asked, mode="eval")
        both(arguments(4, 2), [q, k, k], {"attn_mask": fixed(torch.tensor([[False] * 5, [True] * 5, [False] * 5])), **asked},
             dtypes=["f32"], backward=False, label="a query that sees nothing: NaN, or 0 without weights")
        both(arguments(4, 2), [[0, 2, 4], k, k], asked, dtypes=["f32"], label="no queries")
        both(arguments(4, 2), [[3, 0, 4], [5, 0, 4], [5, 0, 4]], asked, label="empty batch")
    both(arguments(4, 2), [Input(q, "transposed:0,1"), Input(k, "narrowed:2"), Input(k, "strided:0")], dtypes=["f32"])
    family.halves(NAME, arguments(4, 2), [q, k, k], named={"need_weights": False})
    family.refuses(NAME, arguments(4, 3), quotes=["embed_dim = 4", "num_heads = 3"])
    family.refuses(NAME, arguments(0, 1), quotes=["embed_dim = 0"])
    family.refuses(NAME, arguments(4, 0), quotes=["num_heads = 0"])
    family.refuses(NAME, arguments(4, 2, dropout=1.5), quotes=["dropout = 1.5"], accepted=True)
    family.refuses(NAME, arguments(4, 2, kdim=0), quotes=["kdim = 0"], accepted=True)
    family.refuses(NAME, arguments(4, 2, heads=2), quotes=["heads"])
    for inputs, named, quotes in (
        ([[3, 2, 5], k, k], {}, ["[3, 2, 5]", "4"]),
        ([q, [5, 2, 3], k], {}, ["[5, 2, 3]", "4"]),
        ([q, k, [6, 2, 4]], {}, ["[6, 2, 4]", "5"]),
        ([q, [5, 3, 4], [5, 3, 4]], {}, ["[5, 3, 4]", "2"]),
        ([q, [5, 4], [5, 4]], {}, ["[5, 4]", "3"]),
        ([[4], [4], [4]], {}, ["[4]"]),
        ([q, k, k], {"attn_mask": fixed([3, 4])}, ["[3, 4]", "[3, 5]"]),
        ([q, k, k], {"attn_mask": fixed([2, 3, 5])}, ["[2, 3, 5]", "[4, 3, 5]"]),
        ([q, k, k], {"attn_mask": fixed([5])}, ["[5]"]),
        ([q, k, k], {"key_padding_mask": fixed([2, 4])}, ["[2, 4]", "[2, 5]"]),
        ([q, k, k], {"key_padding_mask": fixed([5])}, ["[5]", "[2, 5]"]),
        ([q, k, k], {"key_padding_mask": fixed(torch.ones(2, 5, dtype=torch.int64))}, ["int64"]),
    ):
        family.refuses(NAME, arguments(4, 2), inputs, named, quotes)
    return family.write()
