"""layers_<family>.safetensors: the cases of one family of layers in one file.

A family is a file `layers_<family>.py` with a function `write`:

    def write():
        family = Family("linear")
        family.case("Linear", {"in_features": 3, "out_features": 2}, [[5, 3]])
        family.refuses("Linear", {"in_features": 3, "out_features": -1}, quotes=["-1"])
        return family.write()
"""

import collections
import importlib
import re

import torch
from torch import nn

import layer_formulas
from common import DTYPES, NAMES, leaf, random, write_safetensors


class Input:
    """A tensor among the arguments of a call, where its shape does not say everything.

    `values` is a shape (drawn uniformly from `low` to `high`) or a tensor; floating values are cast
    to the dtype of the case. `layout` is one of `common.lay_out`. With `grad=False` no gradient is
    asked for, as for masks. With `log_softmax=True` the call is given the `log_softmax` over the last
    dimension of this tensor, whose gradient is recorded.
    """

    def __init__(self, values, layout="contiguous", grad=True, low=-2.0, high=2.0, log_softmax=False):
        self.values, self.layout, self.grad, self.low, self.high = values, layout, grad, low, high
        self.log_softmax = log_softmax

    def make(self, seed, dtype):
        values = self.values
        if not isinstance(values, torch.Tensor):
            values = random(values, seed, dtype, self.low, self.high)
        if values.is_floating_point():
            values = values.to(dtype)
        tensor = leaf(values, self.layout)
        return tensor if self.grad else tensor.detach()


class Packed:
    """Sequences packed from an `Input` that is padded to `[length, batch, ...]`."""

    def __init__(self, padded, lengths, enforce_sorted=True):
        self.padded, self.lengths, self.enforce_sorted = padded, lengths, enforce_sorted


def build(layer, kwargs, dtype):
    """A module from its JSON description; runs with `dtype` as the default, as ours is built.

    `modules` are the named children of a container; an argument `{"layer", "kwargs"}` is a module, a
    tensor is an argument of that dtype, a list is a tuple. `Parametrized<layer>` is `module` with the
    parametrization `norm`.
    """
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return construct(layer, kwargs, dtype)
    finally:
        torch.set_default_dtype(before)


def construct(layer, kwargs, dtype):
    if "modules" in kwargs:
        children = [(name, construct(child["layer"], child["kwargs"], dtype)) for name, child in kwargs["modules"]]
        kind = getattr(nn, layer)
        if kind is nn.ModuleList:
            return kind([child for _, child in children])
        return kind(dict(children)) if kind is nn.ModuleDict else named_sequential(children)
    if layer.startswith("Parametrized"):
        rest = {name: value for name, value in kwargs.items() if name not in ("norm", "module")}
        inner = construct(kwargs["module"]["layer"], kwargs["module"]["kwargs"], dtype)
        return getattr(nn.utils.parametrizations, kwargs["norm"])(inner, **rest)
    kind = getattr(nn, layer, None) or getattr(layer_formulas, layer, None)
    if kind is None:
        kind = from_other_libraries(layer)
    return kind(**{name: argument(value, dtype) for name, value in kwargs.items()})


# The layers of other libraries, one file for each library, which other families do without.
LIBRARIES = ("vision_reference", "transformers_reference")


def from_other_libraries(layer):
    for library in LIBRARIES:
        kind = getattr(importlib.import_module(library), layer, None)
        if kind is not None:
            return kind
    raise KeyError(f"{layer} is in none of torch.nn, layer_formulas.py, {', '.join(f'{name}.py' for name in LIBRARIES)}")


def named_sequential(children):
    module = nn.Sequential()
    for name, child in children:
        module.add_module(name, child)
    return module


class Arguments(dict):
    """The arguments of a module that is itself an argument and can only be of that layer, so that they are all
    that ours takes: `Arguments("LayerNorm", normalized_shape=4)`."""

    def __init__(self, layer, **kwargs):
        super().__init__(kwargs)
        self.layer = layer


def argument(value, dtype):
    if isinstance(value, Arguments):
        return construct(value.layer, value, dtype)
    if isinstance(value, dict) and "layer" in value:
        return construct(value["layer"], value["kwargs"], dtype)
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    return tuple(value) if isinstance(value, list) else value


def described(kwargs):
    """The arguments as JSON: a tensor as nested lists."""
    return {name: value.tolist() if isinstance(value, torch.Tensor) else value for name, value in kwargs.items()}


def module(layer, **kwargs):
    """The description of a layer within another."""
    return {"layer": layer, "kwargs": kwargs}


