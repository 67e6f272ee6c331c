"""models/lines.json: lines of code of the originals of the files of examples/models, which `examples/tests/models/lines.rs` counts.

Both sides are counted alike: whole classes and functions with everything in them, whether or not the other side needs it,
without empty lines, comments, docstrings and imports. In the original, the parts with the function of the file here count: layers,
initialization, the loss if the file has it, the functions that name the published sizes (`resnet50`) and those that build a model and
read its weights (`_resnet`, `unet_carvana`). File reading in transformers and diffusers is not counted, like `pretrained.rs`,
nor is code shared by several models on either side (`timm.layers.Mlp` and `timm.rs`, `ACT2FN` and `transformers.rs`), except for
classes that the original repeats for each model (`BertSelfAttention`).

transformers' configurations count, because the files here have them too; for Mistral and Qwen3 only the differences from Llama; for Whisper
the front end with its filters, and the generation methods that the file here replaces. PyTorch's examples and Pytorch-UNet
have no configuration: sizes are constants and lines of a command-line parser, which are not functions and do not count.
"""

import inspect
import json
import textwrap

import timm.layers
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.models.downsampling import Downsample2D
from diffusers.models.embeddings import TimestepEmbedding, Timesteps, get_timestep_embedding
from diffusers.models.resnet import ResnetBlock2D
from diffusers.models.unets import unet_2d_blocks as blocks
from diffusers.models.upsampling import Upsample2D
from timm.models import convnext
from timm.models import vision_transformer as vit
from torchvision.models import _utils, mobilenetv3, resnet
from transformers import BertConfig, CLIPConfig, CLIPTextConfig, CLIPVisionConfig, GPT2Config, LlamaConfig, MistralConfig
from transformers import Qwen3Config, T5Config, WhisperConfig, WhisperFeatureExtractor, audio_utils
from transformers.models.bert import modeling_bert as bert
from transformers.models.clip import modeling_clip as clip
from transformers.models.gpt2 import modeling_gpt2 as gpt2
from transformers.models.llama import modeling_llama as llama
from transformers.models.mistral import modeling_mistral as mistral
from transformers.models.qwen3 import modeling_qwen3 as qwen3
from transformers.models.t5 import modeling_t5 as t5
from transformers.models.whisper import modeling_whisper as whisper
from transformers.models.whisper.generation_whisper import WhisperGenerationMixin as generation

from published import MODELS, count_definitions, count_lines, source

