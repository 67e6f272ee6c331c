"""torchinfo's summaries of whole models: totals, and each row."""

import json

import torch
import torchinfo
from torch import nn

from common import DATA


class BasicBlock(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        if stride != 1 or inside != outside:
            down = nn.Conv2d(inside, outside, 1, stride, bias=False)
            self.downsample = nn.Sequential(down, nn.BatchNorm2d(outside))
        else:
            self.downsample = nn.Identity()

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        for i, (inside, outside, stride) in enumerate([(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]):
            blocks = BasicBlock(inside, outside, stride), BasicBlock(outside, outside, 1)
            self.add_module(f"layer{i + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Classifier(nn.Module):
    """An embedding, an encoder, and a head that is partly frozen."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)
        self.head.bias.requires_grad = False

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)))


def encoder():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def printed(text):
    """The lines below the table. Since Python 3.11 torchinfo names its units otherwise than it means to."""
    lines = text[text.index("Total params"):].splitlines()
    units = {"Units.MEGABYTES": "M", "Units.GIGABYTES": "G"}
    for unit, short in units.items():
        lines = [line.replace(unit, short) for line in lines]
    return [line for line in lines if not line.startswith("=")]


def case(name, model, x):
    columns = ("input_size", "output_size", "kernel_size", "num_params", "mult_adds", "trainable")
    found = torchinfo.summary(model, input_data=x, verbose=0, col_names=columns, depth=9)
    rows = [
        [layer.class_name, layer.depth, layer.output_size, layer.num_params, layer.macs if layer.is_leaf_layer else 0, layer.trainable]
        for layer in found.summary_list
    ]
    return {
        "name": name,
        "torchinfo": torchinfo.__version__,
        "input": list(x.shape),
        "total_params": found.total_params,
        "trainable_params": found.trainable_params,
        "mult_adds": found.total_mult_adds,
        "input_bytes": x.numel() * x.element_size(),
        "output_bytes": found.total_output_bytes,
        "param_bytes": found.total_param_bytes,
        "printed": printed(str(found)),
        "rows": rows,
    }


def write():
    torch.manual_seed(0)
    cases = [
        case("resnet18", ResNet18(), torch.zeros(1, 3, 224, 224)),
        case("encoder", encoder(), torch.zeros(3, 7, 64)),
        case("classifier", Classifier(), torch.zeros(2, 6, dtype=torch.int64)),
        case("lstm", nn.LSTM(4, 6, num_layers=2), torch.zeros(5, 3, 4)),
        case("conv1d", nn.Sequential(nn.Conv1d(4, 6, 3), nn.Conv1d(6, 6, 3, groups=2)), torch.zeros(2, 4, 9)),
    ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    text = f'{{"torch": "{torch.__version__.split("+")[0]}", "cases": [\n{lines}\n]}}\n'
    (DATA / "summaries.json").write_text(text)
    return len(cases)
