"""The models whose adapters PEFT and this library exchange; their Rust twins are in `tests/tests/training/peft`."""

import torch
from torch import nn


class Block(nn.Module):
    """Attention of one head and a feedforward part, both before a norm."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.o_proj = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        y = self.norm(x)
        scores = self.q_proj(y) @ self.k_proj(y).transpose(1, 2) / x.shape[-1] ** 0.5
        x = x + self.o_proj(scores.softmax(-1) @ self.v_proj(y))
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Transformer(nn.Module):
    """Two blocks between an embedding and a head."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.layers = nn.ModuleList([Block(8), Block(8)])
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    @staticmethod
    def input(generator):
        return torch.randint(11, (2, 5), generator=generator)


class Images(nn.Module):
    """Convolutions, one of them in groups, and a head."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1, stride=2)
        self.deep = nn.Conv2d(4, 6, 3, groups=2)
        self.head = nn.Linear(6 * 2 * 2, 3)

    def forward(self, x):
        x = torch.relu(self.deep(torch.relu(self.stem(x))))
        return self.head(x.flatten(1))

    @staticmethod
    def input(generator):
        return torch.randn(2, 2, 8, 8, generator=generator)


class Signals(nn.Module):
    """A convolution of one dimension, and PyTorch's attention."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 8, 3, padding=1)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.tanh(self.conv(x)).transpose(1, 2)
        return self.head(self.attention(x, x, x, need_weights=False)[0])

    @staticmethod
    def input(generator):
        return torch.randn(2, 3, 6, generator=generator)


class Readings(nn.Module):
    """A recurrent layer, a cell and a head."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, batch_first=True)
        self.cell = nn.GRUCell(4, 5)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        states, _ = self.lstm(x)
        return self.head(self.cell(states[:, -1]))

    @staticmethod
    def input(generator):
        return torch.randn(2, 6, 3, generator=generator)


MODELS = {"transformer": Transformer, "images": Images, "signals": Signals, "readings": Readings}
