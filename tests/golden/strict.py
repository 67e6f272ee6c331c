"""strict_errors.json: the messages of `load_state_dict`, word for word."""

import collections

import torch
from torch import nn

from common import write_json


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("table", torch.zeros(2))
        self.encoder = nn.Sequential(Block(), Block())
        self.head = nn.Linear(4, 2)


class Extra(nn.Module):
    """With its extra state declared before everything else."""

    def __init__(self):
        super().__init__()
        self.extra = torch.arange(3)
        self.inner = nn.Linear(1, 1)
        self.register_buffer("table", torch.zeros(2))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def get_extra_state(self):
        return self.extra

    def set_extra_state(self, state):
        self.extra = state


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 5, bias=False)
        self.decoder = nn.Linear(3, 5)
        self.decoder.weight = self.encoder.weight


def describe(state):
    """[key, shape, dtype] for every entry, in order."""
    return [[key, list(value.shape), str(value.dtype).removeprefix("torch.")] for key, value in state.items()]


def strict_case(name, make, change, strict=True, bare=False):
    """Load an edited copy of a module's own state into a fresh module and record what is raised."""
    source, target = make(), make()
    state = collections.OrderedDict(source.state_dict())
    if bare:
        # A plain dictionary without the version that state_dict() attaches, as a file gives.
        state = dict(state)
    else:
        state._metadata = source.state_dict()._metadata
    replaced = change(state)
    state = state if replaced is None else replaced
    record = {"name": name, "class": type(target).__name__, "strict": strict, "versioned": not bare,
              "model": describe(target.state_dict()), "loaded": describe(state)}
    try:
        result = target.load_state_dict(state, strict=strict)
        record |= {"error": None, "missing": result.missing_keys, "unexpected": result.unexpected_keys, "repr": repr(result)}
    except Exception as error:
        record |= {"error": str(error), "error_type": type(error).__name__}
    return record


def without(*keys):
    return lambda state: [state.pop(key) for key in keys].clear()


def setting(**values):
    """Replace or add entries; `__` stands for the dot."""
    return lambda state: state.update({key.replace("__", "."): value for key, value in values.items()})


def then(*changes):
    def run(state):
        for change in changes:
            change(state)

    return run


def renamed(state):
    state["head.wieght"] = state.pop("head.weight")


def prefixed(state):
    return {f"module.{key}": value for key, value in state.items()}


def reversed_order(state):
    return dict(reversed([("z.late", torch.zeros(1)), *state.items(), ("a.early", torch.zeros(1))]))


def hook_case():
    """What the hooks around a state dict see, in the order in which they run."""
    net = nn.Sequential(collections.OrderedDict(a=nn.Linear(1, 1), c=nn.Sequential(nn.Linear(1, 1))))
    log = []
    for path, module in net.named_modules():
        module.register_state_dict_pre_hook(lambda m, prefix, keep, path=path: log.append(["pre", path, prefix]))
        module.register_state_dict_post_hook(
            lambda m, state, prefix, meta, path=path: log.append(["post", path, prefix, [k for k in state if k.startswith(prefix)]]))
        module.register_load_state_dict_pre_hook(
            lambda m, state, prefix, meta, strict, missing, unexpected, errors, path=path: log.append(["load_pre", path, prefix, list(state), strict]))
        module.register_load_state_dict_post_hook(
            lambda m, keys, path=path: log.append(["load_post", path]))
    state = collections.OrderedDict(net.state_dict())
    saved, log[:] = list(log), []
    del state["a.bias"]
    state["c.0.extra"] = torch.zeros(1)
    net.load_state_dict(state, strict=False)
    return {"saved": saved, "loaded": log}


def write():
    tracked = "encoder.0.norm.num_batches_tracked"
    linear = lambda: nn.Linear(3, 4)
    size = setting(head__weight=torch.zeros(3, 4), encoder__1__norm__running_mean=torch.zeros(5))
    extra = setting(head__extra=torch.zeros(1), stranger=torch.zeros(2, 2))
    cases = [
        strict_case("equal", Net, lambda state: None),
        strict_case("missing", Net, without("head.bias")),
        strict_case("missing several", Net, without("scale", "table", "encoder.1.fc1.weight", "head.bias")),
        strict_case("unexpected", Net, extra),
        strict_case("missing and unexpected", Net, then(without("encoder.0.fc1.bias", "head.weight"), extra)),
        strict_case("renamed", Net, renamed),
        strict_case("all under a prefix", Net, prefixed),
        strict_case("unexpected keys come in file order", Net, reversed_order),
        strict_case("size mismatch", Net, setting(head__weight=torch.zeros(3, 4))),
        strict_case("two size mismatches", Net, size),
        strict_case("everything at once", Net, then(without("encoder.0.fc1.weight", "table"), extra, size)),
        strict_case("everything at once, not strict", Net, then(without("encoder.0.fc1.weight", "table"), extra, size), strict=False),
        strict_case("missing and unexpected, not strict", Net, then(without("head.bias"), extra), strict=False),
        strict_case("empty", Net, lambda state: {}),
        strict_case("empty, not strict", Net, lambda state: {}, strict=False),
        strict_case("one element into no dimension", Net, setting(scale=torch.ones(1))),
        strict_case("two elements into no dimension", Net, setting(scale=torch.ones(2))),
        strict_case("one by one into no dimension", Net, setting(scale=torch.ones(1, 1))),
        strict_case("no dimension into one element", lambda: nn.Linear(3, 1), setting(bias=torch.tensor(1.0))),
        strict_case("transposed weight", linear, setting(weight=torch.zeros(3, 4))),
        strict_case("weight that would broadcast", linear, setting(weight=torch.zeros(1, 3))),
        strict_case("missing num_batches_tracked, with version 2", Net, without(tracked)),
        strict_case("missing num_batches_tracked, without a version", Net, without(tracked), bare=True),
        strict_case("missing num_batches_tracked and a weight, without a version", Net,
                    then(without(tracked), without("head.weight")), bare=True),
        strict_case("other dtypes are cast", Net,
                    setting(head__weight=torch.zeros(2, 4, dtype=torch.float64), encoder__0__norm__num_batches_tracked=torch.tensor(7, dtype=torch.int32))),
        strict_case("bare linear", linear, then(without("bias"), setting(extra=torch.zeros(1)))),
        strict_case("bias for a layer without one", lambda: nn.Linear(3, 4, bias=False), setting(bias=torch.zeros(4))),
        strict_case("sequential", lambda: nn.Sequential(linear(), nn.ReLU(), nn.Linear(4, 2)),
                    then(without("2.weight"), setting(**{"3__weight": torch.zeros(1)}))),
        strict_case("extra state", Extra, lambda state: None),
        strict_case("extra state of another shape", Extra, setting(_extra_state=torch.zeros(2, 2))),
        strict_case("extra state missing", Extra, without("_extra_state")),
        strict_case("extra state unexpected", linear, setting(_extra_state=torch.zeros(1))),
        strict_case("model under a prefix", lambda: nn.Sequential(collections.OrderedDict(net=linear())),
                    lambda state: {key.removeprefix("net."): value for key, value in state.items()}),
        strict_case("tied, under its first name", Tied, without("decoder.weight")),
        strict_case("tied, under its second name", Tied, without("encoder.weight")),
        strict_case("a key below a parameter", linear, setting(weight__inner=torch.zeros(1))),
    ]
    write_json("strict_errors.json", cases)
    hooks = [hook_case()]
    write_json("state_hooks.json", hooks)
    return len(cases) + len(hooks)
