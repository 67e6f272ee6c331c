"""examples/data/turned_digits/: a small network that reads digits, and a PEFT adapter for digits upside down.

`base.safetensors` is the network as it was trained on three quarters of the digits, `adapter_config.json` and
`adapter_model.safetensors` are the adapter, trained on the same images rotated by 180 degrees. `expected.json` has the number of digits
in the last quarter that each reads correctly: `[upright, turned]`, without the adapter and with it.
"""

import shutil
import warnings

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

from common import compact
from digits_torch import DATA

FOLDER = DATA.parent / "turned_digits"


class Mlp(nn.Module):
    """The network of `examples/finetune_lora.rs`."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        return self.head(torch.relu(self.hidden(x)))


def read():
    """The images, the same upside down, and the labels."""
    rows = [[int(number) for number in line.split(",")] for line in DATA.read_text().splitlines()]
    rows = torch.tensor(rows)
    images = rows[:, :64].float() / 16
    return images, images.flip(1), rows[:, 64]


def train(model, images, labels, steps):
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(steps):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def right(model, images, labels):
    with torch.no_grad():
        return (model(images).argmax(1) == labels).sum().item()


def write():
    warnings.simplefilter("ignore")
    upright, turned, labels = read()
    count = len(labels) * 3 // 4
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()

    torch.manual_seed(0)
    model = Mlp()
    train(model, upright[:count], labels[:count], 200)
    save_file(model.state_dict(), FOLDER / "base.safetensors")

    def counts():
        return [right(model, images[count:], labels[count:]) for images in (upright, turned)]

    before = counts()
    adapted = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["hidden", "head"]))
    train(adapted, turned[:count], labels[:count], 200)
    after = counts()
    adapted.save_pretrained(FOLDER)
    (FOLDER / "README.md").unlink()
    # PEFT writes sets in any order.
    path = FOLDER / "adapter_config.json"
    text = path.read_text()
    path.write_text(text.replace('"head",\n    "hidden"', '"hidden",\n    "head"'))
    (FOLDER / "expected.json").write_text(compact({"without": before, "with": after}) + "\n")
    return 1
