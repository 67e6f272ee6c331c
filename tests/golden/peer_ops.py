"""The cases of `op_db`, PyTorch's database of operations, for the operations that the tests cover; used by `peer_databases.py`."""

import collections
import pathlib
import random
import re
import zlib

import numpy
import torch
from torch.nn import LinearCrossEntropyOptions
from torch.testing._internal.common_methods_invocations import op_db

from common import DTYPES, NAMES, write_safetensors
from common import random as random_tensor

# Where the tests list their operations: `("name another_name", |call| …)`.
TABLES = pathlib.Path(__file__).resolve().parent.parent / "tests" / "tensors" / "peer_databases" / "tables"
# How many cases of an operation the sample has at most in each dtype, and the most bytes of one (of the
# smallest, where all have more).
SAMPLE = {"f32": 3, "f64": 1, "i64": 1, "i32": 1, "u8": 1, "bool": 1}
CASE_BYTES, LEAST_BYTES, FILE_BYTES = 1_000, 30_000, 40_000_000
# Inputs of which second derivatives are recorded have at most so many elements.
SECOND_ELEMENTS = 16
# How many cases that PyTorch refuses the sample has of an operation.
REFUSALS = 2


class LeftOut(Exception):
    """Why a case is not recorded."""


def names():
    """The operations that the tests have, by their names in the database."""
    found = set()
    for path in sorted(TABLES.glob("*.rs")):
        for names in re.findall(r'^    \(\s*"([\w.\- ]+)",\s*\|', path.read_text(), re.MULTILINE):
            found.update(names.split())
    return found


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def seeded(*parts):
    """Seed every generator that PyTorch's samples draw from, by what is drawn."""
    seed = zlib.crc32(" ".join(parts).encode())
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


