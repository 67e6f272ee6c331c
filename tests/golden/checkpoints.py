"""checkpoints/: files of `torch.save` and `numpy.savez`, and their contents as read back by PyTorch and NumPy."""

import collections
import io
import pickle
import zipfile

import numpy
import torch

from common import DATA, DTYPES, write_safetensors

FOLDER = DATA / "checkpoints"


class Net(torch.nn.Module):
    """Tied weights, buffers, and a state that is not a tensor."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4, bias=False)])
        self.head = torch.nn.Linear(4, 5)
        self.head.weight = self.embedding.weight

    def get_extra_state(self):
        return {"seen": 3}

    def set_extra_state(self, state):
        pass


def training(net):
    """What a training script saves."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    sum(p.square().sum() for p in net.parameters()).backward()
    optimizer.step()
    optimizer.zero_grad()
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 4])
    return {
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "epoch": 3,
        "best": numpy.float64(0.5),
        "big": 2**80,
        "names": ["a", ("b", {"c"}), None, True, 1.5, b"bytes", bytearray(b"more"), 1j],
        "device": torch.device("cpu"),
        "dtype": torch.bfloat16,
        "shape": torch.Size([2, 3]),
    }


def every_dtype():
    values = torch.arange(6).reshape(2, 3) - 2
    state = {name: (values * 0.75).to(dtype) for name, dtype in DTYPES.items()}
    state["f32.special"] = torch.tensor([float("inf"), float("-inf"), float("nan"), -0.0])
    return state


def views():
    base = torch.arange(60, dtype=torch.float32)
    grid = base.reshape(3, 4, 5)
    return {
        "base": base,
        "grid": grid,
        "transposed": grid.transpose(0, 2),
        "narrowed": grid.narrow(1, 1, 2),
        "strided": base[3::7],
        "expanded": base[5:6].expand(4, 3),
        "one": grid[2, 3, 4],
        "row": grid[1, 2],
        "diagonal": torch.diagonal(grid[0]),
        "windows": base.unfold(0, 5, 2),
        "separate": grid.clone().permute(1, 2, 0),
        "empty": torch.empty(0),
        "empty.late": base[60:],
        "empty.grid": torch.empty(3, 0, 2),
        "scalar": torch.tensor(7),
        "high": torch.zeros(1, 2, 1, 2, 1, 2),
    }


def tensors_of(value, entry):
    """The dict at a path; a key that contains dots itself is matched whole."""
    while entry:
        if entry in value:
            return value[entry]
        if entry.isdigit():
            return value[int(entry)]
        step, entry = entry.split(".", 1)
        value = value[step]
    return value


def ties(state):
    """Pairs of keys that are one tensor."""
    keys = [key for key, t in state.items() if torch.is_tensor(t) and t.numel()]
    same = lambda a, b: (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)
    return [[a, b] for i, a in enumerate(keys) for b in keys[i + 1 :] if same(state[a], state[b])]


def shared(state):
    """Pairs of keys in one storage."""
    keys = [key for key, t in state.items() if torch.is_tensor(t) and t.numel()]
    at = lambda key: state[key].untyped_storage().data_ptr()
    return [[a, b] for i, a in enumerate(keys) for b in keys[i + 1 :] if at(a) == at(b)]


def big_endian(source, sizes=None):
    """The file as a big-endian machine would have written it, with the sizes of the numbers in each storage."""
    state, target = torch.load(io.BytesIO(source)), io.BytesIO()
    sizes = sizes or {str(i): t.element_size() for i, t in enumerate(state.values())}
    with zipfile.ZipFile(io.BytesIO(source)) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            folder, _, name = info.filename.rpartition("/")
            if name == "byteorder":
                data = b"big"
            if folder.endswith("/data"):
                data = numpy.frombuffer(data, f"V{sizes[name]}")
                data = b"".join(bytes(element)[::-1] for element in data)
            new.writestr(zipfile.ZipInfo(info.filename), data)
    return target.getvalue()


def saved(value, **options):
    target = io.BytesIO()
    torch.save(value, target, **options)
    legacy = not options.get("_use_new_zipfile_serialization", True)
    return renumbered(target.getvalue()) if legacy else target.getvalue()


