"""models/clip and models/clip_masked: transformers' CLIP with small sizes, and the root mean square of each fresh
weight (clip_fresh.json). The first finds the end of a text with the rule of older configurations."""

import json

import torch
from transformers import CLIPConfig, CLIPModel

from common import integers, random
from published import MODELS, move, record

VOCABULARY, END = 23, 19

CASES = {
    "clip": CLIPConfig(
        text_config={"vocab_size": VOCABULARY, "hidden_size": 12, "intermediate_size": 10, "num_hidden_layers": 2,
                     "num_attention_heads": 3, "max_position_embeddings": 9, "bos_token_id": 0, "eos_token_id": 2},
        vision_config={"hidden_size": 8, "intermediate_size": 14, "num_hidden_layers": 3, "num_attention_heads": 2,
                       "image_size": 12, "patch_size": 4},
        projection_dim=6),
    "clip_masked": CLIPConfig(
        text_config={"vocab_size": VOCABULARY, "hidden_size": 8, "intermediate_size": 10, "num_hidden_layers": 2,
                     "num_attention_heads": 2, "max_position_embeddings": 8, "bos_token_id": 0, "eos_token_id": END,
                     "hidden_act": "gelu", "attention_dropout": 0.3},
        vision_config={"hidden_size": 12, "intermediate_size": 9, "num_hidden_layers": 2, "num_attention_heads": 4,
                       "image_size": 11, "patch_size": 5, "num_channels": 1, "hidden_act": "gelu",
                       "attention_dropout": 0.2, "layer_norm_eps": 1e-3},
        projection_dim=7, logit_scale_init_value=1.5),
}

# Other factors and ranges than those that are usual, each its own.
FRESH = {
    "text_config": {"vocab_size": 200, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
                    "num_attention_heads": 4, "max_position_embeddings": 40, "bos_token_id": 0, "eos_token_id": 2,
                    "initializer_factor": 0.5},
    "vision_config": {"hidden_size": 96, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
                      "image_size": 48, "patch_size": 8, "initializer_factor": 2.0, "initializer_range": 0.1},
    "projection_dim": 32, "initializer_factor": 3.0,
}


def outputs(net, images, ids, *mask):
    """What a whole pass and one of each tower give, one behind the other."""
    out = net(ids, images, *mask)
    features = [net.get_image_features(images).pooler_output, net.get_text_features(ids, *mask).pooler_output]
    parts = [out.logits_per_image, out.logits_per_text, *features]
    return torch.cat([part.flatten() for part in parts])


def texts():
    """Texts that end at different places, the first of several ends, and the mask of one that begins later."""
    ids = integers([3, 8], 1, 0, END)
    for row, end in enumerate([5, 7, 3]):
        ids[row, end] = END
    ids[0, 6:] = END
    mask = torch.ones_like(ids)
    mask[1, :2] = 0
    mask[0, 6:] = 0
    return ids, mask


def write():
    total = 0
    for name, config in CASES.items():
        torch.manual_seed(0)
        model = move(CLIPModel(config))
        model.save_pretrained(MODELS / name)
        vision = config.vision_config
        images = random([2, vision.num_channels, vision.image_size, vision.image_size], 3).to(torch.float32)
        ids, mask = texts()
        legacy = name == "clip"
        if legacy:
            ids[ids == END] = VOCABULARY - 1
        inputs = [images, ids] if legacy else [images, ids, mask]
        total += record(name, model, inputs, modes=["eval"] if legacy else ("train", "eval"), call=outputs)
    torch.manual_seed(0)
    fresh = CLIPModel(CLIPConfig(**FRESH))
    widths = {key: parameter.square().mean().sqrt().item() for key, parameter in fresh.named_parameters()}
    (MODELS / "clip_fresh.json").write_text(json.dumps({"config": FRESH, "widths": widths}) + "\n")
    return total + 1
