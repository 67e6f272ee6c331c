"""models/lines.json: lines of code of the classes and functions that each file of examples/models stands for.

Without empty lines, comments and docstrings. Of general classes (diffusers' `Attention`) all is counted that stands in
them, because the original needs them as they are; of files only what the model uses.
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
from torchvision.models import mobilenetv3, resnet

from published import MODELS, count_lines, source

ORIGINALS = {
    "resnet": ("torchvision", [resnet.conv3x3, resnet.conv1x1, resnet.BasicBlock, resnet.Bottleneck, resnet.ResNet]),
    "mobilenet_v3": ("torchvision", [mobilenetv3.InvertedResidualConfig, mobilenetv3.InvertedResidual, mobilenetv3.MobileNetV3]),
    "convnext": ("timm", [convnext.ConvNeXtBlock, convnext.ConvNeXtStage, convnext.ConvNeXt, convnext._init_weights]),
    "vision_transformer": ("timm", [timm.layers.PatchEmbed, timm.layers.attention.Attention, vit.Block, vit.VisionTransformer]),
    "ddpm": ("diffusers", [UNet2DModel, ResnetBlock2D, Downsample2D, Upsample2D, Timesteps, get_timestep_embedding, TimestepEmbedding, blocks.DownBlock2D, blocks.AttnDownBlock2D, blocks.UNetMidBlock2D, blocks.UpBlock2D, blocks.AttnUpBlock2D, DDPMScheduler]),
}

# Scripts, of which the classes count.
SCRIPTS = {
    "unet": ("milesial's Pytorch-UNet", ["Pytorch-UNet/unet/unet_parts.py", "Pytorch-UNet/unet/unet_model.py"]),
    "dcgan": ("PyTorch's examples", ["examples/dcgan/main.py"]),
    "vae": ("PyTorch's examples", ["examples/vae/main.py"]),
}


def write():
    lines = {}
    for name, (library, parts) in ORIGINALS.items():
        count = sum(count_lines(textwrap.dedent(inspect.getsource(part))) for part in parts)
        lines[name] = {"library": library, "lines": count}
    for name, (library, paths) in SCRIPTS.items():
        lines[name] = {"library": library, "lines": sum(count_lines(source(path), classes=True) for path in paths)}
    (MODELS / "lines.json").write_text(json.dumps(lines, indent=1) + "\n")
    return len(lines)
