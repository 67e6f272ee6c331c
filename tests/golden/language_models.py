"""language_models.safetensors: building blocks of language models, computed by Hugging Face's transformers: attention with a
cache, masks, rotary embeddings, logits of the next token, and whole texts."""

import itertools

import torch
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right
from transformers import GenerationConfig, GenerationMixin, LogitsProcessorList, MistralConfig, PreTrainedConfig
from transformers import PreTrainedModel, Qwen3Config
from transformers.cache_utils import DynamicCache
from transformers.generation.logits_process import (
    MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper,
)
from transformers.masking_utils import create_causal_mask, create_sliding_window_causal_mask
from transformers.modeling_outputs import CausalLMOutput
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.mistral.modeling_mistral import MistralAttention, MistralRotaryEmbedding
from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RotaryEmbedding

from common import random, write_safetensors


def masks(tensors):
    """Attention by the mask that is written out: bottom right, and a window."""
    cases = []
    for length, keys, window in ((3, 7, None), (1, 5, None), (5, 5, None), (6, 9, 4), (9, 9, 3), (1, 9, 4), (70, 150, 20)):
        n = len(cases)
        query, key, value = (random([2, 2, size, 4], 40 + n + i, torch.float64)
                             for i, size in enumerate((length, keys, keys)))
        leaves = [x.requires_grad_() for x in (query, key, value)]
        if window is None:
            out = F.scaled_dot_product_attention(query, key, value, attn_mask=causal_lower_right(length, keys))
        else:
            at = torch.arange(length)[:, None] + keys - length
            to = torch.arange(keys)[None, :]
            out = F.scaled_dot_product_attention(query, key, value, attn_mask=(to <= at) & (to > at - window))
        grad = random(out.shape, 90 + n, torch.float64)
        out.backward(grad)
        for name, x in zip(("query", "key", "value"), leaves):
            tensors[f"mask{n}.{name}"], tensors[f"mask{n}.{name}.grad"] = x.detach(), x.grad
        tensors[f"mask{n}.out"], tensors[f"mask{n}.gout"] = out.detach(), grad
        cases.append({"past": keys - length, "window": window})
    return cases


def attentions(tensors):
    """A layer whole, and in pieces with a cache."""
    shape = {"hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
             "max_position_embeddings": 64, "attn_implementation": "sdpa"}
    cases = []
    for kind, window, pieces in (("qwen3", None, [4, 1, 2]), ("mistral", 3, [5, 1, 1]), ("mistral", 3, [2, 4, 1])):
        n = len(cases)
        torch.manual_seed(n)
        if kind == "qwen3":
            config = Qwen3Config(num_hidden_layers=1, rms_norm_eps=1e-6, **shape)
            layer, rotary = Qwen3Attention(config, 0), Qwen3RotaryEmbedding(config)
        else:
            config = MistralConfig(num_hidden_layers=1, sliding_window=window, **shape)
            layer, rotary = MistralAttention(config, 0), MistralRotaryEmbedding(config)
        if kind == "qwen3":
            # The same in double precision; transformers computes norms in F32.
            layer.q_norm, layer.k_norm = torch.nn.RMSNorm(6, 1e-6), torch.nn.RMSNorm(6, 1e-6)
        layer, make = layer.double(), create_causal_mask if window is None else create_sliding_window_causal_mask
        for i, (name, parameter) in enumerate(layer.named_parameters()):
            parameter.data = random(parameter.shape, 10 * n + i, torch.float64, -0.5, 0.5)
            tensors[f"attention{n}.param.{name}"] = parameter.data
        x = random([2, 7, 16], 7 + n, torch.float64)

        def run(part, start, cache):
            positions = torch.arange(start, start + part.size(1))[None]
            # In double precision, as ours; transformers computes the angles in F32.
            angles = positions.double()[..., None] * (1e4 ** (-torch.arange(0, 6, 2).double() / 6))
            angles = torch.cat([angles, angles], -1)
            mask = make(config=config, inputs_embeds=part, attention_mask=None, past_key_values=cache, position_ids=positions)
            return layer(part, (angles.cos(), angles.sin()), mask, past_key_values=cache)[0]

        cache, start, outs = DynamicCache(config=config), 0, []
        for piece in pieces:
            outs.append(run(x[:, start:start + piece], start, cache))
            start += piece
        tensors[f"attention{n}.x"], tensors[f"attention{n}.pieces"] = x, torch.cat(outs, 1).detach()
        tensors[f"attention{n}.whole"] = run(x, 0, DynamicCache(config=config)).detach()
        cases.append({"kind": kind, "window": window, "pieces": pieces})
    return cases


