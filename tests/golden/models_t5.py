"""models/t5 and models/t5_gated: transformers' T5 with small sizes, its outputs for texts (<name>_texts.json), the
buckets of relative positions (t5_buckets.json) and the root mean square of each fresh weight (t5_fresh.json)."""

import json
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GenerationConfig, T5Config, T5ForConditionalGeneration
from transformers.models.t5.modeling_t5 import T5Attention, T5LayerNorm

from common import integers
from models_transformers import TEXTS, VOCABULARY
from published import MODELS, move, record

# Few buckets, so that a text is long enough for all of them.
SMALL = {"vocab_size": VOCABULARY, "d_model": 12, "d_kv": 5, "d_ff": 10, "num_layers": 3, "num_heads": 3,
         "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "decoder_start_token_id": 0}

# With a seed and a scale of the words, so that texts are of many tokens, those of beams differ from greedy ones, and F32 keeps its digits.
CASES = {
    "t5": (36, 0.35, T5Config(num_decoder_layers=2, dropout_rate=0.2, **SMALL)),
    "t5_gated": (15, 0.7, T5Config(feed_forward_proj="gated-gelu", tie_word_embeddings=False, layer_norm_epsilon=1e-3, **SMALL)),
}

WIDE = {"vocab_size": 200, "d_model": 64, "d_kv": 8, "d_ff": 96, "num_layers": 1, "num_heads": 16,
        "relative_attention_num_buckets": 128, "initializer_factor": 0.5}


def norm(module):
    """T5LayerNorm, which computes the variance in F32, in double precision throughout."""
    return lambda x: F.rms_norm(x, module.weight.shape, module.weight, module.variance_epsilon)


def exact(net):
    for module in net.modules():
        if isinstance(module, T5LayerNorm):
            module.forward = norm(module)


def logits(net, ids, mask, decoder_ids):
    if next(net.parameters()).dtype == torch.float64:
        exact(net)
    return net(input_ids=ids, attention_mask=mask, decoder_input_ids=decoder_ids).logits


def padded(ids, lengths):
    """Texts of these lengths, with 0 behind them, and their mask."""
    mask = (torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]).long()
    return ids * mask, mask


def write_texts(name, model):
    cases = []
    for options in TEXTS + [{"num_beams": 3, "length_penalty": 2.0}]:
        for lengths, ends in (([7], []), ([9, 4, 6], [1, 7])):
            ids, mask = padded(integers([len(lengths), max(lengths)], 3, 3, VOCABULARY), lengths)
            config = {"max_new_tokens": 12, "eos_token_id": ends, "pad_token_id": 0, **options}
            settings = {**config, "eos_token_id": ends or None, "decoder_start_token_id": 0}
            with mock.patch.object(model, "generation_config", GenerationConfig()):
                said = model.eval().generate(
                    ids, attention_mask=mask, generation_config=GenerationConfig(do_sample=False, top_k=None, **settings))
            cases.append({"config": config, "source": ids.tolist(), "mask": mask.tolist(), "ids": said.tolist()})
    (MODELS / f"{name}_texts.json").write_text(json.dumps(cases) + "\n")
    return len(cases)


def write_buckets():
    positions = torch.arange(-300, 301)
    cases = []
    for buckets, distance in ((32, 128), (8, 12), (8, 20), (12, 50), (64, 1000), (30, 77), (4, 3), (5, 4), (9, 14), (31, 100)):
        for bidirectional in (True, False):
            found = T5Attention._relative_position_bucket(positions, bidirectional, buckets, distance)
            cases.append({"num_buckets": buckets, "max_distance": distance, "bidirectional": bidirectional,
                          "buckets": found.tolist()})
    (MODELS / "t5_buckets.json").write_text(json.dumps(cases) + "\n")
    return len(cases)


def write_fresh():
    cases = []
    for kind in ("relu", "gated-gelu"):
        torch.manual_seed(0)
        config = {**WIDE, "feed_forward_proj": kind}
        model = T5ForConditionalGeneration(T5Config(**config))
        widths = {key: parameter.square().mean().sqrt().item() for key, parameter in model.named_parameters()}
        cases.append({"config": config, "widths": widths})
    (MODELS / "t5_fresh.json").write_text(json.dumps(cases) + "\n")
    return len(cases)


def write():
    total = write_buckets() + write_fresh()
    for name, (seed, scale, config) in CASES.items():
        torch.manual_seed(seed)
        model = T5ForConditionalGeneration(config)
        if name == "t5_gated":
            # As the published ones have it; transformers 5 itself ties what it makes anew.
            model.lm_head.weight = nn.Parameter(torch.randn_like(model.shared.weight))
        with torch.no_grad():
            model.shared.weight.mul_(scale)
        move(model)
        model.save_pretrained(MODELS / name)
        (MODELS / name / "generation_config.json").unlink()
        ids, mask = padded(integers([2, 17], 1, 1, VOCABULARY), [17, 11])
        total += record(name, model, [ids, mask, integers([2, 14], 2, 0, VOCABULARY)], call=logits)
        total += write_texts(name, model)
    return total