def renumbered(data):
    """A legacy file whose storages are named and ordered as the pickle does it, not by addresses."""
    source, ends, sizes, order = io.BytesIO(data), [], {}, []

    class Reader(pickle.Unpickler):
        def persistent_load(self, parts):
            if parts[0] == "module":
                return parts[1]
            _, kind, key, _, count, _ = parts
            sizes[key] = count * kind(0).element_size()
            order.append(key)

        def find_class(self, module, name):
            return (lambda *_: None) if "_rebuild" in name else super().find_class(module, name)

    for _ in range(5):
        keys = Reader(source).load()
        ends.append(source.tell())
    storages = {key: source.read(8 + sizes[key]) for key in keys}
    assert source.read() == b"" and all(len(key) == 14 for key in keys), keys
    order = list(dict.fromkeys(order))
    objects = data[: ends[3]]
    for i, key in enumerate(order):
        objects = objects.replace(key.encode(), b"%014d" % i)
    protocol = data[1]
    keys = pickle.dumps(["%014d" % i for i in range(len(order))], protocol)
    return objects + keys + b"".join(storages[key] for key in order)


def arrays(write, **values):
    target = io.BytesIO()
    write(target, **values)
    return target.getvalue()


def with_versions():
    """The three headers of `.npy` in one archive, stored."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for major in (1, 2, 3):
            array = io.BytesIO()
            numpy.lib.format.write_array(array, numpy.arange(major + 2.0), (major, 0))
            archive.writestr(zipfile.ZipInfo(f"v{major}.npy"), array.getvalue())
    return target.getvalue()


def npz_values():
    grid = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)
    return {
        "f32": grid,
        "layer/fortran:0": numpy.asfortranarray(grid),
        "big": (grid * 0.5).astype(">f8"),
        "big.fortran": numpy.asfortranarray(grid[0].astype(">i4")),
        "f16": (grid[0] * 0.25).astype(numpy.float16),
        "i64": numpy.arange(-3, 3),
        "u8": numpy.arange(250, 256, dtype=numpy.uint8),
        "bool": numpy.array([[True], [False]]),
        "scalar": numpy.float64(2.5),
        "empty": numpy.zeros((0, 3), numpy.int32),
        "ones": numpy.ones((1, 1), numpy.float32),
    }


def write():
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    net, net_training = Net(), training(Net())
    plain, legacy = {}, {"_use_new_zipfile_serialization": False}
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    tagged = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    tagged.tag = "an attribute"
    attributed = torch.tensor([5.0])
    attributed.tag = "an attribute"
    objects = {"parameter": parameter, "tagged": tagged, "buffer": torch.nn.Buffer(torch.ones(2)), "attributed": attributed}
    foreign = {
        "complex128": torch.zeros(2, dtype=torch.complex128),
        "complex32": torch.zeros(2, dtype=torch.complex32),
        "uint64": torch.zeros(2, dtype=torch.uint64),
        "float8_e4m3fnuz": torch.zeros(2).to(torch.float8_e4m3fnuz),
        "float8_e8m0fnu": torch.ones(2).to(torch.float8_e8m0fnu),
    }
    mixed_dtypes = {key: {key: t, "w": torch.ones(1)} for key, t in foreign.items()}
    dotted = {"a.b": {"w": torch.ones(1)}, "a": {"b": {"w": torch.zeros(2)}, "c.d": {"w": torch.tensor(3.0)}}}
    layer = torch.nn.Linear(1, 1)
    layer_dict = collections.OrderedDict(layer.state_dict())
    # Name of the file, its bytes, and for each entry `None` or what an error must say.
    inputs = []
    for name, value, entries in [
        ("net", net.state_dict(), [None]),
        ("ordered", layer_dict, [None]),
        ("dtypes", every_dtype(), [None]),
        ("views", views(), [None]),
        ("parameters", dict(net.named_parameters(remove_duplicate=False)), [None]),
        ("objects", objects, [None]),
        ("none", {}, [None]),
        ("training", net_training, ["model", "optimizer.state.0"]),
        ("dotted", dotted, ["a.b", "a.c.d"]),
    ]:
        for suffix, options in [
            (".pt", plain),
            (".legacy.pt", legacy),
            (".protocol4.pt", {"pickle_protocol": 4}),
            (".protocol5.legacy.pt", legacy | {"pickle_protocol": 5}),
        ]:
            inputs.append((name + suffix, saved(value, **options), value, entries))
    inputs.append(("dtypes.big.pt", big_endian(saved(every_dtype())), every_dtype(), [None]))
    cases, expected = [], {}

    def record(file, entry, state):
        state = {key: t for key, t in state.items() if torch.is_tensor(t)}
        cases.append({"file": file, "entry": entry, "keys": list(state), "ties": ties(state), "shared": shared(state)})
        for key, tensor in state.items():
            expected[f"{file}/{entry or ''}/{key}"] = tensor.detach().contiguous()

    for file, data, value, entries in inputs:
        (FOLDER / file).write_bytes(data)
        read = torch.load(io.BytesIO(data), weights_only=False)
        for entry in entries:
            record(file, entry, tensors_of(read, entry))
    for file, data in [
        ("plain.npz", arrays(numpy.savez, **npz_values())),
        ("compressed.npz", arrays(numpy.savez_compressed, **npz_values())),
        ("versions.npz", with_versions()),
        ("none.npz", arrays(numpy.savez)),
    ]:
        (FOLDER / file).write_bytes(data)
        read = numpy.load(io.BytesIO(data))
        native = {key: read[key].astype(read[key].dtype.newbyteorder("=")) for key in read.files}
        record(file, None, {key: torch.from_numpy(array.copy()) for key, array in native.items()})

    def refused(file, data, entry, words):
        if data is not None:
            (FOLDER / file).write_bytes(data)
        cases.append({"file": file, "entry": entry, "error": words})

    model = f"`model` ({len(net_training['model']) - 1} tensors)"
    several = [model, "`optimizer.state.0` (3 tensors)", "ReadOptions::entry"]
    refused("training.pt", None, None, several)
    refused("training.legacy.pt", None, None, several)
    refused("training.pt", None, "optimizer", ["`state`", "`state.0` (3 tensors)"])
    refused("training.pt", None, "epoch", ["`epoch` is the number 3"])
    refused("training.pt", None, "modle", ["there is no entry `modle`", model])
    refused("one.pt", saved({"model": layer_dict, "epoch": 1}), None, ["`model` (2 tensors)"])
    refused("tensor.pt", saved(torch.ones(2)), None, ["holds a tensor"])
    refused("list.pt", saved([torch.ones(2)]), None, ["holds a list"])
    refused("mixed.pt", saved(layer_dict | {"step": 7}), None, ["`step` is the number 7, not a tensor"])
    refused("numbered.pt", saved({0: torch.ones(1)}), None, ["under the number 0"])
    refused("foreign.pt", saved(mixed_dtypes), "uint64", ["`uint64`", "uint64 is not supported"])
    for key in foreign:
        refused("foreign.pt", None, key, [f"`{key}`", f"{key} is not supported"])
    refused("foreign.legacy.pt", saved({k: v for k, v in mixed_dtypes.items() if k == "complex128"}, **legacy), "complex128", ["complex128 is not supported"])
    refused("module.pt", saved(torch.nn.Sequential(layer)), None, ["whole module", "model.state_dict()"])
    refused("sparse.pt", saved({"w": torch.eye(2).to_sparse()}), None, ["`torch._utils._rebuild_sparse_tensor`"])
    objects = numpy.array([{}], dtype=object)
    refused("objects.npz", arrays(numpy.savez, x=objects), None, ["`x`", '"|O" is not supported'])
    structured = numpy.zeros(2, [("a", "<f4"), ("b", "<i4")])
    refused("structured.npz", arrays(numpy.savez, x=structured), None, ["`x`", "header"])
    refused("uint64.npz", arrays(numpy.savez, x=numpy.zeros(2, "<u8")), None, ['"<u8" is not supported'])
    zeros = arrays(numpy.savez_compressed, x=numpy.zeros(1 << 20))
    refused("bomb.npz", zeros, None, ["inflate"])
    write_safetensors("checkpoints/expected.safetensors", expected, cases)
    return len(cases)
