"""checkpoint_objects/: files of `torch.save` with more than plain tensors: lazily negated views, tensors of other kinds,
training checkpoints full of Python objects, and programs, which are not checkpoints."""

import argparse
import collections
import datetime
import decimal
import enum
import functools
import io
import pathlib
import re
import types
import uuid
import warnings
import zipfile

import numpy
import torch

from checkpoints import saved, tensors_of
from common import DATA, write_safetensors

FOLDER = DATA / "checkpoint_objects"
LEGACY = {"_use_new_zipfile_serialization": False}
VARIANTS = [
    (".pt", {}),
    (".legacy.pt", LEGACY),
    (".protocol4.pt", {"pickle_protocol": 4}),
    (".protocol5.legacy.pt", LEGACY | {"pickle_protocol": 5}),
]


class Color(enum.Enum):
    RED = 1


class Mode(enum.Flag):
    A = 1
    B = 2


Point = collections.namedtuple("Point", "x y")


class AttributeDict(dict):
    """As Lightning keeps hyper-parameters."""


class Config:
    """An object with attributes, among them tensors."""

    def __init__(self):
        self.weight = torch.ones(3)
        self.nested = {"again": self}


class Slots:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 1


class Named:
    """An object that is made by keyword."""

    def __new__(cls, *, size):
        made = super().__new__(cls)
        made.size = size
        return made

    def __getnewargs_ex__(self):
        return (), {"size": self.size}


class Tagged(torch.Tensor):
    """A subclass of tensors."""


def lazy():
    """Views that PyTorch negates when they are read."""
    complex_numbers = torch.complex(torch.arange(6.0), torch.arange(6.0) - 2.5)
    double = complex_numbers.to(torch.complex128).reshape(2, 3)
    conjugate = complex_numbers.conj()
    special = torch.tensor([0.0, -0.0, float("inf"), float("nan"), 1.0, 2.0])
    negated = torch._neg_view(special)
    state = {
        "imaginary": conjugate.imag,
        "plain": complex_numbers.imag,
        "real": conjugate.real,
        "sliced": conjugate.imag[1:4],
        "again": conjugate.imag,
        "double": double.mH.imag,
        "special": special,
        "negated": negated,
        "row": negated[2:],
        "integers": torch._neg_view(torch.tensor([1, -2, 3])),
        "bytes": torch._neg_view(torch.tensor([0, 1, 255], dtype=torch.uint8)),
        "parameter": torch.nn.Parameter(torch._neg_view(torch.tensor([5.0, -6.0]))),
        "resolved": conjugate.imag.resolve_neg(),
        "self": torch.ones(2).conj(),
        "empty": torch._neg_view(torch.empty(0)),
    }
    assert state["imaginary"].is_neg() and state["negated"].is_neg() and not state["self"].is_conj()
    return state


