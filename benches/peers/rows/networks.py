"""Optimizers and whole networks: the peer of the files with these names in `benches/rows`."""

import copy

import torch
from row import no_grad
from torch import nn
from torch.nn import functional as F
from torchvision.models import resnet18


def layers():
    """Layers with 7.1 million parameters and gradients for all of them."""
    model = nn.Sequential(nn.Linear(768, 2304), nn.Linear(2304, 768), nn.Linear(768, 2304), nn.Linear(2304, 768))
    model(torch.randn(1, 768)).sum().backward()
    return model.parameters()


def optimizers(rows):
    for name, optimizer in [
        ("SGD", lambda parameters, **o: torch.optim.SGD(parameters, 1e-6, **o)),
        ("SGD with momentum", lambda parameters, **o: torch.optim.SGD(parameters, 1e-6, momentum=0.9, **o)),
        ("AdamW", lambda parameters, **o: torch.optim.AdamW(parameters, 1e-6, **o)),
    ]:
        rows.add(
            f"{name}, 7.1 million parameters",
            lambda optimizer=optimizer: [optimizer(layers(), **o).step for o in WAYS],
        )
    for name in ("Adam", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adafactor"):
        optimizer = getattr(torch.optim, name)
        ways = WAYS if name in ("Adam", "Adagrad") else WAYS[1:]
        rows.add(
            f"{name}, 7.1 million parameters",
            lambda optimizer=optimizer, ways=ways: [optimizer(layers(), 1e-6, **o).step for o in ways],
        )
    rows.add("clip_grad_norm, 7.1 million parameters", lambda: [clip(True), clip(False)])


def clip(foreach):
    """Clips gradients to a norm that is a thousandth smaller each time."""
    parameters = list(layers())
    max_norm = torch.nn.utils.clip_grad_norm_(parameters, 1e9, foreach=foreach).item()

    def run():
        nonlocal max_norm
        max_norm *= 0.999
        torch.nn.utils.clip_grad_norm_(parameters, max_norm, foreach=foreach)

    return run


# The ways in which PyTorch can run an optimizer.
WAYS = [{"fused": True}, {"foreach": True}, {"foreach": False}]


def classifier(*sizes):
    """Linear layers of these sizes with ReLU between them."""
    parts = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        parts += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def step(model, make_optimizer, loss):
    """Training steps, with each way to run the optimizer."""

    def work(model, way):
        optimizer = make_optimizer(model.parameters(), **way)

        def run():
            optimizer.zero_grad()
            loss(model).backward()
            optimizer.step()

        return run

    return [work(copy.deepcopy(model), way) for way in WAYS]


def inference(model, x):
    """A forward pass in evaluation mode."""
    model.eval()
    return no_grad(lambda: model(x))


def sgd(parameters, **options):
    return torch.optim.SGD(parameters, 1e-4, **options)


def adamw(parameters, **options):
    return torch.optim.AdamW(parameters, 1e-5, **options)


def mlp(rows):
    sizes = (784, 512, 256, 10)
    for batch in (64, 1):
        name = f"MLP 784-512-256-10, batch {batch}, inference"
        rows.add(name, lambda batch=batch: inference(classifier(*sizes), torch.randn(batch, 784)))
    x, target = torch.randn(64, 784), torch.arange(64) % 10
    for name, optimizer in [("SGD", sgd), ("AdamW", adamw)]:
        rows.add(
            f"MLP 784-512-256-10, batch 64, {name} step",
            lambda optimizer=optimizer: step(classifier(*sizes), optimizer, lambda model: F.cross_entropy(model(x), target)),
        )
    x8, y8 = torch.randn(8, 2), torch.randn(8, 1)
    name = "MLP 2-16-1, batch 8, SGD step"
    rows.add(name, lambda: step(classifier(2, 16, 1), sgd, lambda model: (model(x8) - y8).square().mean()))


class Gpt2Block(nn.Module):
    """A block of GPT-2: attention and an MLP of four times the width, each after a layer normalization."""

    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (p.reshape(batch, length, self.heads, -1).transpose(1, 2) for p in self.c_attn(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


def mean_square(x):
    """A loss of a model's output for `x`."""
    return lambda model: model(x).square().mean()


def gpt2(rows):
    for batch in (1, 4):
        name = f"GPT-2 block of 768, 128 tokens, batch {batch}"
        rows.add(f"{name}, inference", lambda batch=batch: inference(Gpt2Block(768, 12), torch.randn(batch, 128, 768)))
        rows.add(
            f"{name}, AdamW step",
            lambda batch=batch: step(Gpt2Block(768, 12), adamw, mean_square(torch.randn(batch, 128, 768))),
        )


def images(model, x, run):
    """The work in PyTorch's two memory formats."""
    formats = [torch.contiguous_format, torch.channels_last]
    return [run(copy.deepcopy(model).to(memory_format=f), x.to(memory_format=f)) for f in formats]


def resnet(rows):
    for batch, size in [(1, 224), (8, 64)]:
        name = f"ResNet-18, batch {batch} of {size}x{size}, inference"
        rows.add(name, lambda batch=batch, size=size: images(resnet18(), torch.randn(batch, 3, size, size), inference))

    def train(model, x):
        return step(model, sgd, lambda model: F.cross_entropy(model(x), torch.arange(8)))

    rows.add("ResNet-18, batch 8 of 224x224, SGD step", lambda: images(resnet18(), torch.randn(8, 3, 224, 224), train))


def encoder(layers, width, heads, norm_first):
    """Layers that are four times as wide between their two linear maps."""
    layer = nn.TransformerEncoderLayer(
        width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first
    )
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=not norm_first)


def encoders(rows):
    def minilm():
        return encoder(6, 384, 12, norm_first=False)

    name = "MiniLM's 6 layers of 384"
    rows.add(f"{name}, 32x128 tokens, inference", lambda: inference(minilm(), torch.randn(32, 128, 384)))
    rows.add(f"{name}, 8x64 tokens, AdamW step", lambda: step(minilm(), adamw, mean_square(torch.randn(8, 64, 384))))
    name = "12 pre-norm layers of 256, 8x128 tokens, AdamW step"
    rows.add(name, lambda: step(encoder(12, 256, 4, norm_first=True), adamw, mean_square(torch.randn(8, 128, 256))))


def add(rows):
    for family in (optimizers, mlp, gpt2, resnet, encoders):
        family(rows)