def tensors_of(output):
    """The tensors of an output, in order; numbers and booleans are tensors without dimensions."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, (bool, int, float)):
        return [torch.tensor(output)]
    if isinstance(output, (list, tuple)):
        return [tensor for part in output for tensor in tensors_of(part)]
    raise LeftOut(f"it returns a {type(output).__name__}")


def chunks(options):
    """The options of the linear cross-entropy that ours has; the others say how it is computed."""
    return {"batch_chunk_size": options.batch_chunk_size, "chunking_method": options.chunking_method}


class Arguments:
    """The arguments of a call: as PyTorch gets them, with leaves of their own, and as JSON with the tensors by number.

    `tuples` says whether tuples are told from lists, which mean another index.
    """

    def __init__(self, sample, tuples=False):
        self.tensors, self.tuples = [], tuples
        pairs = [self.made(value) for value in (sample.input, *sample.args)]
        named = {name: self.made(value) for name, value in sample.kwargs.items() if not without_effect(name, value)}
        self.positional, self.named = [pair[0] for pair in pairs], {name: pair[0] for name, pair in named.items()}
        self.described = {"args": [pair[1] for pair in pairs], "named": {name: pair[1] for name, pair in named.items()}}

    def made(self, value):
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)):
            pairs = [self.made(part) for part in value]
            described = [pair[1] for pair in pairs]
            if self.tuples and isinstance(value, tuple):
                described = {"tuple": described}
            return type(value)(pair[0] for pair in pairs) if type(value) in (list, tuple) else value, described
        if isinstance(value, torch.dtype):
            if value not in NAMES:
                raise LeftOut(f"an argument is {value}")
            return value, {"dtype": NAMES[value]}
        if isinstance(value, slice):
            return value, {"slice": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return value, "..."
        if isinstance(value, numpy.generic):
            value = value.item()
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return value, {"float": str(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value, value
        if isinstance(value, LinearCrossEntropyOptions):
            return value, chunks(value)
        raise LeftOut(f"an argument is a {type(value).__name__}")

    def tensor(self, value):
        if value.dtype not in NAMES:
            raise LeftOut(f"a tensor of {value.dtype}")
        if value.layout != torch.strided or value.device.type != "cpu":
            raise LeftOut("a tensor that is sparse or on another device")
        if value.dim() > 64:
            raise LeftOut("a tensor of more than 64 dimensions, of which there are none in ours")
        leaf = value.detach().clone(memory_format=torch.contiguous_format).requires_grad_(value.requires_grad)
        self.tensors.append(leaf)
        return leaf, {"tensor": len(self.tensors) - 1}


def without_effect(name, value):
    """Arguments that say where a result is made or how it lies in memory."""
    if name == "device":
        return str(value) == "cpu"
    return name in ("layout", "requires_grad", "pin_memory", "memory_format", "out") and (value is None or value is False or value is torch.strided)


def run(op, arguments):
    """The operation, of copies, because some change what they are given."""
    def copied(value):
        if isinstance(value, torch.Tensor):
            return value.clone() if value.requires_grad else value.detach().clone()
        return type(value)(copied(part) for part in value) if type(value) in (list, tuple) else value

    positional = [copied(value) for value in arguments.positional]
    # The seed that the database sets itself for most of what is drawn.
    torch.manual_seed(42)
    return tensors_of(op(*positional, **{name: copied(value) for name, value in arguments.named.items()}))


def weights(tensor, seed):
    """A gradient to start from, of no pattern."""
    return random_tensor(tensor.shape, seed, tensor.dtype, -1.0, 1.0)


def record(op, sample, name, dtype, second):
    """One case: its description and its tensors."""
    arguments = Arguments(sample, name == "__getitem__")
    outputs = run(op, arguments)
    tensors, case = {}, {"op": name, "dtype": dtype, **arguments.described}
    case["grad"] = [int(tensor.requires_grad) for tensor in arguments.tensors]
    for i, tensor in enumerate(arguments.tensors):
        tensors[f"in/{i}"] = tensor.detach()
    for i, output in enumerate(outputs):
        if output.dtype not in NAMES:
            raise LeftOut(f"it returns {output.dtype}")
        if output.layout != torch.strided:
            raise LeftOut("it returns a sparse tensor")
        tensors[f"out/{i}"] = output.detach().clone()
    followed = [(i, output) for i, output in enumerate(outputs) if output.requires_grad]
    leaves = [(i, tensor) for i, tensor in enumerate(arguments.tensors) if tensor.requires_grad]
    if not followed or not leaves or not op.supports_autograd:
        return case, tensors
    second = second and op.supports_gradgrad and sum(tensor.numel() for _, tensor in leaves) <= SECOND_ELEMENTS
    starts = [weights(output, 70 + i) for i, output in followed]
    for (i, _), start in zip(followed, starts):
        tensors[f"gout/{i}"] = start
    of, at = [output for _, output in followed], [tensor for _, tensor in leaves]
    gradients = torch.autograd.grad(of, at, starts, create_graph=second, allow_unused=True)
    again = []
    for (i, _), gradient in zip(leaves, gradients):
        if gradient is not None:
            tensors[f"gin/{i}"] = gradient.detach().to_dense().clone() if gradient.layout != torch.strided else gradient.detach().clone()
            if second and gradient.requires_grad:
                again.append((i, gradient, weights(gradient, 90 + i)))
    if again:
        for i, _, start in again:
            tensors[f"start/{i}"] = start
        twice = torch.autograd.grad([g for _, g, _ in again], at, [s for _, _, s in again], allow_unused=True)
        for (i, _), gradient in zip(leaves, twice):
            if gradient is not None:
                tensors[f"twice/{i}"] = gradient.detach().clone()
    return case, tensors


def refusals(op, name):
    """The calls that PyTorch's tests expect to raise."""
    if op.error_inputs_func is None:
        return
    seeded(name, "errors")
    # Some are tensors whose memory nobody wrote: these are then NaN.
    torch.use_deterministic_algorithms(True)
    made = list(op.error_inputs("cpu"))
    torch.use_deterministic_algorithms(False)
    for given in made:
        if given.sample_input.kwargs.get("out") is not None:
            continue
        try:
            arguments = Arguments(given.sample_input, name == "__getitem__")
        except LeftOut:
            continue
        try:
            run(op, arguments)
        except Exception as error:  # Whatever it raises is the record.
            case = {"op": name, "refused": type(error).__name__, **arguments.described}
            case["grad"] = [0] * len(arguments.tensors)
            yield case, {f"in/{i}": tensor.detach() for i, tensor in enumerate(arguments.tensors)}


