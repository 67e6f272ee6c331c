"""trees.json: how reference modules enumerate their members, print and look up paths."""

import collections
import inspect
import itertools

import torch
from torch import nn

import digits_torch
from common import write_json


class Mlp(nn.Module):
    """A child declared before a parameter still comes after it in every list."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("mean", torch.zeros(4))
        self.act = nn.ReLU()
        self.register_buffer("cache", torch.zeros(2), persistent=False)
        self.fc2 = nn.Linear(3, 2, bias=False)
        self.shift = nn.Parameter(torch.zeros(2))


class Tied(nn.Module):
    """One parameter under two names, across children and inside one module."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 5, bias=False)
        self.decoder = nn.Linear(3, 5)
        self.decoder.weight = self.encoder.weight
        self.own = nn.Parameter(torch.zeros(2))
        self.again = self.own
        self.bias = self.decoder.bias


class Shared(nn.Module):
    """One module at three paths, with a batch norm among the shared."""

    def __init__(self):
        super().__init__()
        block = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        self.first = block
        self.second = block
        self.list = nn.ModuleList([nn.ReLU(), block, block[0]])


class Nested(nn.Module):
    """Containers in containers: ModuleList in ModuleDict in Sequential."""

    def __init__(self):
        super().__init__()
        lists = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)])
        self.body = nn.Sequential(
            collections.OrderedDict(
                table=nn.ModuleDict({"left": lists, "right": nn.Linear(1, 2)}), tail=nn.Sequential()
            )
        )
        self.empty = nn.ModuleList()
        self.named = nn.ModuleDict({"z": nn.Identity(), "a": nn.Sequential(nn.Linear(1, 1))})


class Buffers(nn.Module):
    """Persistent, non-persistent and shared buffers, and a batch norm without any."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(3))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.register_buffer("alias", self.table)
        self.norm = nn.BatchNorm2d(2)
        self.free = nn.BatchNorm2d(2, affine=False)
        self.bare = nn.BatchNorm1d(3, track_running_stats=False)
        self.inner = nn.Identity()
        self.inner.register_buffer("table", self.table)
        self.inner.register_buffer("hidden", torch.zeros(1), persistent=False)


class Parameters(nn.Module):
    """ParameterList and ParameterDict, one of their entries tied."""

    def __init__(self):
        super().__init__()
        self.list = nn.ParameterList([torch.zeros(2), torch.zeros(3, 1)])
        self.dict = nn.ParameterDict({"b": torch.zeros(1), "a": torch.zeros(2, 2)})
        self.tied = self.list[0]


class Folded(nn.Module):
    """Equal neighbors are folded when printed, others are not."""

    def __init__(self):
        super().__init__()
        self.equal = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
        self.mixed = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)])
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(2, 2), nn.ReLU()) for _ in range(2)])
        self.named = nn.Sequential(collections.OrderedDict(a=nn.ReLU(), b=nn.ReLU()))
        self.one = nn.ModuleList([nn.Dropout(0.3)])


class Printed(nn.Module):
    """The extra line of every layer, in several configurations."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2, bias=False)
        self.conv = nn.Conv2d(3, 6, (3, 2), stride=(2, 1), padding=1, dilation=2, groups=3, bias=False)
        self.same = nn.Conv2d(1, 1, 3, padding="same", padding_mode="reflect")
        self.plain = nn.Conv2d(1, 1, 1)
        self.norm = nn.BatchNorm2d(4, eps=1e-3, momentum=None, affine=False)
        self.norm1 = nn.BatchNorm1d(4, track_running_stats=False)
        self.drop = nn.Dropout()
        self.act = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)
        self.pool2 = nn.MaxPool2d((3, 2), stride=1, padding=(1, 0), dilation=2, ceil_mode=True)
        self.flat = nn.Flatten()
        self.flat2 = nn.Flatten(0, 2)
        self.id = nn.Identity()
        self.loss = nn.CrossEntropyLoss(weight=torch.ones(3), label_smoothing=0.1)


class Leaf(nn.Module):
    """No member of any kind."""