ORIGINALS = {
    "resnet": ("torchvision", [resnet.conv3x3, resnet.conv1x1, resnet.BasicBlock, resnet.Bottleneck, resnet.ResNet, resnet._resnet, resnet.resnet18, resnet.resnet34, resnet.resnet50, resnet.resnet101]),
    "mobilenet_v3": ("torchvision", [mobilenetv3.InvertedResidualConfig, mobilenetv3.InvertedResidual, mobilenetv3.MobileNetV3, _utils._make_divisible, mobilenetv3._mobilenet_v3]),
    "convnext": ("timm", [convnext.ConvNeXtBlock, convnext.ConvNeXtStage, convnext.ConvNeXt, convnext._init_weights, convnext._create_convnext, convnext.convnext_tiny, convnext.convnext_small, convnext.convnext_base, convnext.convnext_large]),
    "vision_transformer": ("timm", [timm.layers.PatchEmbed, timm.layers.attention.Attention, vit.Block, vit.VisionTransformer, vit._create_vision_transformer, vit.vit_tiny_patch16_224, vit.vit_small_patch16_224, vit.vit_base_patch16_224, vit.vit_large_patch16_224]),
    "ddpm": ("diffusers", [UNet2DModel, ResnetBlock2D, Downsample2D, Upsample2D, Timesteps, get_timestep_embedding, TimestepEmbedding, blocks.DownBlock2D, blocks.AttnDownBlock2D, blocks.UNetMidBlock2D, blocks.UpBlock2D, blocks.AttnUpBlock2D, DDPMScheduler]),
    "gpt2": ("transformers", [GPT2Config, gpt2.eager_attention_forward, gpt2.GPT2Attention, gpt2.GPT2MLP, gpt2.GPT2Block, gpt2.GPT2PreTrainedModel, gpt2.GPT2Model, gpt2.GPT2LMHeadModel]),
    "bert": ("transformers", [BertConfig, bert.BertEmbeddings, bert.eager_attention_forward, bert.BertSelfAttention, bert.BertSelfOutput, bert.BertAttention, bert.BertIntermediate, bert.BertOutput, bert.BertLayer, bert.BertEncoder, bert.BertPooler, bert.BertPreTrainedModel, bert.BertModel]),
    "llama": ("transformers", [LlamaConfig, llama.LlamaRMSNorm, llama.LlamaRotaryEmbedding, llama.rotate_half, llama.apply_rotary_pos_emb, llama.LlamaMLP, llama.repeat_kv, llama.eager_attention_forward, llama.LlamaAttention, llama.LlamaDecoderLayer, llama.LlamaPreTrainedModel, llama.LlamaModel, llama.LlamaForCausalLM, MistralConfig, mistral.MistralModel, Qwen3Config, qwen3.Qwen3Attention, qwen3.Qwen3Model]),
    "t5": ("transformers", [T5Config, t5.T5LayerNorm, t5.T5DenseActDense, t5.T5DenseGatedActDense, t5.T5LayerFF, t5.eager_attention_forward, t5.T5Attention, t5.T5LayerSelfAttention, t5.T5LayerCrossAttention, t5.T5Block, t5.T5PreTrainedModel, t5.T5Stack, t5.T5ForConditionalGeneration]),
    "clip": ("transformers", [CLIPTextConfig, CLIPVisionConfig, CLIPConfig, clip._get_vector_norm, clip.CLIPOutput, clip.CLIPVisionEmbeddings, clip.CLIPTextEmbeddings, clip.eager_attention_forward, clip.CLIPAttention, clip.CLIPMLP, clip.CLIPEncoderLayer, clip._init_child_weight, clip.CLIPPreTrainedModel, clip.CLIPEncoder, clip.CLIPTextModel, clip.CLIPVisionModel, clip.CLIPModel]),
    "whisper": ("transformers", [WhisperConfig, whisper.sinusoids, whisper.WhisperPositionalEmbedding, whisper.eager_attention_forward, whisper.WhisperAttention, whisper.WhisperEncoderLayer, whisper.WhisperDecoderLayer, whisper.WhisperPreTrainedModel, whisper.WhisperEncoder, whisper.WhisperDecoder, whisper.WhisperModel, whisper.WhisperForConditionalGeneration, WhisperFeatureExtractor, audio_utils.hertz_to_mel, audio_utils.mel_to_hertz, audio_utils._create_triangular_filter_bank, audio_utils.mel_filter_bank, generation._set_language_and_task, generation._retrieve_init_tokens, generation.detect_language, generation._retrieve_logit_processors, generation._set_max_new_tokens_and_length]),
}

# Scripts, of which those classes and functions count.
SCRIPTS = {
    "unet": ("milesial's Pytorch-UNet", {
        "Pytorch-UNet/unet/unet_parts.py": ["DoubleConv", "Down", "Up", "OutConv"],
        "Pytorch-UNet/unet/unet_model.py": ["UNet"],
        "Pytorch-UNet/hubconf.py": ["unet_carvana"]}),
    "dcgan": ("PyTorch's examples", {"examples/dcgan/main.py": ["weights_init", "Generator", "Discriminator"]}),
    "vae": ("PyTorch's examples", {"examples/vae/main.py": ["VAE", "loss_function"]}),
    "word_language_model": ("PyTorch's examples", {
        "examples/word_language_model/model.py": ["RNNModel"],
        "examples/word_language_model/main.py": ["repackage_hidden"]}),
}


def write():
    lines = {}
    for name, (library, parts) in ORIGINALS.items():
        count = sum(count_lines(textwrap.dedent(inspect.getsource(part))) for part in parts)
        lines[name] = {"library": library, "lines": count}
    for name, (library, files) in SCRIPTS.items():
        count = sum(count_definitions(source(path), names) for path, names in files.items())
        lines[name] = {"library": library, "lines": count}
    (MODELS / "lines.json").write_text(json.dumps(lines, indent=1) + "\n")
    return len(lines)
