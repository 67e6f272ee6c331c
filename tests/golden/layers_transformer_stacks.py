"""layers_transformer_stacks.safetensors: the stacks of transformer layers."""

import torch

from layer_family import Arguments, Family, Input
from layers_transformer import BLOCKED, PADDING, arguments, causal, fixed


def stacks(family):
    norm = {"norm": Arguments("LayerNorm", normalized_shape=4)}
    layer = Arguments("TransformerEncoderLayer", **arguments())
    name, src = "TransformerEncoder", [3, 2, 4]

    def of(layer, num_layers, **kwargs):
        return {"encoder_layer": layer, "num_layers": num_layers, **kwargs}

    family.case(name, of(layer, 2), [src])
    family.case(name, of(layer, 1, **norm), [src])
    family.case(name, of(Arguments("TransformerEncoderLayer", **arguments(dropout=0.2, norm_first=True)), 3, **norm), [src], seed=6)
    first = Arguments("TransformerEncoderLayer", **arguments(batch_first=True, activation="gelu"))
    family.case(name, of(first, 2, **norm), [[2, 3, 4]], {"src_key_padding_mask": fixed(PADDING)}, mode="eval")
    family.case(name, of(layer, 2), [src], {"mask": causal(3)}, label="the mask is found to be causal")
    family.case(name, of(layer, 2), [src], {"mask": fixed(torch.ones(3, 3, dtype=torch.bool).triu(1))})
    family.case(name, of(layer, 2), [src], {"mask": fixed(BLOCKED), "src_key_padding_mask": fixed(PADDING), "is_causal": False})
    family.case(name, of(layer, 2), [[3, 4]], {"mask": causal(3), "is_causal": True}, label="no batch dimension")
    family.case(name, of(layer, 2), [src], {"mask": Input([3, 3])}, label="the mask is learned")
    family.case(name, of(layer, 2), [[3, 0, 4]], label="empty batch")
    family.refuses(name, of(layer, -1), quotes=["-1"], accepted=True)
    family.refuses(name, of(layer, 0), [src], quotes=["num_layers = 0"])
    family.refuses(name, of(layer, 2), [[3, 2, 6]], quotes=["[3, 2, 6]", "4"])
    family.refuses(name, of(layer, 2, norm=Arguments("LayerNorm", normalized_shape=5)), [src], quotes=["5"])

    layer = Arguments("TransformerDecoderLayer", **arguments())
    name, pair = "TransformerDecoder", [src, [5, 2, 4]]

    def of_decoder(layer, num_layers, **kwargs):
        return {"decoder_layer": layer, "num_layers": num_layers, **kwargs}

    family.case(name, of_decoder(layer, 2), pair)
    family.case(name, of_decoder(layer, 1, **norm), pair)
    dropping = Arguments("TransformerDecoderLayer", **arguments(dropout=0.2, norm_first=True))
    family.case(name, of_decoder(dropping, 2, **norm), pair, seed=6)
    family.case(name, of_decoder(dropping, 2, **norm), pair, mode="eval")
    family.case(name, of_decoder(layer, 2), pair, {"tgt_mask": causal(3), "memory_key_padding_mask": Input([2, 5])})
    family.case(name, of_decoder(layer, 2), pair, {"tgt_mask": fixed(torch.ones(3, 3, dtype=torch.bool).triu(1)),
                                                   "tgt_key_padding_mask": fixed(PADDING), "memory_mask": Input([3, 5])})
    family.case(name, of_decoder(layer, 2), pair, {"tgt_mask": Input([3, 3])}, label="the mask is learned")
    family.case(name, of_decoder(layer, 2), [[3, 0, 4], [5, 0, 4]], label="empty batch")
    family.refuses(name, of_decoder(layer, 0), pair, quotes=["num_layers = 0"])
    family.refuses(name, of_decoder(layer, 2), [src, [5, 3, 4]], quotes=["[5, 3, 4]", "2"])


def write():
    family = Family("transformer_stacks")
    stacks(family)
    return family.write()
