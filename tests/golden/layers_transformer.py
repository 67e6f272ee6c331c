"""layers_transformer.safetensors: the layers of the transformer."""

import math

import torch

from layer_family import Family, Input


def fixed(values):
    return Input(values, grad=False)


def causal(size):
    return fixed(torch.full((size, size), -math.inf, dtype=torch.float64).triu(1))


def arguments(d_model=4, nhead=2, **kwargs):
    return {"d_model": d_model, "nhead": nhead, "dim_feedforward": 5, "dropout": 0.0, **kwargs}


BLOCKED = torch.tensor([[False, True, False], [False, False, True], [True, False, False]])
PADDING = torch.tensor([[False, False, True], [False, False, False]])


def encoder_layer(family):
    name, src = "TransformerEncoderLayer", [3, 2, 4]
    family.case(name, arguments(), [src])
    family.case(name, arguments(dim_feedforward=3, dropout=0.3), [src], seed=4, label="four masks, in PyTorch's order")
    family.case(name, arguments(dropout=0.3, batch_first=True), [[2, 3, 4]], seed=4, label="the mask of the attention's output is drawn in its order in memory")
    family.case(name, arguments(dropout=0.3, norm_first=True), [src], mode="eval")
    family.case(name, arguments(norm_first=True, activation="gelu"), [src])
    family.case(name, arguments(bias=False, layer_norm_eps=0.1, batch_first=True), [[2, 3, 4]])
    family.case(name, arguments(nhead=1), [[3, 4]], label="no batch dimension")
    family.case(name, arguments(), [src], {"src_mask": fixed(BLOCKED), "src_key_padding_mask": fixed(PADDING)})
    family.case(name, arguments(), [src], {"src_mask": causal(3), "is_causal": True})
    family.case(name, arguments(batch_first=True), [[2, 3, 4]],
                {"src_mask": Input([4, 3, 3]), "src_key_padding_mask": Input([2, 3])})
    family.case(name, arguments(), [[3, 0, 4]], label="empty batch")
    family.case(name, arguments(), [Input(src, "transposed:0,1")], dtypes=["f32"])
    family.refuses(name, arguments(nhead=3), quotes=["4", "3"])
    family.refuses(name, arguments(activation="tanh"), quotes=["tanh"])
    family.refuses(name, arguments(dropout=1.5), quotes=["1.5"])
    family.refuses(name, arguments(dim_feedforward=-1), quotes=["-1"])
    family.refuses(name, arguments(layer_norm_eps=-1.0), quotes=["eps = -1"], accepted=True)
    family.refuses(name, arguments(), [[3, 2, 5]], quotes=["[3, 2, 5]", "4"])
    family.refuses(name, arguments(), [src], {"src_mask": fixed([2, 3])}, quotes=["[2, 3]", "[3, 3]"])


def decoder_layer(family):
    name, pair = "TransformerDecoderLayer", [[3, 2, 4], [5, 2, 4]]
    memory_padding = torch.tensor([[False] * 5, [True, False, False, True, False]])
    family.case(name, arguments(), pair)
    family.case(name, arguments(dropout=0.3), pair, seed=4)
    family.case(name, arguments(dropout=0.3, batch_first=True), [[2, 3, 4], [2, 5, 4]], seed=4)
    family.case(name, arguments(dropout=0.3), pair, mode="eval")
    family.case(name, arguments(norm_first=True, activation="gelu"), pair)
    family.case(name, arguments(bias=False, batch_first=True, layer_norm_eps=0.1), [[2, 3, 4], [2, 5, 4]])
    family.case(name, arguments(), [[3, 4], [5, 4]], label="no batch dimension")
    family.case(name, arguments(), pair, {"tgt_mask": fixed(BLOCKED), "tgt_key_padding_mask": fixed(PADDING),
                                          "memory_mask": Input([3, 5]), "memory_key_padding_mask": fixed(memory_padding)})
    family.case(name, arguments(), pair, {"tgt_mask": causal(3), "tgt_is_causal": True,
                                          "memory_mask": fixed(torch.tensor([[0.0] + [-math.inf] * 4] * 3))})
    family.case(name, arguments(), pair, {"tgt_mask": Input([3, 3]), "tgt_key_padding_mask": Input([2, 3])}, mode="eval")
    family.case(name, arguments(), [[3, 0, 4], [5, 0, 4]], label="empty batch")
    family.case(name, arguments(), [[3, 2, 4]] * 2, {"memory_mask": causal(3), "memory_is_causal": True})
    family.refuses(name, arguments(nhead=0), quotes=["num_heads = 0"])
    family.refuses(name, arguments(), [[3, 2, 4], [5, 1, 4]], quotes=["[5, 1, 4]", "2"])
    family.refuses(name, arguments(), pair, {"memory_mask": fixed([3, 3])}, quotes=["[3, 3]", "[3, 5]"])


def write():
    family = Family("transformer")
    encoder_layer(family)
    decoder_layer(family)
    return family.write()
