"""PyTorch twin of the `digits` example: the same network, data split and training recipe.

    python digits_torch.py train [--seed 0] [--out FILE]   train and report the held-back accuracy
    python digits_torch.py check FILE                      load a file written by the Rust example
    python digits_torch.py flops                           parameters and FLOPs per sample
"""

import argparse
import math
import pathlib
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data" / "digits.csv"


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is projected where the shape changes."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        if stride != 1 or cin != cout:
            self.skip = nn.Sequential(
                nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout)
            )
        else:
            self.skip = nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.skip(x))


class Digits(nn.Module):
    """(N, 1, 8, 8) pixels in 0..1 to (N, 10) logits."""

    def __init__(self, width=16, dropout=0.1):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.layer1 = Block(width, width, 1)
        self.layer2 = Block(width, 2 * width, 2)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(2 * width * 4 * 4, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.head(self.dropout(x.flatten(1)))


def load_data():
    """All images as (N, 1, 8, 8) float32 in 0..1, and their labels as int64."""
    rows = [list(map(int, line.split(","))) for line in DATA.read_text().split()]
    table = torch.tensor(rows)
    return table[:, :64].reshape(-1, 1, 8, 8).float() / 16, table[:, 64].clone()


def split(n, seed=0):
    """Indices to train on, and the fifth that is held back: the first n // 5 of randperm(n)."""
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    return order[n // 5 :], order[: n // 5]


@torch.no_grad()
def accuracy(model, images, labels):
    """Fraction of right answers, in eval mode."""
    model.eval()
    return (model(images).argmax(1) == labels).double().mean().item()


def learning_rate(step, steps, peak, warmup, final):
    """Linear warm-up from 0 over the first `warmup` steps, then a cosine down to `final * peak`."""
    if step < warmup:
        return peak * step / warmup
    t = (step - warmup) / max(1, steps - warmup)
    return peak * (final + (1 - final) * 0.5 * (1 + math.cos(math.pi * t)))


def train(
    seed=0,
    split_seed=0,
    width=16,
    dropout=0.1,
    epochs=10,
    batch=32,
    optimizer="sgd",
    lr=0.1,
    weight_decay=1e-3,
    smoothing=0.1,
    warmup=40,
    final=0.01,
    verbose=False,
):
    """Train one network; returns it and the held-back accuracy after every epoch.

    The generator's stream after `manual_seed(seed)`: the weights, then for every epoch the two seeds that
    the loader draws and, batch by batch, one dropout mask. It is that of the example.
    """
    images, labels = load_data()
    train_ids, test_ids = split(len(images), split_seed)
    torch.manual_seed(seed)
    model = Digits(width, dropout)
    if optimizer == "adamw":
        opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    else:
        opt = torch.optim.SGD(
            model.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=weight_decay
        )
    loader = DataLoader(TensorDataset(images[train_ids], labels[train_ids]), batch, shuffle=True)
    per_epoch = len(loader)
    step, history = 0, []
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            for group in opt.param_groups:
                group["lr"] = learning_rate(step, epochs * per_epoch, lr, warmup, final)
            loss = F.cross_entropy(model(x), y, label_smoothing=smoothing)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            step += 1
        history.append(accuracy(model, images[test_ids], labels[test_ids]))
        if verbose:
            print(f"epoch {epoch + 1:2}  loss {total / per_epoch:.4f}  held back {history[-1]:.4f}")
    return model, history


def flops(width=16):
    """Multiply-adds of the convolutions and the head for one sample, forward."""
    model, macs = Digits(width), 0

    def count(module, _, output):
        nonlocal macs
        macs += module.weight[0].numel() * output[0].numel()

    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.register_forward_hook(count)
    model(torch.zeros(2, 1, 8, 8))
    return sum(p.numel() for p in model.parameters()), macs


def check(path, split_seed, width):
    """Load a checkpoint strictly, as a PyTorch user would, and report its accuracy."""
    from safetensors.torch import load_file

    loaded, model = load_file(path), Digits(width)
    own = model.state_dict()
    missing, unexpected = own.keys() - loaded.keys(), loaded.keys() - own.keys()
    assert not missing and not unexpected, f"missing {missing}, unexpected {unexpected}"
    for key, value in own.items():
        theirs = loaded[key]
        assert theirs.shape == value.shape, f"{key}: {theirs.shape} instead of {value.shape}"
        assert theirs.dtype == value.dtype, f"{key}: {theirs.dtype} instead of {value.dtype}"
    model.load_state_dict(loaded, strict=True)
    images, labels = load_data()
    _, test_ids = split(len(images), split_seed)
    print(f"{len(own)} keys match; held back {accuracy(model, images[test_ids], labels[test_ids]):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("mode", choices=["train", "check", "flops"])
    parser.add_argument("file", nargs="?", help="checkpoint to check")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split-seed", type=int, default=0)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--out", help="where `train` saves the checkpoint")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.mode == "flops":
        parameters, macs = flops(args.width)
        print(f"{parameters} parameters, {macs} multiply-adds per sample forward, {6 * macs} FLOPs to train on it")
    elif args.mode == "check":
        if args.file is None:
            sys.exit("check needs a FILE")
        check(args.file, args.split_seed, args.width)
    else:
        model, history = train(args.seed, args.split_seed, width=args.width, verbose=True)
        print(f"held back {history[-1]:.4f}")
        if args.out:
            from safetensors.torch import save_file

            save_file(model.state_dict(), args.out, metadata={"format": "pt"})


if __name__ == "__main__":
    main()
