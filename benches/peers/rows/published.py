"""Published models: the peer of `benches/rows/published.rs`."""

import copy

import timm
import torch
import torchvision
from networks import images, inference
from row import no_grad
from torch import nn
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel


class UNet(nn.Module):
    """Four levels down by max pooling, and up by learned convolutions, joined with the features of each level."""

    def __init__(self, width):
        super().__init__()
        sizes = [width << level for level in range(5)]
        self.down = nn.ModuleList(self.pair(a, b) for a, b in zip([3, *sizes], sizes, strict=False))
        self.pool, self.out = nn.MaxPool2d(2), nn.Conv2d(width, 2, 1)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in reversed(sizes[:-1]))
        self.join = nn.ModuleList(self.pair(2 * n, n) for n in reversed(sizes[:-1]))

    @staticmethod
    def pair(a, b):
        sizes = [(a, b), (b, b)]
        layers = ((nn.Conv2d(n, m, 3, padding=1, bias=False), nn.BatchNorm2d(m), nn.ReLU(inplace=True)) for n, m in sizes)
        return nn.Sequential(*(layer for three in layers for layer in three))

    def forward(self, x):
        levels = []
        for i, pair in enumerate(self.down):
            x = pair(self.pool(x) if i else x)
            levels.append(x)
        for up, join, level in zip(self.up, self.join, reversed(levels[:-1]), strict=True):
            x = join(torch.cat([level, up(x)], 1))
        return self.out(x)


def gpt2():
    """The published sizes, 124 million parameters."""
    return GPT2LMHeadModel(GPT2Config(attn_implementation="sdpa")).eval()


def prefill():
    model, ids = gpt2(), torch.randint(0, 50257, (1, 128))
    return no_grad(lambda: model(ids, use_cache=True))


def cached():
    model, ids, token = gpt2(), torch.randint(0, 50257, (1, 48)), torch.randint(0, 50257, (1, 1))
    with torch.no_grad():
        start = model(ids, past_key_values=DynamicCache(), use_cache=True).past_key_values

    def run():
        past = copy.deepcopy(start)
        for _ in range(16):
            past = model(token, past_key_values=past, use_cache=True).past_key_values

    return no_grad(run)


def add(rows):
    for name, build in [
        ("ResNet-50", torchvision.models.resnet50),
        ("MobileNetV3-Small", torchvision.models.mobilenet_v3_small),
        ("ConvNeXt-T", lambda: timm.create_model("convnext_tiny")),
        ("ViT-Ti/16", lambda: timm.create_model("vit_tiny_patch16_224", img_size=64)),
        ("U-Net of width 64", lambda: UNet(64)),
    ]:
        rows.add(
            f"{name}, batch 8 of 64x64, inference",
            lambda build=build: images(build(), torch.randn(8, 3, 64, 64), inference),
        )
    rows.add("GPT-2, prefill of 128 tokens", prefill)
    rows.add("GPT-2, 16 tokens after 48, with a cache", cached)
