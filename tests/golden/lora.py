"""lora.safetensors, lora_more.safetensors: PEFT's adapters: initial values, outputs, gradients, merges, short trainings.

`case` is `{"cases"}`; README.md says which tensors belong to each.
"""

import warnings

import torch
import bitsandbytes
from peft import LoraConfig, get_peft_model
from peft.tuners.lora import ParamWrapper

from common import DTYPES, random, write_safetensors

NAME = "default"


class Net(torch.nn.Module):
    """Linear layers with and without a bias."""

    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(6, 5)
        self.value = torch.nn.Linear(5, 4, bias=False)
        self.norm = torch.nn.LayerNorm(4)
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.norm(self.value(torch.tanh(self.query(x)))))


class Table(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 4, padding_idx=0)
        self.head = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.head(self.table(x))


class Conv(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x):
        return self.conv(x)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


class Tall(torch.nn.Module):
    """A weight with more rows than columns, and one with fewer."""

    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(6, 9)
        self.down = torch.nn.Linear(9, 5)

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))


class Recurrent(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Cells(torch.nn.Module):
    """A cell of each kind, above each other."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTMCell(3, 4)
        self.gru = torch.nn.GRUCell(4, 5)
        self.rnn = torch.nn.RNNCell(5, 3, bias=False)
        self.head = torch.nn.Linear(3, 2)

    def forward(self, x):
        state, gru, rnn, outputs = None, None, None, []
        for step in x:
            state = self.lstm(step, state)
            gru = self.gru(state[0], gru)
            rnn = self.rnn(gru, rnn)
            outputs.append(self.head(rnn))
        return torch.stack(outputs)


MODELS = {
    "net": Net,
    "table": Table,
    "conv1d": lambda: Conv(torch.nn.Conv1d(3, 4, 3, stride=2, padding=1)),
    "conv2d": lambda: Conv(torch.nn.Conv2d(3, 4, (3, 2), padding=(1, 0), bias=False)),
    "conv3d": lambda: Conv(torch.nn.Conv3d(2, 3, 2)),
    "grouped": lambda: Conv(torch.nn.Conv2d(4, 6, 3, groups=2)),
    "attention": Attention,
    "tall": Tall,
    "lstm": lambda: Recurrent(torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=3)),
    "gru": lambda: Recurrent(torch.nn.GRU(3, 4, num_layers=2, batch_first=True)),
    "rnn": lambda: Recurrent(torch.nn.RNN(3, 4, bias=False, bidirectional=True)),
    "cells": Cells,
}
SHAPES = {
    "net": [2, 3, 6],
    "conv1d": [2, 3, 7],
    "conv2d": [2, 3, 5, 4],
    "conv3d": [2, 2, 4, 3, 4],
    "grouped": [2, 4, 5, 5],
    "attention": [2, 5, 8],
    "tall": [2, 6],
    "lstm": [4, 2, 3],
    "gru": [2, 4, 3],
    "rnn": [4, 2, 3],
    "cells": [3, 2, 3],
}
LINEAR = ["query", "value"]
RANDOM = {"init_lora_weights": False}

# The model, the names of the layers, the arguments.
CASES = [
    ("net", LINEAR, {"r": 2, "lora_alpha": 5}),
    ("net", LINEAR, {"r": 3, "lora_alpha": 4, "use_rslora": True, "init_lora_weights": "gaussian"}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 3, **RANDOM}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 3, "use_dora": True}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 3, "use_dora": True, "use_rslora": True, **RANDOM}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 4, "init_lora_weights": "pissa"}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 4, "modules_to_save": ["head"]}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 4, "bias": "all"}),
    ("net", LINEAR, {"r": 2, "lora_alpha": 4, "bias": "lora_only"}),
    ("net", LINEAR, {"r": 4, "rank_pattern": {"value": 2}, "alpha_pattern": {"quer.": 3}}),
    ("table", ["table"], {"r": 2, "lora_alpha": 3}),
    ("table", ["table", "head"], {"r": 2, "lora_alpha": 3, **RANDOM}),
    ("table", ["table"], {"r": 2, "lora_alpha": 3, "use_dora": True}),
    ("conv1d", ["conv"], {"r": 2, "lora_alpha": 3}),
    ("conv1d", ["conv"], {"r": 2, "lora_alpha": 3, "use_dora": True, **RANDOM}),
    ("conv2d", ["conv"], {"r": 3, "lora_alpha": 2, "use_rslora": True}),
    ("conv2d", ["conv"], {"r": 3, "lora_alpha": 2, "use_dora": True, "init_lora_weights": "gaussian"}),
    ("conv3d", ["conv"], {"r": 2, "lora_alpha": 2}),
    ("conv3d", ["conv"], {"r": 2, "lora_alpha": 2, "use_dora": True}),
    ("grouped", ["conv"], {"r": 4, "lora_alpha": 2, **RANDOM}),
    ("attention", ["attention"], {"r": 2, "lora_alpha": 3}),
]

# Those of `lora_more.safetensors`. Of a recurrent layer, the weights are `target_parameters`.
MORE = [
    ("tall", ["up", "down"], {"r": 2, "lora_alpha": 3, "init_lora_weights": "pissa_niter_4"}),
    ("tall", ["up", "down"], {"r": 3, "use_rslora": True, "init_lora_weights": "pissa_niter_0"}),
    ("lstm", ["layer"], {"r": 2, "lora_alpha": 3}),
    ("lstm", ["layer"], {"r": 2, "lora_alpha": 5, "use_rslora": True, "rank_pattern": {"weight_h._l1": 1}, **RANDOM}),
    ("gru", ["layer"], {"r": 2, "lora_alpha": 3, "init_lora_weights": "gaussian"}),
    ("gru", ["layer.weight_hh_l0", "layer.weight_ih_l1"], {"r": 2, "lora_alpha": 3, **RANDOM}),
    ("rnn", ["layer"], {"r": 2, "alpha_pattern": {"weight_hh_l0": 3}, **RANDOM}),
    ("cells", ["lstm", "gru", "rnn"], {"r": 2, "lora_alpha": 3}),
    ("cells", ["lstm", "gru.weight_hh", "head"], {"r": 2, "lora_alpha": 3, **RANDOM}),
]
RECURRENT = ["lstm", "gru", "rnn", "cells"]


def own_key(name):
    """The name of a parameter of PEFT's model in a model that is not wrapped."""
    name = name.removeprefix("base_model.model.")
    return name.replace("base_layer.", "").replace("original_module.", "")


def own_names(peft):
    """The names of the parameters of PEFT's model, and those in a model that is not wrapped."""
    wrappers = {path: m.parameter_name for path, m in peft.named_modules() if isinstance(m, ParamWrapper)}
    names = {}
    for name, _ in peft.named_parameters():
        path, found, factor = name.partition(".lora_")
        names[name] = own_key(name)
        if found and path in wrappers:
            # The wrappers of the weights of one layer are around each other.
            names[name] = f"{own_key(path + '.')}adapters.{wrappers[path]}.lora_{factor}"
    return names


def model_input(model, seed, dtype):
    if model == "table":
        return torch.tensor([[3, 0, 6], [1, 3, 2]])
    return random(SHAPES[model], seed, dtype)


def build(model, targets, kwargs, dtype, name=NAME):
    """A model with an adapter, after `manual_seed(5)`."""
    torch.manual_seed(5)
    net = MODELS[model]().to(dtype)
    first = {key: value.clone() for key, value in net.state_dict().items()}
    names = {"target_modules": targets}
    if model in RECURRENT:
        weights = [name for name, _ in net.named_parameters() if ".weight_" in name]
        meant = lambda name: name in targets or name.rpartition(".")[0] in targets
        layers = [target for target in targets if isinstance(getattr(net, target, None), torch.nn.Linear)]
        names = {"target_modules": layers, "target_parameters": [name for name in weights if meant(name)]}
    config = LoraConfig(**names, **kwargs)
    return first, get_peft_model(net, config, adapter_name=name)


def randomize(peft):
    """Other values for what is trained, so that nothing is zero."""
    with torch.no_grad():
        for i, (name, value) in enumerate(peft.named_parameters()):
            if "lora_" in name or "modules_to_save" in name:
                scale = 0.5 if "magnitude" not in name else 0.25
                noise = random(value.shape, 800 + i, value.dtype, -scale, scale)
                value.copy_(value + noise if "magnitude" in name else noise)


def parameters(peft):
    names = own_names(peft)
    return {names[name]: value for name, value in peft.named_parameters()}


def one(n, tensors, model, targets, kwargs, dtype_name):
    dtype = DTYPES[dtype_name]
    first, peft = build(model, targets, kwargs, dtype)
    put = lambda key, value: tensors.__setitem__(f"{n}/{key}", value.detach().clone())
    for key, value in first.items():
        put(f"base/{key}", value)
    saves = "modules_to_save" in kwargs
    for plain, value in parameters(peft).items():
        if "lora_" in plain or "modules_to_save" in plain:
            put(f"init/{plain}", value)
        elif str(kwargs.get("init_lora_weights")).startswith("pissa") and plain.endswith("weight"):
            put(f"reduced/{plain}", value)
    tensors[f"{n}/next"] = torch.rand(4)
    trained = [key for key, value in parameters(peft).items() if value.requires_grad]

    randomize(peft)
    for key, value in parameters(peft).items():
        if "lora_" in key or "modules_to_save" in key:
            put(f"values/{key}", value)
    x = model_input(model, 900 + n, dtype)
    put("x", x)
    x = x.requires_grad_() if x.is_floating_point() else x
    peft.eval()
    y = peft(x)
    put("y", y)
    weights = random(y.shape, 950 + n, dtype)
    put("weights", weights)
    (y * weights).sum().backward()
    if x.grad is not None:
        put("grad_x", x.grad)
    for key, value in parameters(peft).items():
        if value.requires_grad:
            put(f"grad/{key}", value.grad)
    with torch.no_grad():
        with peft.disable_adapter():
            put("disabled", peft(x))

    peft.zero_grad()
    optimizer = torch.optim.AdamW([p for p in peft.parameters() if p.requires_grad], lr=0.05, weight_decay=0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (peft(x.detach()) - weights).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    put("losses", torch.stack(losses))
    for key, value in parameters(peft).items():
        if value.requires_grad:
            put(f"after/{key}", value)
    merges = model not in ("grouped", "attention")
    if merges:
        peft.merge_adapter()
        for key, value in parameters(peft).items():
            weight = key.endswith(".weight") or ".weight_" in key
            if any(key.startswith(target) for target in targets) and weight and "lora_" not in key:
                put(f"merged/{key}", value)
        with torch.no_grad():
            put("merged_y", peft(x))
    return {
        "model": model,
        "targets": targets,
        "config": kwargs,
        "dtype": dtype_name,
        "trained": trained,
        "trainable": peft.get_nb_trainable_parameters()[0],
        "merges": merges,
    }


def together(tensors):
    """Two adapters, alone, added and joined."""
    dtype = torch.float64
    torch.manual_seed(5)
    net = Net().to(dtype)
    for key, value in net.state_dict().items():
        tensors[f"together/base/{key}"] = value.clone()
    one_config = LoraConfig(target_modules=["query", "value"], r=2, lora_alpha=2)
    two_config = LoraConfig(target_modules=["value", "head"], r=2, lora_alpha=8)
    peft = get_peft_model(net, one_config, adapter_name="one")
    peft.add_adapter("two", two_config)
    randomize(peft)
    tuner = peft.base_model
    # PEFT keeps the roots of weights and scales in f32, which holds these.
    tuner.add_weighted_adapter(["one", "two"], [0.25, -0.0625], "linear", combination_type="linear")
    tuner.add_weighted_adapter(["one", "two"], [0.25, -0.0625], "cat", combination_type="cat")
    for key, value in parameters(peft).items():
        if "lora_" in key:
            tensors[f"together/values/{key}"] = value.detach().clone()
    x = random([2, 6], 970, dtype)
    tensors["together/x"] = x
    peft.eval()
    for names in (["one"], ["two"], ["one", "two"], ["linear"], ["cat"]):
        tuner.set_adapter(names)
        tensors[f"together/y/{'+'.join(names)}"] = peft(x).detach()
    tuner.set_adapter(["one", "two"])
    peft.merge_adapter()
    for layer in ("query", "value", "head"):
        weight = parameters(peft)[f"{layer}.weight"]
        tensors[f"together/merged/{layer}.weight"] = weight.detach().clone()


def half(tensors):
    """A base in half precision, whose adapters are f32."""
    first, peft = build("net", LINEAR, {"r": 2, "lora_alpha": 5}, torch.bfloat16)
    for key, value in first.items():
        tensors[f"half/base/{key}"] = value
    randomize(peft)
    for key, value in parameters(peft).items():
        if "lora_" in key:
            tensors[f"half/values/{key}"] = value.detach().clone()
    x = random([2, 6], 971, torch.bfloat16)
    tensors["half/x"], tensors["half/y"] = x, peft.eval()(x).detach()


def narrow(tensors):
    """Adapters in bf16 on a base in f32, as it is and of four bits, with inputs in f32."""
    for name in ("narrow", "nf4"):
        torch.manual_seed(5)
        net = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
        for key, value in net.state_dict().items():
            tensors[f"{name}/base/{key}"] = value.clone()
        if name == "nf4":
            layer = bitsandbytes.nn.Linear4bit(64, 16, compute_dtype=torch.float32, quant_type="nf4")
            layer.load_state_dict(net[0].state_dict())
            net[0] = layer.to("cpu")
            assert net[0].weight.quant_state is not None
        peft = get_peft_model(net, LoraConfig(target_modules=["0", "2"], r=2, lora_alpha=5))
        randomize(peft)
        for key, value in parameters(peft).items():
            if "lora_" in key:
                value.data = value.data.bfloat16()
                tensors[f"{name}/values/{key}"] = value.detach().clone()
        x = random([3, 64], 972, torch.float32).requires_grad_()
        y = peft.eval()(x)
        weights = random(y.shape, 973, torch.float32)
        (y * weights).sum().backward()
        tensors |= {f"{name}/x": x.detach(), f"{name}/y": y.detach(), f"{name}/weights": weights}
        tensors[f"{name}/grad_x"] = x.grad
        for key, value in parameters(peft).items():
            if value.requires_grad:
                assert value.grad.dtype == torch.bfloat16
                tensors[f"{name}/grad/{key}"] = value.grad


def each(tensors, cases):
    records = []
    for model, targets, kwargs in cases:
        for dtype in ("f32", "f64"):
            if dtype == "f64" and str(kwargs.get("init_lora_weights")).startswith("pissa"):
                continue  # PEFT refuses.
            records.append(one(len(records), tensors, model, targets, kwargs, dtype))
    return records


def write_more():
    warnings.simplefilter("ignore")
    tensors = {}
    cases = each(tensors, MORE)
    narrow(tensors)
    write_safetensors("lora_more.safetensors", tensors, {"cases": cases})


def write():
    warnings.simplefilter("ignore")
    tensors = {}
    cases = each(tensors, CASES)
    together(tensors)
    half(tensors)
    write_safetensors("lora.safetensors", tensors, {"cases": cases})
    write_more()


if __name__ == "__main__":
    write()
