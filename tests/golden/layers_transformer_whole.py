"""layers_transformer_whole.safetensors: the encoder-decoder transformer."""

from layer_family import Family, Input
from layers_transformer import BLOCKED, PADDING, arguments, causal, fixed


def write():
    family = Family("transformer_whole")
    name, pair = "Transformer", [[3, 2, 4], [2, 2, 4]]

    def of(encoders=1, decoders=1, **kwargs):
        return arguments(num_encoder_layers=encoders, num_decoder_layers=decoders, **kwargs)

    family.case(name, of(2, 2), pair)
    family.case(name, of(dropout=0.2, activation="gelu"), pair, seed=8)
    family.case(name, of(norm_first=True, layer_norm_eps=0.1), pair, mode="eval")
    family.case(name, of(bias=False, batch_first=True), [[2, 3, 4], [2, 2, 4]])
    family.case(name, of(), [[3, 4], [2, 4]], label="no batch dimension")
    family.case(name, of(), pair, {
        "src_mask": fixed(BLOCKED), "tgt_mask": causal(2), "memory_mask": Input([2, 3]),
        "src_key_padding_mask": fixed(PADDING), "tgt_key_padding_mask": Input([2, 2]),
        "memory_key_padding_mask": fixed(PADDING)})
    family.case(name, of(), pair, {"src_mask": causal(3), "src_is_causal": True, "tgt_mask": causal(2), "tgt_is_causal": True},
                dtypes=["f32"])
    family.case(name, of(), pair, {"src_mask": Input([3, 3]), "tgt_mask": Input([2, 2])}, label="the masks are learned")
    family.case(name, of(), [[3, 0, 4], [2, 0, 4]], label="empty batch")
    family.refuses(name, of(nhead=3), quotes=["4", "3"])
    family.refuses(name, of(), [[3, 2, 4], [2, 1, 4]], quotes=["2", "1"])
    family.refuses(name, of(), [[3, 2, 5], [2, 2, 5]], quotes=["[3, 2, 5]", "4"])
    return family.write()
