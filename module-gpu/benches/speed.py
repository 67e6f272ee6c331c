"""The rows of `speed.rs` in PyTorch, on an NVIDIA GPU: `python speed.py`, with torch, torchvision and transformers.

Products and convolutions are computed in float32 without TF32, as in `speed.rs`, unless the argument `tf32` is given; another argument is a part of the names of the rows. A time is
the median of runs, each of so many calls that it takes a while, followed by a wait; it is divided by the number of calls.
"""

import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda"


def normal(*shape):
    return torch.randn(*shape, device=DEVICE)


def product(size, dtype=torch.float32):
    a, b = normal(size, size).to(dtype), normal(size, size).to(dtype)
    return lambda: a @ b


def forward(layer, x, dtype=torch.float32):
    layer.to(DEVICE, dtype).eval()
    x = x.to(dtype)

    def run():
        with torch.no_grad():
            layer(x)

    return run


def block(batch, length, dtype=torch.float32):
    layer = nn.TransformerEncoderLayer(768, 12, 3072, norm_first=True, batch_first=True)
    return forward(layer, normal(batch, length, 768), dtype)


def attention():
    x = normal(8, 12, 512, 64)
    return lambda: F.scaled_dot_product_attention(x, x, x, is_causal=True)


def on_matrix(function):
    x = normal(4096, 4096)
    return lambda: function(x)


def add(*shape):
    a, b = normal(4096, 4096), normal(*shape)
    return lambda: a + b


def resnet_18(images, size):
    from torchvision.models import resnet18

    model = resnet18(num_classes=10).to(DEVICE).train()
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    x, labels = normal(images, 3, size, size), torch.randint(10, (images,), device=DEVICE)

    def step():
        loss = F.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def gpt2(texts, length, **arguments):
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(**arguments)).to(DEVICE).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    ids = torch.randint(100, (texts, length + 1), device=DEVICE)
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].reshape(-1)

    def step():
        loss = F.cross_entropy(model(inputs, use_cache=False).logits.flatten(0, 1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def convolution(images, dtype=torch.float32):
    return forward(nn.Conv2d(64, 64, 3, padding=1), normal(images, 64, 56, 56), dtype)


SMALL = dict(vocab_size=100, n_positions=32, n_embd=64, n_layer=1, n_head=4)
WORKS = {
    "product, 512³": lambda: product(512),
    "product, 1024³": lambda: product(1024),
    "convolution 3 × 3, 64 channels, 56 × 56": lambda: convolution(1),
    "transformer block, 768 wide, 1 × 64 tokens": lambda: block(1, 64),
    "linear 768 → 3072, 1 row": lambda: forward(nn.Linear(768, 3072), normal(1, 768)),
    "product, 4096³": lambda: product(4096),
    "the same, float16": lambda: product(4096, torch.float16),
    "linear 4096 → 4096, 1 row": lambda: forward(nn.Linear(4096, 4096), normal(1, 4096)),
    "convolution, the same, 32 images": lambda: convolution(32),
    "convolution, 32 images, float16": lambda: convolution(32, torch.float16),
    "transformer block, 768 wide, 8 × 512 tokens": lambda: block(8, 512),
    "transformer block, 8 × 512 tokens, float16": lambda: block(8, 512, torch.float16),
    "attention, 8 × 12 × 512 × 64, causal": attention,
    "addition, 16 million elements": lambda: add(4096, 4096),
    "addition of rows, the same": lambda: add(4096),
    "gelu, the same": lambda: on_matrix(F.gelu),
    "sum, the same": lambda: on_matrix(torch.sum),
    "softmax, the same": lambda: on_matrix(lambda x: x.softmax(1)),
    "layer norm, the same": lambda: forward(nn.LayerNorm(4096), normal(4096, 4096)),
    "ResNet-18, 32 images of 224 × 224": lambda: resnet_18(32, 224),
    "GPT-2 with 124 million parameters, 4 × 256 tokens": lambda: gpt2(4, 256),
    "GPT-2, the same, without dropout": lambda: gpt2(4, 256, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
    "GPT-2 with one block, 2 × 16 tokens": lambda: gpt2(2, 16, **SMALL),
    "ResNet-18, 2 images of 32 × 32": lambda: resnet_18(2, 32),
}


def measure(work):
    def run(calls):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    for _ in range(3):
        run(1)
    calls = max(1, min(500, math.ceil(0.02 / run(1))))
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < 0.8:
        times.append(run(calls) / calls)
    return statistics.median(times)


def main():
    tf32 = "tf32" in sys.argv[1:]
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, TF32 {'on' if tf32 else 'off'}\n")
    print("| work | time |\n|---|---|")
    part = next((argument for argument in sys.argv[1:] if argument != "tf32"), "")
    for name, build in WORKS.items():
        if part not in name:
            continue
        print(f"| {name} | {measure(build()) * 1e3:.3f} ms |", flush=True)


main()