def sequential(*modules):
    """The description of a Sequential: (name, description) pairs, or descriptions that are numbered."""
    pairs = [m if isinstance(m, tuple) else (str(i), m) for i, m in enumerate(modules)]
    return module("Sequential", modules=[list(pair) for pair in pairs])


def perturb(state, seed):
    """Move what is constant, ones and zeros, which would hide mistakes. Returns the keys that moved."""
    moved = []
    for i, (key, value) in enumerate(state.items()):
        if value.is_floating_point() and value.numel() > 0 and bool((value == value.reshape(-1)[0]).all()):
            scale = key.rpartition(".")[2] in ("weight", "running_var", "original0")
            low, high = (0.5, 1.5) if scale else (-1.0, 1.0)
            value.copy_(random(value.shape, seed + i, value.dtype, low, high))
            moved.append(key)
    return moved


def ordered(text):
    """A message in which the sets are sorted: Python prints them in another order each time."""
    return re.sub(r"\{([^{}]*)\}", lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", text)


def tensors_of(output):
    """The tensors of nested tuples, in order; None is passed over."""
    if isinstance(output, torch.Tensor):
        return [output]
    return [tensor for part in output if part is not None for tensor in tensors_of(part)]


class Family:
    """`modes` are those of the cases that name none, by turns for each layer and dtype: two where the mode makes no
    difference."""

    def __init__(self, name, modes=("train",)):
        self.name, self.tensors, self.cases, self.refused, self.first = name, {}, [], [], {}
        self.modes, self.turns = modes, collections.Counter()

    def case(self, layer, kwargs, inputs, named=None, dtypes=("f32", "f64"), mode=None, seed=0, warmup=0,
             label="", backward=True, perturbed=True):
        """Record one configuration in each dtype.

        `inputs` are the positional arguments of the call and `named` those by name: `Input`s, tensors,
        or plain JSON values; nested lists are tuples. A list of numbers is the shape of an `Input`.
        The generator is seeded right before the constructor and right before each pass; `warmup` is
        the number of passes in training before the recorded one, with inputs of their own.
        `perturbed` moves constant parameters and buffers away from their initial values.
        """
        for dtype in dtypes:
            self.one(layer, kwargs, inputs, named or {}, dtype, mode, seed, warmup, label, backward, perturbed)

    def layouts(self, layer, kwargs, shape, *layouts, **options):
        """One case in f32 for each memory layout of a single input."""
        for layout in layouts:
            self.case(layer, kwargs, [Input(shape, layout)], dtypes=("f32",), **options)

    def halves(self, layer, kwargs, inputs, **options):
        """One case in each half precision."""
        self.case(layer, kwargs, inputs, dtypes=("f16", "bf16"), **options)

    def refuses(self, layer, kwargs, inputs=None, named=None, quotes=(), accepted=False, mode="train", label=""):
        """Record that the constructor, or if there are `inputs` the call, raises.

        `quotes` must all occur in our message. `accepted`: PyTorch takes it, ours is stricter.
        """
        raised, made = None, None
        try:
            if inputs is not None:
                made = Call(inputs, named or {}, torch.float32, 1)
            built = build(layer, kwargs, torch.float32).train(mode == "train")
            if inputs is not None:
                built(*made.positional, **made.named)
        except Exception as error:  # Whatever it raises is the record.
            raised = {"type": type(error).__name__, "text": ordered(str(error).partition("\nException raised from")[0])}
        assert (raised is None) == accepted, (layer, kwargs, raised)
        case = {"layer": layer, "kwargs": described(kwargs), "mode": mode, "quotes": list(quotes), "torch": raised,
                "label": label}
        if inputs is not None:
            case |= made.record(self.tensors, f"refused{len(self.refused)}")
        self.refused.append(case)

    def one(self, layer, kwargs, inputs, named, dtype, mode, seed, warmup, label, backward, perturbed):
        name, kind = str(len(self.cases)), DTYPES[dtype]
        if mode is None:
            mode = self.modes[self.turns[layer, dtype] % len(self.modes)]
            self.turns[layer, dtype] += 1
        torch.manual_seed(seed)
        built = build(layer, kwargs, kind)
        case = {"layer": layer, "kwargs": described(kwargs), "dtype": dtype, "mode": mode, "seed": seed,
                "warmup": warmup, "label": label, "keys": list(built.state_dict()), "repr": repr(built)}
        case["first"] = self.first_weights(built, case)
        moved = perturb(built.state_dict(), 100 + seed) if perturbed else []
        for key in moved:
            self.tensors[f"{name}/param/{key}"] = built.state_dict()[key].clone()
        for step in range(warmup):
            call = Call(inputs, named, kind, 500 + 10 * step, warm=True)
            case[f"warmup{step}"] = call.record(self.tensors, f"{name}/warmup/{step}")
            torch.manual_seed(seed)
            for i, output in enumerate(tensors_of(built.train()(*call.positional, **call.named))):
                self.tensors[f"{name}/warmup/{step}/out/{i}"] = output.detach()
            self.buffers(built, f"{name}/warmup/{step}/after")
        built.zero_grad()
        built.train(mode == "train")
        call = Call(inputs, named, kind, 1 + 10 * len(self.cases))
        case |= call.record(self.tensors, name)
        torch.manual_seed(seed)
        outputs = tensors_of(built(*call.positional, **call.named))
        case["outputs"] = len(outputs)
        followed, grads = [], []
        for i, output in enumerate(outputs):
            self.tensors[f"{name}/out/{i}"] = output.detach()
            if backward and output.requires_grad:
                grads.append(random(output.shape, 900 + 10 * len(self.cases) + i, output.dtype))
                self.tensors[f"{name}/gout/{i}"] = grads[-1]
                followed.append(output)
        if followed:
            torch.autograd.backward(followed, grads)
        for i, tensor in enumerate(call.tensors):
            if tensor.requires_grad and tensor.grad is not None:
                self.tensors[f"{name}/gin/{i}"] = tensor.grad
        for key, parameter in built.named_parameters():
            if parameter.grad is not None:
                self.tensors[f"{name}/grad/{key}"] = parameter.grad
        self.buffers(built, f"{name}/after")
        self.cases.append(case)

    def first_weights(self, built, case):
        """The number under which the weights right after the seed and the constructor are kept."""
        same = repr((case["layer"], case["kwargs"], case["dtype"], case["seed"]))
        if same not in self.first:
            self.first[same] = len(self.first)
            for key, value in built.state_dict().items():
                self.tensors[f"first/{self.first[same]}/{key}"] = value.clone()
        return self.first[same]

    def buffers(self, built, prefix):
        for key, value in built.named_buffers():
            self.tensors[f"{prefix}/{key}"] = value.clone()

    def write(self):
        path = f"layers_{self.name}.safetensors"
        write_safetensors(path, self.tensors, {"cases": self.cases, "refused": self.refused})
        return len(self.cases) + len(self.refused)


class Call:
    """The arguments of one call: what PyTorch is given, and how they are recorded."""

    def __init__(self, inputs, named, dtype, seed, warm=False):
        self.dtype, self.seed, self.warm, self.tensors, self.layouts = dtype, seed, warm, [], []
        given = [Input(x) if is_shape(x) else x for x in inputs]
        pairs = [self.made(value) for value in given]
        by_name = {name: self.made(value) for name, value in named.items()}
        self.positional = [value for value, _ in pairs]
        self.named = {name: value for name, (value, _) in by_name.items()}
        self.described = [text for _, text in pairs], {name: text for name, (_, text) in by_name.items()}

    def made(self, value):
        """A value for PyTorch and its description, in which a tensor is its number."""
        if isinstance(value, torch.Tensor):
            value = Input(value)
        if isinstance(value, Packed):
            padded, description = self.made(Input(value.padded))
            packed = nn.utils.rnn.pack_padded_sequence(padded, value.lengths, enforce_sorted=value.enforce_sorted)
            return packed, {"packed": description, "lengths": value.lengths, "enforce_sorted": value.enforce_sorted}
        if isinstance(value, (list, tuple)):
            parts = [self.made(part) for part in value]
            return tuple(part for part, _ in parts), [text for _, text in parts]
        if not isinstance(value, Input):
            return value, value
        if self.warm and isinstance(value.values, torch.Tensor) and value.values.is_floating_point():
            # A pass before the recorded one sees other numbers.
            value = Input(list(value.values.shape), "contiguous", value.grad)
        tensor = value.make(self.seed + len(self.tensors), self.dtype)
        self.tensors.append(tensor)
        self.layouts.append(value.layout)
        described = {"tensor": len(self.tensors) - 1}
        if value.log_softmax:
            return tensor.log_softmax(-1), described | {"log_softmax": True}
        return tensor, described

    def record(self, tensors, prefix):
        for i, tensor in enumerate(self.tensors):
            assert tensor.dtype in NAMES, tensor.dtype
            tensors[f"{prefix}/in/{i}"] = tensor.detach()
        positional, named = self.described
        inputs = [{"layout": layout, "grad": tensor.requires_grad} for layout, tensor in zip(self.layouts, self.tensors)]
        return {"inputs": inputs, "args": positional, "named": named}


def is_shape(value):
    return isinstance(value, list) and all(type(size) is int for size in value)
