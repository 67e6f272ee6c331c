"""curves/<name>.safetensors: fifty training steps from a seed, with everything that is usually plotted."""

import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from common import DTYPES, write_safetensors

STEPS = 50
SAMPLES = 76  # Ten batches of 8, of which the last has 4.
BATCH = 8

VOCABULARY, LENGTH, WIDTH = 11, 12, 16
WARMUP, LEAST = 10, 1e-4


class Transformer(nn.Module):
    """Logits of the next token for `[N, LENGTH]` tokens."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.dropout = nn.Dropout(0.1)
        # Of their own, not copies: the stack of torch.nn starts with equal layers.
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, 2, 32, dropout=0.1, activation="gelu", batch_first=True, norm_first=norm_first)
            for norm_first in (False, True)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=self.head.weight.dtype)
        x = self.dropout(self.tokens(x) + self.positions(torch.arange(LENGTH)))
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(self.norm(x))


def cnn():
    """Logits of four classes for `[N, 1, 8, 8]` images."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, padding=1),
        nn.BatchNorm2d(12),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(48, 4),
    )


def sequences():
    """Tokens that go on by the same stride, around the vocabulary, and the tokens after them."""
    start = torch.randint(VOCABULARY, (SAMPLES, 1))
    stride = torch.randint(1, 4, (SAMPLES, 1))
    line = (start + stride * torch.arange(LENGTH + 1)) % VOCABULARY
    return line[:, :-1].contiguous(), line[:, 1:].contiguous()


def images(dtype):
    """A pattern for each class, and noise over it."""
    patterns = torch.randn(4, 1, 8, 8)
    labels = torch.randint(4, (SAMPLES,))
    return (patterns[labels] + torch.randn(SAMPLES, 1, 8, 8)).to(dtype), labels


def record(name, seed, model, loader, optimizer, schedule, loss_of, max_norm):
    """STEPS steps; the tensors that say how they went."""
    tensors = {f"init.{key}": value.clone() for key, value in model.state_dict().items()}
    losses, norms, rates, momentums = [], [], [], []
    while len(losses) < STEPS:
        for x, y in loader:
            loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), max_norm).detach())
            rates.append([group["lr"] for group in optimizer.param_groups])
            momentums.append([group["betas"][0] if "betas" in group else group["momentum"] for group in optimizer.param_groups])
            optimizer.step()
            schedule.step()
            losses.append(loss.detach())
            if len(losses) == STEPS:
                break
    tensors["losses"] = torch.stack(losses)
    tensors["norms"] = torch.stack(norms)
    tensors["rates"] = torch.tensor(rates, dtype=torch.float64)
    tensors["momentums"] = torch.tensor(momentums, dtype=torch.float64)
    tensors |= {f"after.{key}": value.clone() for key, value in model.state_dict().items()}
    # Where training left the default generator.
    tensors["next"] = torch.rand(4)
    clipped = sum(norm > max_norm for norm in norms)
    assert 5 < clipped < STEPS, f"{clipped} of {STEPS} gradients were clipped"
    assert tensors["losses"][-5:].mean() < 0.75 * tensors["losses"][:5].mean(), "nothing was learned"
    write_safetensors(f"curves/{name}.safetensors", tensors, {"seed": seed, "max_norm": max_norm})


def transformer(dtype, seed):
    """AdamW with weight decay for matrices, clipping, a warm-up and a cosine, label smoothing; all from the default generator."""
    torch.manual_seed(seed)
    dataset = TensorDataset(*sequences())
    model = Transformer().to(DTYPES[dtype])
    matrices = [p for name, p in model.named_parameters() if p.dim() > 1 and name not in ("tokens.weight", "positions.weight")]
    others = [p for p in model.parameters() if not any(p is q for q in matrices)]
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.02, betas=(0.9, 0.98), weight_decay=0.1)

    def factor(step):
        if step < WARMUP:
            return step / WARMUP
        wave = 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))
        return (LEAST + (0.02 - LEAST) * wave) / 0.02 if step < STEPS else LEAST / 0.02

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    loader = DataLoader(dataset, BATCH, shuffle=True)
    loss_of = lambda logits, y: F.cross_entropy(logits.flatten(0, 1), y.flatten(), label_smoothing=0.1)
    record(f"transformer_{dtype}", seed, model, loader, optimizer, schedule, loss_of, 0.5)


def convolutions(dtype, seed):
    """SGD with Nesterov momentum and one cycle of it; batches from a generator of their own."""
    torch.manual_seed(seed)
    x, y = images(DTYPES[dtype])
    model = cnn().to(DTYPES[dtype])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=STEPS)
    loader = DataLoader(TensorDataset(x, y), BATCH, shuffle=True, generator=torch.Generator().manual_seed(seed + 1))
    loss_of = lambda logits, y: F.cross_entropy(logits, y, label_smoothing=0.1)
    record(f"cnn_{dtype}", seed, model, loader, optimizer, schedule, loss_of, 1.0)


def write():
    for dtype in ("f32", "f64"):
        transformer(dtype, 3)
        convolutions(dtype, 4)
    return 4
