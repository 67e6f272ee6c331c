"""models/whisper and models/whisper_options: transformers' Whisper with small sizes, the features of synthetic audio
(whisper_features, and whisper_quiet near silence), the generated tokens (<name>_tokens.json) and the root mean
square of each fresh weight (whisper_fresh.json)."""

import json
import shutil
from unittest import mock

import numpy
import torch
from transformers import GenerationConfig, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration

from common import integers, random, write_safetensors
from published import MODELS, move, record

SAMPLING_RATE = 16000

# Eighteen words, and behind them the tokens that Whisper's vocabulary ends with.
END, START, ENGLISH, GERMAN, FRENCH, TRANSLATE, TRANSCRIBE, PREVIOUS, NO_SPEECH, NO_TIMESTAMPS = range(18, 28)
VOCABULARY = 28

SIZES = {
    "vocab_size": VOCABULARY, "d_model": 12, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2,
    "decoder_attention_heads": 3, "encoder_ffn_dim": 10, "decoder_ffn_dim": 14, "max_target_positions": 20,
    "bos_token_id": END, "eos_token_id": END, "pad_token_id": END, "decoder_start_token_id": START,
    # Fields of published files, which only generation reads.
    "suppress_tokens": [1, 7], "begin_suppress_tokens": [3, END],
}

SPECIAL = {"decoder_start_token_id": START, "bos_token_id": END, "eos_token_id": END, "pad_token_id": END,
           "max_length": 20, "max_initial_timestamp_index": 50, "no_timestamps_token_id": NO_TIMESTAMPS,
           "prev_sot_token_id": PREVIOUS, "return_timestamps": False, "alignment_heads": [[0, 0], [1, 2]],
           "suppress_tokens": [1, 7, START, PREVIOUS, NO_SPEECH], "begin_suppress_tokens": [3, END]}

# By the model: its configuration, its front end, its `generation_config.json`, and the seed of weights that have
# something to say.
CASES = {
    "whisper": (
        WhisperConfig(max_source_positions=50, init_std=0.4, **SIZES),
        WhisperFeatureExtractor(chunk_length=1),
        {"is_multilingual": True, "lang_to_id": {"<|en|>": ENGLISH, "<|de|>": GERMAN, "<|fr|>": FRENCH},
         "task_to_id": {"translate": TRANSLATE, "transcribe": TRANSCRIBE},
         "forced_decoder_ids": [[1, None], [2, TRANSCRIBE]]},
        4,
    ),
    "whisper_options": (
        WhisperConfig(max_source_positions=25, num_mel_bins=128, init_std=0.3, activation_function="relu", dropout=0.2,
                      attention_dropout=0.1, activation_dropout=0.3, tie_word_embeddings=False, **SIZES),
        WhisperFeatureExtractor(feature_size=128, chunk_length=1, n_fft=512, hop_length=320),
        {"is_multilingual": False, "forced_decoder_ids": [[1, NO_TIMESTAMPS]]},
        1,
    ),
}

SEARCHES = [{}, {"num_beams": 3}, {"num_beams": 2, "length_penalty": -0.5, "repetition_penalty": 1.3}]

# What users say beyond the file; by the model.
WISHES = {
    "whisper": [
        {}, {"language": "<|de|>"}, {"language": "fr", "task": "translate"}, {"task": "translate"}, {"max_new_tokens": 4},
        {"forced_decoder_ids": None}, {"forced_decoder_ids": [[1, FRENCH], [2, TRANSLATE]]},
        {"suppress_tokens": None}, {"suppress_tokens": [0, 2, 4, 5], "begin_suppress_tokens": None},
        {"prompt_ids": [PREVIOUS, 4, 9, 2]}, {"eos_token_id": 8, "pad_token_id": 8},
        # What texts begin with otherwise, and lengths that end them.
        {"begin_suppress_tokens": [9, 15]}, {"max_length": 6}, {"max_length": 6, "prompt_ids": [PREVIOUS, 4, 9, 2]},
    ],
    "whisper_options": [{}, {"begin_suppress_tokens": None}, {"begin_suppress_tokens": [23, 4]}, {"forced_decoder_ids": None, "prompt_ids": [PREVIOUS, 5]},
                        {"eos_token_id": 22, "pad_token_id": 22}],
}


def audio(seconds, seed, noise):
    """A gliding voice of twenty harmonics and noise, in the steps of a file of 16 bits."""
    samples = int(seconds * SAMPLING_RATE)
    time = numpy.arange(samples) / SAMPLING_RATE
    pitch = 100 + 25 * seed + 40 * numpy.sin(2 * numpy.pi * (1 + seed) * time)
    angle = 2 * numpy.pi * numpy.cumsum(pitch) / SAMPLING_RATE
    voice = sum(numpy.sin(k * angle + k) / k for k in range(1, 21))
    wave = 0.2 * voice * (1 + numpy.sin(2 * numpy.pi * 3 * time))
    wave += noise * numpy.random.RandomState(seed).randn(samples)
    return (numpy.round(wave * 8192).clip(-32768, 32767) / 32768).astype(numpy.float32)