def rotary(tensors):
    cases = []
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
    for head_dim, theta, scaling, length in (
        (16, 1e4, {"rope_type": "linear", "factor": 4.0}, 8),
        (16, 1e4, {"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 32}, 8),
        (16, 1e4, {"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 32}, 100),
        (8, 5e5, {"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 16}, 33),
        (16, 1e4, yarn, 8),
        (64, 1e6, yarn | {"original_max_position_embeddings": 4096}, 8),
        (32, 1e4, yarn | {"attention_factor": 1.5, "beta_fast": 16.0, "beta_slow": 2.0}, 8),
        (32, 1e4, yarn | {"mscale": 0.707, "mscale_all_dim": 1.0, "factor": 40.0}, 8),
        (32, 1e4, yarn | {"truncate": False}, 8),
        (4, 1e4, yarn | {"factor": 0.5}, 8),
        (16, 5e5, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 64}, 8),
    ):
        n = len(cases)
        config = PreTrainedConfig()
        config.head_dim, config.hidden_size, config.num_attention_heads = head_dim, head_dim, 1
        config.max_position_embeddings = scaling.get("max_position_embeddings",
                                                     scaling.get("original_max_position_embeddings", 64))
        config.rope_parameters = {"rope_theta": theta, **scaling}
        frequencies, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu", seq_len=length)
        angles = torch.arange(length).float()[:, None] * frequencies
        tensors[f"rotary{n}.frequencies"] = frequencies
        tensors[f"rotary{n}.cos"], tensors[f"rotary{n}.sin"] = angles.cos() * factor, angles.sin() * factor
        cases.append({"head_dim": head_dim, "rope_theta": theta, "scaling": scaling, "length": length})
    return cases


def processors(tensors):
    cases = []
    scores = random([3, 11], 5, torch.float32, -4.0, 4.0)
    ids = torch.tensor([[1, 4, 4, 10], [0, 0, 0, 0], [3, 5, 7, 9]])
    tensors["processors.scores"], tensors["processors.ids"] = scores, ids
    for kwargs in (
        {"repetition_penalty": 1.3}, {"repetition_penalty": 0.7}, {"temperature": 0.7}, {"top_k": 3}, {"top_k": 20},
        {"top_p": 0.6}, {"top_p": 0.05}, {"top_p": 0.0}, {"min_p": 0.1}, {"min_p": 0.9},
        {"repetition_penalty": 1.5, "temperature": 1.7, "top_k": 6, "top_p": 0.8, "min_p": 0.2},
    ):
        n = len(cases)
        kinds = {"repetition_penalty": RepetitionPenaltyLogitsProcessor, "temperature": TemperatureLogitsWarper,
                 "top_k": TopKLogitsWarper, "top_p": TopPLogitsWarper, "min_p": MinPLogitsWarper}
        steps = LogitsProcessorList([kind(kwargs[name]) for name, kind in kinds.items() if name in kwargs])
        tensors[f"processors{n}.out"] = steps(ids, scores.clone())
        cases.append(kwargs)
    return cases


class TwoTokens(PreTrainedModel, GenerationMixin):
    """Scores by the last two tokens, from two tables."""

    config_class = PreTrainedConfig

    def __init__(self, config, tables):
        super().__init__(config)
        self.tables = torch.nn.ParameterList(tables)

    def forward(self, input_ids, **_):
        first, second = self.tables
        logits = first[input_ids]
        before = torch.cat([torch.zeros_like(logits[:, :1]), second[input_ids[:, :-1]]], 1)
        return CausalLMOutput(logits=logits + before)

    def prepare_inputs_for_generation(self, input_ids, **_):
        return {"input_ids": input_ids}


def texts(tensors):
    vocabulary = 13
    tables = [random([vocabulary, vocabulary], seed, torch.float32, -3.0, 3.0) for seed in (1, 2)]
    tensors["texts.first"], tensors["texts.second"] = tables
    config = PreTrainedConfig()
    config.vocab_size = vocabulary
    model = TwoTokens(config, tables).eval()
    prompts = [torch.tensor([[3, 1, 4]]), torch.tensor([[1, 5], [9, 2], [6, 5]]), torch.tensor([[7]])]
    cases = []
    variants = [{}, {"repetition_penalty": 1.4}, {"eos_token_id": [2], "pad_token_id": 12},
                {"do_sample": True, "temperature": 0.8, "top_k": 5, "eos_token_id": [2, 4], "pad_token_id": 1},
                {"do_sample": True, "top_p": 0.7, "min_p": 0.05, "repetition_penalty": 1.2}]
    for beams, early, penalty in itertools.product((2, 3, 4), (False, True, "never"), (1.0, 0.0, -0.5, 2.0)):
        variants.append({"num_beams": beams, "early_stopping": early, "length_penalty": penalty,
                         "eos_token_id": [2, 7] if beams == 3 else [5], "pad_token_id": 12})
    variants += [{"num_beams": 3}, {"num_beams": 2, "repetition_penalty": 1.5, "eos_token_id": [8], "pad_token_id": 0},
                 {"num_beams": 2, "do_sample": True, "temperature": 1.3, "top_k": 6, "eos_token_id": [5], "pad_token_id": 12}]
    for kwargs, (p, prompt) in itertools.product(variants, enumerate(prompts)):
        n = len(cases)
        torch.manual_seed(n)
        plain = {"do_sample": False, "num_beams": 1, "top_k": None, "use_cache": False}
        settings = GenerationConfig(max_new_tokens=8, **(plain | kwargs))
        tensors[f"texts{n}.out"] = model.generate(prompt, generation_config=settings)
        tensors[f"texts.prompt{p}"] = prompt
        cases.append({"prompt": p, "seed": n, **kwargs})
    return cases


def write():
    tensors = {}
    case = {"masks": masks(tensors), "attentions": attentions(tensors), "rotary": rotary(tensors),
            "processors": processors(tensors), "texts": texts(tensors)}
    write_safetensors("language_models.safetensors", tensors, case)
    return sum(len(cases) for cases in case.values())