def lightning(net):
    """The shape of a checkpoint of PyTorch Lightning, with whatever users put beside the weights."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    sum(p.square().sum() for p in net.parameters()).backward()
    optimizer.step()
    counts = collections.defaultdict(list)
    counts["losses"] += [1.0, 0.5]
    return {
        "epoch": 3,
        "global_step": 120,
        "pytorch-lightning_version": "2.5.0",
        "state_dict": net.state_dict(),
        "loops": {"fit_loop": {"state_dict": {}, "progress": counts}},
        "callbacks": {"ModelCheckpoint": {"best": pathlib.PurePosixPath("a/b.ckpt"), "score": torch.tensor(0.5)}},
        "optimizer_states": [optimizer.state_dict()],
        "hyper_parameters": AttributeDict(lr=0.1, args=argparse.Namespace(seed=1, root=pathlib.PurePosixPath("/data"))),
        "datamodule": Config(),
        "objects": {
            "path": pathlib.PosixPath("/data/x"),
            "enum": Color.RED,
            "flag": Mode.A | Mode.B,
            "date": datetime.date(2026, 1, 2),
            "time": datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc),
            "delta": datetime.timedelta(seconds=5),
            "scalar": numpy.float32(0.25),
            "array": numpy.arange(6.0).reshape(2, 3),
            "texts": numpy.array(["a", "bc"]),
            "point": Point(1, torch.ones(1)),
            "slots": Slots(),
            "named": Named(size=2),
            "partial": functools.partial(torch.nn.functional.gelu, approximate="tanh"),
            "simple": types.SimpleNamespace(a=1),
            "decimal": decimal.Decimal("0.1"),
            "uuid": uuid.UUID(int=7),
            "deque": collections.deque([1, 2], maxlen=3),
            "range": range(3),
            "slice": slice(1, None),
            "class": Config,
            "function": torch.relu,
            "default": collections.defaultdict(dict, a={"b": 1}),
            "counter": collections.Counter("aab"),
            "generator": numpy.random.default_rng(0),
            "tagged": torch.ones(2).as_subclass(Tagged),
            "module": torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()),
            "sparse": torch.eye(2).to_sparse(),
            "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
            "meta": torch.ones(2, device="meta"),
            "exception": ValueError("x"),
        },
    }


def unserved():
    """Tensors of other kinds, each in an entry of its own; what the message must say of them."""
    weight = torch.eye(2)
    per_channel = torch.quantize_per_channel(weight, torch.ones(2), torch.zeros(2, dtype=torch.int64), 0, torch.qint8)
    conjugate = torch.tensor([1 + 2j], dtype=torch.complex128).conj()
    return {
        "sparse_coo": (weight.to_sparse(), ["a sparse tensor", "to_dense()"]),
        "sparse_csr": (weight.to_sparse_csr(), ["a sparse tensor", "to_dense()"]),
        "quantized": (torch.quantize_per_tensor(weight, 0.1, 0, torch.qint8), ["a quantized tensor", "dequantize()"]),
        "per_channel": (per_channel, ["a quantized tensor", "dequantize()"]),
        "nested": (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), ["a nested tensor", "unbind()"]),
        "meta": (torch.ones(2, device="meta"), ["the device `meta`"]),
        "tagged": (weight.as_subclass(Tagged), ["an object of `checkpoint_objects.Tagged`"]),
        "conjugate": (conjugate, ["complex128 is not supported"]),
        "complex": (conjugate.resolve_conj(), ["complex128 is not supported"]),
        "unknown": (torch.zeros(2, dtype=torch.uint8).view(torch.bits8), ["dtype `torch.bits8` is not supported"]),
        "path": (pathlib.PosixPath("/x"), ["an object of `pathlib.PosixPath`", "not a tensor"]),
        "enum": (Color.RED, ["an object of `checkpoint_objects.Color`", "not a tensor"]),
    }


def scripted():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.layer(x)

    net, sample = Net(), torch.ones(1, 2)
    script, export = io.BytesIO(), io.BytesIO()
    torch.jit.save(torch.jit.trace(net, sample), script)
    torch.export.save(torch.export.export(net, (sample,)), export)
    script, export = without_places(script), without_places(export)
    # What the messages tell to do.
    for state in [torch.jit.load(io.BytesIO(script)).state_dict(), torch.export.load(io.BytesIO(export)).state_dict]:
        assert list(state) == ["layer.weight", "layer.bias"]
    return script, export


def without_places(source):
    """A program without what it says of the places of its source."""
    target = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename.endswith("/model.json"):
                data = re.sub(rb'"stack_trace": ?"(\\.|[^"\\])*"', b'"stack_trace": ""', data)
            if not info.filename.endswith(".debug_pkl"):
                new.writestr(zipfile.ZipInfo(info.filename), data)
    return target.getvalue()


def write():
    warnings.simplefilter("ignore")
    # Whole modules in legacy files come with the place and the text of their source.
    torch.serialization.get_source_lines_and_file = lambda *_: (["class Sequential: ...\n"], 1, "container.py")
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    cases, expected = [], {}

    def record(file, entry, state, ties):
        cases.append({"file": file, "entry": entry, "keys": list(state), "ties": ties})
        for key, tensor in state.items():
            expected[f"{file}/{entry or ''}/{key}"] = tensor.detach().resolve_neg().contiguous()

    def refused(file, entry, words, **more):
        cases.append({"file": file, "entry": entry, "error": words} | more)

    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    values = lightning(net)
    others = {key: {key: tensor} for key, (tensor, _) in unserved().items()}
    for suffix, options in VARIANTS:
        file = "lazy" + suffix
        (FOLDER / file).write_bytes(saved(lazy(), **options))
        read = torch.load(FOLDER / file, weights_only=False)
        record(file, None, read, [["imaginary", "again"]])

        file = "lightning" + suffix
        (FOLDER / file).write_bytes(saved(values, **options))
        read = torch.load(FOLDER / file, weights_only=False)
        record(file, "state_dict", tensors_of(read, "state_dict"), [])
        hint = ["`state_dict` (7 tensors)", "ReadOptions::entry", "nothing is executed"]
        refused(file, None, hint)
        refused(file, "datamodule", ["`datamodule` is an object of `checkpoint_objects.Config`"])
        refused(file, "datamodule.weight", ["`datamodule` is an object of `checkpoint_objects.Config`", "no entry `datamodule.weight`"])
        refused(file, "optimizer_states", ["`optimizer_states` is a list"])
        refused(file, "objects", ["`path` of `objects` is an object of `pathlib.PosixPath`"])
        refused(file, "loops.fit_loop", ["`state_dict` of `loops.fit_loop` is a dict"])

    for suffix, options in VARIANTS[:2]:
        file = "unserved" + suffix
        (FOLDER / file).write_bytes(saved(others | {"plain": {"w": torch.ones(2)}}, **options))
        record(file, "plain", {"w": torch.ones(2)}, [])
        for key, (_, words) in unserved().items():
            refused(file, key, [f"`{key}`"] + words)
        refused(file, None, ["a sparse tensor", "to_dense()", "`plain` (1 tensor)"])

    script, export = scripted()
    (FOLDER / "script.pt").write_bytes(script)
    (FOLDER / "export.pt2").write_bytes(export)
    refused("script.pt", None, ["TorchScript", "torch.jit.load(path).state_dict()"])
    refused("export.pt2", None, ["torch.export.load(path).state_dict"])
    numpy.save(FOLDER / "array.npy", numpy.ones(3, numpy.float32))
    refused("array.npy", None, ["a single NumPy array", "numpy.savez(file, name=array)"])

    # Valid files that hold no dict of tensors.
    for name, value, words in [
        ("tensors", [torch.ones(1), torch.ones(2)], ["holds a list", '{"name": tensor}']),
        ("number", 3, ["holds the number 3"]),
        ("object", argparse.Namespace(lr=1), ["`argparse.Namespace`", "re-save the state dict alone"]),
        ("flat", {"w": torch.ones(1), "args": argparse.Namespace(lr=1)}, ["`argparse.Namespace`", "re-save the state dict alone"]),
    ]:
        for suffix, options in VARIANTS[:2]:
            (FOLDER / (name + suffix)).write_bytes(saved(value, **options))
            refused(name + suffix, None, words)

    # More elements than the file holds.
    one = torch.ones(1)
    base = torch.arange(60.0)
    wide = {"w": one.expand(1 << 40), "small": torch.ones(2)}
    windows = {"windows": base.unfold(0, 5, 2), "base": base}
    many = torch.arange(8e3)
    views = {f"view{i}": many[: 8000 - i] for i in range(20)} | {f"tie{i}": many for i in range(20)}
    ties = {f"tie{i}": many for i in range(50)}
    for suffix, options in VARIANTS[:2]:
        for name, value, words in [
            ("wide", wide, ["`w`", "make 1099511627776 elements of the 1 ", "ReadOptions::new().expanded(true)"]),
            ("windows", windows, ["`windows`", "make 140 elements of the 60 ", "expanded(true)"]),
            ("views", views, ["views of more than", "expanded(true)"]),
        ]:
            (FOLDER / (name + suffix)).write_bytes(saved(value, **options))
            refused(name + suffix, None, words, expanded={key: list(t.shape) for key, t in value.items()})
        (FOLDER / ("ties" + suffix)).write_bytes(saved(ties, **options))
        cases.append({"file": "ties" + suffix, "entry": None, "keys": list(ties), "ties": [["tie0", "tie49"]]})

    write_safetensors("checkpoint_objects/expected.safetensors", expected, cases)
    return len(cases)