class Frozen(nn.Module):
    """A frozen child, and a stack three levels deep that repeats its parent's names."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.inner = nn.Module()
        self.inner.weight = nn.Parameter(torch.zeros(3), requires_grad=False)
        self.inner.inner = nn.Linear(2, 1).requires_grad_(False)
        self.leaf = Leaf()


class Diamond(nn.Module):
    """Two parents own the same child; the parents differ."""

    def __init__(self):
        super().__init__()
        core = nn.Linear(2, 2)
        self.left = nn.Sequential(core, nn.ReLU())
        self.right = nn.Sequential(nn.Tanh(), core)


def digits():
    return digits_torch.Digits(8)


REFERENCES = [Mlp, Tied, Shared, Nested, Buffers, Parameters, Folded, Printed, Frozen, Diamond, digits]


def member_lists(walk, prefixes):
    """The answers of named_parameters or named_buffers."""
    return [
        {"prefix": prefix, "recurse": recurse, "remove_duplicate": dedup,
         "names": [name for name, _ in walk(prefix=prefix, recurse=recurse, remove_duplicate=dedup)]}
        for prefix, recurse, dedup in itertools.product(prefixes, (True, False), (True, False))
    ]


def aliases(model):
    """Groups of names that are one tensor."""
    groups = collections.OrderedDict()
    for walk in (model.named_parameters, model.named_buffers):
        for name, tensor in walk(remove_duplicate=False):
            groups.setdefault(id(tensor), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def lookup(function, path):
    """What a look-up gives: the class or the shape, or the error."""
    try:
        found = getattr(LOOKUP_MODEL, function)(path)
    except Exception as error:
        return {"call": function, "path": path, "error_type": type(error).__name__, "error": str(error)}
    answer = type(found).__name__ if isinstance(found, nn.Module) else list(found.shape)
    return {"call": function, "path": path, "found": answer}


LOOKUP_MODEL = None


def lookups(model):
    global LOOKUP_MODEL
    LOOKUP_MODEL = model
    paths = {
        "get_submodule": ["", "fc1", "fc3", "fc1.weight", "fc1.inner", "scale", "mean"],
        "get_parameter": ["scale", "fc1.weight", "fc2.bias", "mean", "fc1", "fc9.weight", "missing", ""],
        "get_buffer": ["mean", "cache", "scale", "fc1.weight", "fc1", "missing"],
    }
    return [lookup(function, path) for function, group in paths.items() for path in group]


def describe(make):
    model = make()
    first = {id(module): name for name, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    applied = []
    model.apply(lambda module: applied.append(first[id(module)]))
    record = listed(model, ("", "net"))
    record |= {
        "source": inspect.getsource(type(model)),
        "state_dict_prefixed": list(model.state_dict(prefix="net.")),
        "apply_order": applied,
    }
    if make is Mlp:
        record["lookups"] = lookups(model)
    return record


def listed(model, prefixes):
    """What a module says of its members."""
    state = model.state_dict()
    return {
        "name": type(model).__name__,
        "repr": repr(model),
        "named_modules": [
            {"prefix": prefix, "remove_duplicate": dedup,
             "modules": [[name, type(m).__name__] for name, m in model.named_modules(prefix=prefix, remove_duplicate=dedup)]}
            for prefix, dedup in itertools.product(prefixes, (True, False))
        ],
        "named_children": [[name, type(m).__name__] for name, m in model.named_children()],
        "named_parameters": member_lists(model.named_parameters, prefixes),
        "named_buffers": member_lists(model.named_buffers, prefixes),
        "parameter_shapes": [list(p.shape) for p in model.parameters()],
        "state_dict": [[key, list(v.shape), str(v.dtype).removeprefix("torch.")] for key, v in state.items()],
        "aliases": aliases(model),
        "num_parameters": sum(p.numel() for p in model.parameters()),
        "num_trainable": sum(p.numel() for p in model.parameters() if p.requires_grad),
    }


def write():
    write_json("trees.json", [describe(make) for make in REFERENCES])
    return len(REFERENCES)
