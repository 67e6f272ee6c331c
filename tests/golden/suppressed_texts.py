"""suppressed_texts.safetensors: scores and texts with suppressed tokens, by Hugging Face's transformers."""

import itertools

import torch
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedConfig
from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor, SuppressTokensLogitsProcessor

from common import random, write_safetensors
from language_models import TwoTokens

VOCABULARY = 13


def processors(tensors):
    cases = []
    scores = random([3, 11], 5, torch.float32, -4.0, 4.0)
    ids = torch.tensor([[1, 4, 4, 10], [0, 0, 0, 0], [3, 5, 7, 9]])
    tensors["processors.scores"], tensors["processors.ids"] = scores, ids
    for kwargs in ({"suppress_tokens": [4]}, {"suppress_tokens": [0, 7, 7, 10]},
                   {"repetition_penalty": 1.3, "suppress_tokens": [1, 2, 3]}):
        kinds = {"repetition_penalty": RepetitionPenaltyLogitsProcessor, "suppress_tokens": SuppressTokensLogitsProcessor}
        steps = LogitsProcessorList([kind(kwargs[name]) for name, kind in kinds.items() if name in kwargs])
        tensors[f"processors{len(cases)}.out"] = steps(ids, scores.clone())
        cases.append(kwargs)
    return cases


def texts(tensors):
    tables = [random([VOCABULARY, VOCABULARY], seed, torch.float32, -3.0, 3.0) for seed in (1, 2)]
    tensors["texts.first"], tensors["texts.second"] = tables
    config = PreTrainedConfig()
    config.vocab_size = VOCABULARY
    model = TwoTokens(config, tables).eval()
    prompts = [torch.tensor([[3, 1, 4]]), torch.tensor([[1, 5], [9, 2], [6, 5]])]
    searches = [{}, {"eos_token_id": [2], "pad_token_id": 12}, {"num_beams": 3, "eos_token_id": [5], "pad_token_id": 12},
                {"num_beams": 2, "length_penalty": -0.5}, {"do_sample": True, "temperature": 0.8, "top_k": 5}]
    cases = []
    for search, (p, prompt) in itertools.product(searches, enumerate(prompts)):
        tensors[f"texts.prompt{p}"] = prompt

        def generate(**options):
            torch.manual_seed(len(cases))
            plain = {"do_sample": False, "num_beams": 1, "top_k": None, "use_cache": False}
            settings = GenerationConfig(max_new_tokens=8, **(plain | search | options))
            return model.generate(prompt, generation_config=settings)

        # Tokens that the texts have otherwise.
        new = generate()[:, prompt.size(1):]
        first, last = new[:, 0].tolist(), new[:, -1].tolist()
        for options in ({"suppress_tokens": last}, {"begin_suppress_tokens": first},
                        {"suppress_tokens": [6], "begin_suppress_tokens": first + last, "repetition_penalty": 1.3}):
            n = len(cases)
            tensors[f"texts{n}.out"] = generate(**options)
            cases.append({"prompt": p, "seed": n, **search, **options})
    return cases


def write():
    tensors = {}
    case = {"processors": processors(tensors), "texts": texts(tensors)}
    write_safetensors("suppressed_texts.safetensors", tensors, case)
    return sum(len(cases) for cases in case.values())
