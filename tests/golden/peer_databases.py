#!/usr/bin/env python3
"""PyTorch's own test databases: `module_db` (layers) and `op_db` (operations).

Usage:
    python peer_databases.py              a sample, into data/, which the tests read
    python peer_databases.py --all DIR    every case, into DIR, for GOLDEN_PEERS=DIR cargo test

Omitted cases are counted by reason and printed. `README.md` says which cases differ, and why.
"""

import argparse
import collections
import contextlib
import inspect
import itertools
import os
import pathlib
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.testing._internal.common_modules import module_db

import common
from common import NAMES
from layer_family import Arguments, Family, Input
from layers_pooling import indices_at_the_call
from peer_ops import LeftOut, LinearCrossEntropyOptions, chunks, write_ops

# How many cases of a layer the sample has in each dtype and mode, and the most bytes of one.
MODULE_CASES = {("f32", "train"): 2, ("f32", "eval"): 1, ("f64", "train"): 1, ("f64", "eval"): 1}
CASE_BYTES = 16_000
# How many cases a file of the whole database holds.
CASES_A_FILE = 400

# Arguments of a constructor that say where the layer is made, or what a pass would draw.
NOT_GIVEN = ("device", "dtype", "_random_samples")

ACTIVATIONS = {F.relu: "relu", F.gelu: "gelu"}


def plain(value):
    """An argument of a constructor as JSON has it."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, nn.TransformerEncoderLayer):
        return encoder_layer(value)
    if isinstance(value, LinearCrossEntropyOptions):
        return Arguments("LinearCrossEntropyOptions", **chunks(value))
    if isinstance(value, nn.Module):
        raise LeftOut("an argument is a module, which is recorded by itself")
    if isinstance(value, torch.Size):
        return list(value)
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if callable(value):
        if value not in ACTIVATIONS:
            raise LeftOut("an argument is a function")
        return ACTIVATIONS[value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise LeftOut("an argument is infinite, which JSON has no number for")
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise LeftOut(f"an argument is of the type {type(value).__name__}")
    return value


def encoder_layer(layer):
    """The arguments that this layer was made of."""
    activation = layer.activation if callable(layer.activation) else None
    return Arguments(
        "TransformerEncoderLayer", d_model=layer.self_attn.embed_dim, nhead=layer.self_attn.num_heads,
        dim_feedforward=layer.linear1.out_features, dropout=layer.dropout.p, activation=plain(activation),
        layer_norm_eps=layer.norm1.eps, batch_first=layer.self_attn.batch_first, norm_first=layer.norm_first,
        bias=layer.linear1.bias is not None)


def constructor(kind, given):
    """The arguments of a constructor by name, without those that say where the layer is made."""
    names = [name for name in inspect.signature(kind.__init__).parameters if name not in ("self", "args", "kwargs")]
    if len(given.args) > len(names):
        raise LeftOut("arguments that have no names")
    arguments = dict(zip(names, given.args)) | given.kwargs
    return {name: plain(value) for name, value in arguments.items() if name not in NOT_GIVEN}


def call_argument(value):
    """An argument of a call: tensors as they are, and whether their gradient is asked for."""
    if isinstance(value, torch.Tensor):
        if value.dtype not in NAMES:
            raise LeftOut(f"a tensor of {value.dtype}")
        return Input(value.detach(), grad=value.requires_grad)
    if isinstance(value, (list, tuple)):
        return tuple(call_argument(part) for part in value)
    return value


def modules(dtype, mode):
    """The cases of each layer of the database: the layer, its arguments with those of the call, a name."""
    for info in module_db:
        torch.manual_seed(0)
        made = info.module_inputs_func(
            info, device="cpu", dtype=common.DTYPES[dtype], requires_grad=True, training=mode == "train")
        yield info.module_cls, [(given, f"{info.name} {number}") for number, given in enumerate(made)]


def smallest(kind, cases, mode, dtype):
    """The cases of a layer that the sample has: of different arguments first, and the smaller of each."""
    by_arguments = collections.defaultdict(list)
    for number, (given, label) in enumerate(cases):
        family = Family("scratch")
        try:
            record(family, kind, given, mode, label, dtype)
        except (LeftOut, NotImplementedError):
            continue
        bytes_ = sum(tensor.numel() * tensor.element_size() for tensor in family.tensors.values())
        if bytes_ <= CASE_BYTES:
            by_arguments[repr(family.cases[0]["kwargs"])].append((bytes_, number))
    turns = itertools.zip_longest(*(sorted(group) for group in by_arguments.values()))
    order = [entry[1] for turn in turns for entry in sorted(entry for entry in turn if entry)]
    return [cases[number] for number in order[:MODULE_CASES[dtype, mode]]]


def record(family, kind, given, mode, label, dtype):
    """Record one case of the database of layers."""
    if given.forward_input is None:
        raise LeftOut("no call is given")
    kwargs = constructor(kind, given.constructor_input)
    positional = [call_argument(value) for value in given.forward_input.args]
    named = {name: call_argument(value) for name, value in given.forward_input.kwargs.items()}
    if not positional and "input" in named:
        positional.append(named.pop("input"))
    if kind is nn.CTCLoss:
        # Lengths as tensors, which mean the same.
        positional = [Input(torch.tensor(value), grad=False) if type(value) is tuple else value for value in positional]
        # PyTorch's gradient is that of this loss and `log_softmax`, which changes nothing of its own results.
        positional[0].log_softmax = True
    if kind.__name__.startswith("Lazy"):
        raise LeftOut("lazy layers, whose shapes come from their first input")
    # Places are asked for in the call of ours.
    asked = kwargs.pop("return_indices", False)
    with indices_at_the_call([kind.__name__]) if asked else contextlib.nullcontext():
        named |= {"return_indices": True} if asked else {}
        family.case(kind.__name__, kwargs, positional, named, dtypes=(dtype,), mode=mode, label=label)


def length(family):
    return len(family.cases), len(family.tensors), len(family.first)


def undo(family, before):
    """Remove what has been recorded since the family had this length."""
    cases, tensors, first = before
    del family.cases[cases:]
    for record, kept in ((family.tensors, tensors), (family.first, first)):
        for key in list(record)[kept:]:
            del record[key]


def write_modules(everything):
    """The files of the database of layers; how many cases they have, and why others are left out."""
    left_out, written, files = collections.Counter(), 0, 0
    family = Family("module_db")
    for dtype, mode in MODULE_CASES:
        for kind, cases in modules(dtype, mode):
            for given, label in cases if everything else smallest(kind, cases, mode, dtype):
                before = length(family)
                try:
                    record(family, kind, given, mode, label, dtype)
                except (LeftOut, NotImplementedError) as reason:
                    undo(family, before)
                    left_out[f"{kind.__name__}: {reason}"] += 1
            if everything and len(family.cases) >= CASES_A_FILE:
                written += family.write()
                files += 1
                family = Family(f"module_db_{files}")
    return written + family.write(), left_out


def main():
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The database goes through sets of texts, whose order must be the same in each run.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", metavar="DIR", help="write every case there")
    arguments = parser.parse_args()
    if arguments.all:
        common.DATA = pathlib.Path(arguments.all)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for what, write in (("layers", write_modules), ("operations", write_ops)):
        count, left_out = write(bool(arguments.all))
        print(f"{count} cases of {what}")
        for reason, number in sorted(left_out.items()):
            print(f"  {number:5} left out, {reason}")


if __name__ == "__main__":
    main()
