"""models/gpt2, models/bert, models/llama, models/mistral and models/qwen3: transformers' with small sizes, and the generated
texts (<name>_texts.json)."""

import json
from unittest import mock

import torch
from torch.nn import functional as F
from transformers import BertConfig, BertModel, GenerationConfig, GPT2Config, GPT2LMHeadModel
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM, Qwen3Config, Qwen3ForCausalLM

from common import integers
from published import MODELS, move, record

VOCABULARY = 23

# Wide draws, so that a text does not repeat one token.
WIDE = {"vocab_size": VOCABULARY, "initializer_range": 0.4, "bos_token_id": 1, "eos_token_id": 2}

DECODER = WIDE | {"hidden_size": 16, "intermediate_size": 10, "num_hidden_layers": 2, "num_attention_heads": 4,
                  "num_key_value_heads": 2, "max_position_embeddings": 32}

CASES = [
    ("gpt2", GPT2LMHeadModel, GPT2Config(
        n_positions=24, n_embd=12, n_layer=2, n_head=3, n_inner=20, **WIDE)),
    ("gpt2_options", GPT2LMHeadModel, GPT2Config(
        n_positions=24, n_embd=8, n_layer=2, n_head=2, activation_function="gelu", layer_norm_epsilon=1e-3,
        attn_pdrop=0.2, embd_pdrop=0.3, resid_pdrop=0.4, scale_attn_by_inverse_layer_idx=True,
        tie_word_embeddings=False, **WIDE)),
    ("bert", BertModel, BertConfig(
        hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=10, max_position_embeddings=16,
        **WIDE)),
    ("llama", LlamaForCausalLM, LlamaConfig(
        rope_parameters={"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 16},
        head_dim=6, attention_bias=True, mlp_bias=True, attention_dropout=0.2, tie_word_embeddings=True, **DECODER)),
    ("mistral", MistralForCausalLM, MistralConfig(sliding_window=4, **DECODER)),
    ("qwen3", Qwen3ForCausalLM, Qwen3Config(
        head_dim=6, rms_norm_eps=1e-3, use_sliding_window=True, sliding_window=3, max_window_layers=1,
        rope_parameters={"rope_type": "default", "rope_theta": 1000.0}, **DECODER)),
]

TEXTS = [{}, {"repetition_penalty": 1.5}, {"num_beams": 3}, {"num_beams": 2, "length_penalty": -0.5, "repetition_penalty": 1.3}]


def exact(net):
    """A model in double precision throughout: transformers computes norms and angles in F32."""
    for module in net.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = lambda x, own=module: F.rms_norm(x, own.weight.shape, own.weight, own.variance_epsilon)
    if hasattr(net, "model"):
        net.model.rotary_emb = type(net.model.rotary_emb)(net.config)


def logits(net, ids):
    if ids.dtype == torch.long and next(net.parameters()).dtype == torch.float32:
        return net(ids).logits
    with mock.patch.object(torch, "float", torch.float64):
        exact(net)
        return net(ids).logits


def hidden(net, ids, kinds, mask):
    out = net(ids, token_type_ids=kinds, attention_mask=mask)
    return torch.cat([out.last_hidden_state, out.pooler_output[:, None]], 1)


def write_texts(name, model):
    cases = []
    for options in TEXTS:
        for shape, ends in (([1, 5], []), ([3, 2], [2, 7])):
            prompt = integers(shape, 3, 3, VOCABULARY)
            config = {"max_new_tokens": 12, "eos_token_id": ends, "pad_token_id": 1, **options}
            settings = GenerationConfig(do_sample=False, top_k=None, **{**config, "eos_token_id": ends or None})
            with mock.patch.object(model, "generation_config", GenerationConfig()):
                ids = model.eval().generate(prompt, attention_mask=torch.ones_like(prompt), generation_config=settings)
            cases.append({"config": config, "prompt": prompt.tolist(), "ids": ids.tolist()})
    (MODELS / f"{name}_texts.json").write_text(json.dumps(cases) + "\n")


def write():
    total = 0
    for name, kind, config in CASES:
        torch.manual_seed(0)
        model = move(kind(config))
        model.save_pretrained(MODELS / name)
        (MODELS / name / "generation_config.json").unlink(missing_ok=True)
        ids = integers([2, 11], 1, 0, VOCABULARY)
        if name == "bert":
            mask = torch.ones_like(ids)
            mask[1, 7:] = 0
            total += record(name, model, [ids, integers([2, 11], 2, 0, 2), mask], call=hidden)
            continue
        modes = ("train", "eval") if name in ("gpt2", "gpt2_options", "llama") else ["eval"]
        total += record(name, model, [ids], modes=modes, call=logits)
        write_texts(name, model)
    return total