def write_features():
    """Shorter than the window, as long, and longer; one of silence and noise near the floor."""
    waves = [audio(0.31, 1, 0.05), audio(1.0, 2, 0.1), audio(1.37, 3, 0.05), audio(0.6, 4, 0.02)]
    waves[3][:4000] = 0
    tensors = {f"wave/{i}": torch.from_numpy(wave) for i, wave in enumerate(waves)}
    features = {}
    for name, (_, extractor, _, _) in CASES.items():
        # A list is one batch.
        features[name] = extractor(waves, sampling_rate=SAMPLING_RATE, return_tensors="pt")["input_features"]
        tensors[f"{name}/features"] = features[name]
        # In double precision, as the library computes where there is no PyTorch.
        with mock.patch("transformers.models.whisper.feature_extraction_whisper.is_torch_available", lambda: False):
            exact = extractor(waves, sampling_rate=SAMPLING_RATE)["input_features"]
        tensors[f"{name}/exact"] = torch.from_numpy(exact)
        difference = (features[name] - tensors[f"{name}/exact"]).abs().max().item()
        print(f"  {name}: features of the library in single and double precision differ by {difference:.1e}")
    write_safetensors("models/whisper_features.safetensors", tensors, {"sampling_rate": SAMPLING_RATE})
    return features


def write_quiet():
    """Silence, and noise about the floor of the logarithm."""
    waves = [numpy.zeros(4000, numpy.float32), (1e-5 * numpy.random.RandomState(5).randn(9000)).astype(numpy.float32)]
    tensors = {f"wave/{i}": torch.from_numpy(wave) for i, wave in enumerate(waves)}
    for name, (_, extractor, _, _) in CASES.items():
        tensors[name] = extractor(waves, sampling_rate=SAMPLING_RATE, return_tensors="pt")["input_features"]
        assert (tensors[name] == -1.5).any() and tensors[name].unique().numel() > 100
    write_safetensors("models/whisper_quiet.safetensors", tensors, {"sampling_rate": SAMPLING_RATE})


def write_fresh():
    sizes = {"vocab_size": 200, "d_model": 64, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 96, "decoder_ffn_dim": 80,
             "encoder_attention_heads": 4, "decoder_attention_heads": 4, "max_source_positions": 40, "max_target_positions": 50,
             "init_std": 0.05}
    torch.manual_seed(0)
    model = WhisperForConditionalGeneration(WhisperConfig(**{**SIZES, **sizes}))
    widths = {key: parameter.square().mean().sqrt().item() for key, parameter in model.named_parameters()}
    (MODELS / "whisper_fresh.json").write_text(json.dumps({"config": sizes, "widths": widths}) + "\n")


def without(ids, padding):
    while ids and ids[-1] == padding:
        ids.pop()
    return ids


def write_tokens(name, model, features, generation):
    cases = []
    for wish in WISHES[name]:
        for search in SEARCHES:
            options = {**generation, **search, **wish}
            prompt = options.pop("prompt_ids", None)
            prompt_ids = None if prompt is None else torch.tensor(prompt)
            settings = GenerationConfig(**{key: value for key, value in options.items() if value is not None})
            texts = []
            for use_cache in (True, False):
                with mock.patch.object(model, "generation_config", GenerationConfig()):
                    texts.append(model.eval().generate(
                        features, generation_config=settings, prompt_ids=prompt_ids, use_cache=use_cache).tolist())
            assert texts[0] == texts[1], (wish, search)
            padding = options["pad_token_id"]
            cases.append({"changes": {**search, **wish}, "ids": [without(ids, padding) for ids in texts[0]]})
    texts = {tuple(ids) for case in cases for ids in case["ids"]}
    lengths, tokens = {len(ids) for ids in texts}, {id for ids in texts for id in ids}
    print(f"  {name}: {len(cases)} cases, {len(texts)} different texts of {sorted(lengths)} tokens, {len(tokens)} different ones")
    (MODELS / f"{name}_tokens.json").write_text(json.dumps(cases) + "\n")
    return len(cases)


def call(model, features, ids):
    encoded = model.model.encoder(features).last_hidden_state
    logits = model(decoder_input_ids=ids, encoder_outputs=[encoded]).logits
    # Both, so that what the encoder gives is compared by itself.
    return torch.cat([encoded.flatten(1), logits.flatten(1)], 1)


def write():
    total = 2
    features = write_features()
    write_quiet()
    write_fresh()
    for name, (config, extractor, generation, seed) in CASES.items():
        folder = MODELS / name
        shutil.rmtree(folder, ignore_errors=True)
        torch.manual_seed(seed)
        model = move(WhisperForConditionalGeneration(config))
        # The second as shards.
        model.save_pretrained(folder, max_shard_size="100MB" if name == "whisper" else "20KB")
        extractor.save_pretrained(folder)
        generation = {**SPECIAL, **generation}
        GenerationConfig(**generation).save_pretrained(folder)
        spectrum = random([2, config.num_mel_bins, 2 * config.max_source_positions], 1, low=-0.8, high=1.4)
        total += record(name, model, [spectrum, integers([2, 7], 2, 0, VOCABULARY)], call=call)
        total += write_tokens(name, model, features[name], generation)
    return total
