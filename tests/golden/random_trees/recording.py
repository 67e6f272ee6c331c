"""Files of random trees.

`case` is a list of trees: `tree` (`draw.py` describes it), `listed` (as in trees.json), `lookups` (`call`, `path`, and whether
something is `found`), `steps`, and `loads`. Each tensor has the value that is its place among the parameters and buffers, modulo
120, plus 1.

`steps` change flags: `call` (`set_training` or `set_requires_grad`) with `value` of the module at `path`; then the flags of each
module, `training`, and the names of the parameters that require gradients, `grad`.

`loads` are loads into the tree, each of which finds it as it was: `state` (key, shape, dtype and value of each tensor), `strict`,
the lists `missing`, `unexpected`, `mismatched` and `untied` (pairs of keys with different values for one tensor), whether
the load is `refused`, and otherwise the values `after` it. `missing` has no key of a tensor that another key gives a value. After
them, `dtypes` has the dtypes of the state dict after `to_dtype`.
"""

import collections
import copy

import torch

from common import write_safetensors
from trees import listed

from .build import built
from .draw import NAMES, SHAPES, tree

FILE = "random_trees.safetensors"
CALLS = ["get_submodule", "get_parameter", "get_buffer"]


def lookups(draw, model):
    modules = [name for name, _ in model.named_modules(remove_duplicate=False)]
    tensors = [name for walk in (model.named_parameters, model.named_buffers) for name, _ in walk(remove_duplicate=False)]

    def path():
        path = draw.pick(modules * 2 + tensors) if tensors else draw.pick(modules)
        return ".".join(filter(None, [path, draw.pick(NAMES)])) if draw.chance(0.3) else path

    def found(call, path):
        try:
            return {"call": call, "path": path, "found": describe(getattr(model, call)(path))}
        except AttributeError:
            return {"call": call, "path": path}

    return [found(draw.pick(CALLS), path()) for _ in range(8)]


def describe(found):
    return type(found).__name__ if isinstance(found, torch.nn.Module) else list(found.shape)


def steps(draw, model):
    made = []
    paths = [name for name, _ in model.named_modules(remove_duplicate=False)]
    for _ in range(draw.between(0, 4)):
        path, value, call = draw.pick(paths), draw.chance(0.5), draw.pick(["set_training", "set_requires_grad"])
        module = model.get_submodule(path)
        module.train(value) if call == "set_training" else module.requires_grad_(value)
        made.append({
            "call": call, "path": path, "value": value,
            "training": {name: module.training for name, module in model.named_modules(remove_duplicate=False)},
            "grad": [name for name, p in model.named_parameters(remove_duplicate=False) if p.requires_grad],
        })
    return made


def value(tensor):
    """The one value of a tensor."""
    (found,) = set(tensor.double().flatten().tolist())
    return found


def state_of(draw, model):
    """The state dict of a model of this kind, with some changes; each tensor has one value."""
    kinds = draw.some(6) if draw.chance(0.8) else []
    tensors = dict(model.state_dict(keep_vars=True))
    ids = list(dict.fromkeys(id(x) for x in tensors.values()))
    groups = {number: 20 + i % 90 for i, number in enumerate(ids)}
    state, rare = [], draw.pick([0.05, 0.05, 0.3, 0.95])
    for key, x in tensors.items():
        shape, dtype, number = list(x.shape), name_of(x.dtype), groups[id(x)]
        if 0 in kinds and draw.chance(rare):
            continue
        if 1 in kinds and draw.chance(rare):
            shape = draw.pick(SHAPES)
        if 2 in kinds and draw.chance(0.3):
            dtype = draw.pick(["float32", "float64", "float16"])
        if 3 in kinds and draw.chance(0.1):
            number += 1
        state.append([key, shape, dtype, number])
    for _ in range(draw.between(1, 4) if 4 in kinds else 0):
        modules = [name for name, _ in model.named_modules(remove_duplicate=False)]
        path = [draw.pick(modules), *(draw.pick(NAMES) for _ in range(draw.between(1, 2)))]
        key = ".".join(filter(None, path))
        if key not in tensors and key not in (entry[0] for entry in state):
            state.append([key, draw.pick(SHAPES), "float32", 7])
    return [state[i] for i in draw.order(len(state))] if 5 in kinds else state


def tensors_of(state):
    return {key: torch.full(shape, number, dtype=getattr(torch, dtype)) for key, shape, dtype, number in state}


def load(draw, original):
    """A load, and its result by PyTorch's rules; and by ours where they are stricter."""
    state, strict = state_of(draw, original), draw.chance(0.5)
    given, before = tensors_of(state), original.state_dict(keep_vars=True)
    mismatched = [key for key, x in before.items() if key in given and not fits(given[key], x)]
    model, seen = copy.deepcopy(original), {}
    hook = lambda module, keys: seen.update(missing=list(keys.missing_keys), unexpected=list(keys.unexpected_keys))
    model.register_load_state_dict_post_hook(hook)
    try:
        model.load_state_dict(given, strict=False)
    except RuntimeError as error:
        assert str(error).count("size mismatch for ") == len(mismatched), (error, mismatched)
    found = {id(before[key]) for key in given if key in before}
    missing = [key for key in seen["missing"] if id(before[key]) not in found]
    loaded = [key for key in before if key in given and key not in mismatched]
    first, untied = {}, []
    for key in loaded:
        other = first.setdefault(id(before[key]), key)
        if not torch.equal(given[key].to(before[key].dtype).flatten(), given[other].to(before[key].dtype).flatten()):
            untied.append([other, key])
    nothing = bool(before) and not loaded
    refused = nothing or bool(mismatched or untied) or strict and bool(missing or seen["unexpected"])
    made = {"state": state, "strict": strict, "missing": missing, "unexpected": seen["unexpected"], "mismatched": mismatched,
            "untied": untied, "refused": refused}
    if not refused:
        made["after"] = [[key, value(x)] for key, x in model.state_dict().items()]
    return made


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def fits(given, x):
    return given.shape == x.shape or (x.dim() == 0 and list(given.shape) == [1])


class Recording:
    """Trees, and what PyTorch says of them."""

    def __init__(self):
        self.cases, self.refused = [], collections.Counter()

    def add(self, seed, number):
        described, draw = tree(seed, number)
        case = {"number": number, "tree": described, "listed": listed(built(described), ("",))}
        case["lookups"] = lookups(draw, built(described))
        case["steps"] = steps(draw, built(described))
        case["loads"] = [load(draw, built(described)) for _ in range(draw.between(1, 3))]
        dtype = draw.pick(["float64", "float16", "bfloat16"])
        changed = built(described).to(getattr(torch, dtype))
        case |= {"dtype": dtype, "dtypes": [name_of(x.dtype) for x in changed.state_dict().values()]}
        self.cases.append(case)

    def write(self, path):
        write_safetensors(path, {}, self.cases)