def size(tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def kind(sample):
    """What makes a sample another kind of call than its neighbors."""
    def of(value):
        if isinstance(value, torch.Tensor):
            return f"tensor {min(value.dim(), 1)} {min(value.numel(), 1)} {value.dtype}"
        if isinstance(value, (list, tuple)):
            return [of(part) for part in value[:1]]
        return type(value).__name__ if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)

    return str(([of(value) for value in (sample.input, *sample.args)], sorted((k, of(v)) for k, v in sample.kwargs.items())))


def chosen(samples, count):
    """The samples of which the file has some: kinds in turn, smaller ones first."""
    by_kind = collections.defaultdict(list)
    for number, sample in enumerate(samples):
        try:
            bytes_ = sum(tensor.numel() for tensor in Arguments(sample).tensors)
        except LeftOut:
            continue
        # Something without elements says little.
        by_kind[kind(sample)].append((bytes_ == 0, bytes_, number, sample))
    turns = [sorted(group, key=lambda entry: entry[:3]) for group in by_kind.values()]
    rows = [group[turn] for turn in range(count) for group in turns if turn < len(group)]
    return [sample for _, _, _, sample in rows]


class Writer:
    def __init__(self):
        self.cases, self.tensors, self.bytes, self.files, self.written = [], {}, 0, 0, 0

    def add(self, case, tensors):
        prefix = len(self.cases)
        self.cases.append(case)
        fresh = {key: tensor.clone(memory_format=torch.contiguous_format) for key, tensor in tensors.items()}
        self.tensors |= {f"{prefix}/{key}": tensor for key, tensor in fresh.items()}
        self.bytes += size(tensors)
        if self.bytes > FILE_BYTES:
            self.write()

    def write(self):
        path = f"peer_ops_{self.files}.safetensors" if self.files or self.bytes > FILE_BYTES else "peer_ops.safetensors"
        write_safetensors(path, self.tensors, self.cases)
        self.written += len(self.cases)
        self.files += 1
        self.cases, self.tensors, self.bytes = [], {}, 0


def write_ops(everything):
    """The files of the database of operations; how many cases they have, and why others are left out."""
    have, left_out, writer = names(), collections.Counter(), Writer()
    for op in op_db:
        name = name_of(op)
        if name not in have:
            left_out["operations that the tests do not have"] += 1
            continue
        have.discard(name)
        for dtype, count in SAMPLE.items():
            if DTYPES[dtype] not in op.dtypes:
                continue
            seeded(name, dtype)
            grad = op.supports_autograd and DTYPES[dtype].is_floating_point
            samples = list(op.sample_inputs("cpu", DTYPES[dtype], requires_grad=grad))
            recorded, least = 0, None
            for sample in samples if everything else chosen(samples, count):
                if not everything and recorded >= count:
                    break
                try:
                    second = dtype == "f64" and (everything or recorded == 0)
                    case, tensors = record(op, sample, name, dtype, second)
                except LeftOut as reason:
                    left_out[f"{name}: {reason}"] += 1
                    continue
                if everything or size(tensors) <= CASE_BYTES:
                    writer.add(case, tensors)
                    recorded += 1
                elif dtype == "f32" and (least is None or size(tensors) < size(least[1])):
                    least = case, tensors
            # Of every operation one case at least, if it is not very large.
            if not recorded and least is not None and size(least[1]) <= LEAST_BYTES:
                writer.add(*least)
        for number, (case, tensors) in enumerate(refusals(op, name)):
            if everything or (number < REFUSALS and size(tensors) <= CASE_BYTES):
                writer.add(case, tensors)
    assert not have, f"not in the database: {sorted(have)}"
    writer.write()
    return writer.written, left_out
