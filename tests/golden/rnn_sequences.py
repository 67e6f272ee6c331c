"""rnn_sequences.safetensors: torch.nn.utils.rnn, the packing and padding of sequences."""

import torch
from torch.nn.utils import rnn

from common import DTYPES, lay_out, random, write_safetensors

CASES, TENSORS = [], {}


def record(op, inputs, args, function, layouts=None):
    """What `function` makes of the inputs: tensors, of which the first may have a gradient."""
    key = str(len(CASES))
    layouts = layouts or ["contiguous"] * len(inputs)
    leaves = [lay_out(x, layout).detach() for x, layout in zip(inputs, layouts)]
    if leaves[0].is_floating_point():
        leaves = [x.requires_grad_() for x in leaves]
    outputs = function(*leaves)
    followed = [x for x in outputs if x.requires_grad]
    parts = {f"in{i}": x.detach() for i, x in enumerate(leaves)}
    parts |= {f"out{i}": x.detach() for i, x in enumerate(outputs)}
    grads = [random(x.shape, 70 + i, x.dtype) for i, x in enumerate(followed)]
    if followed:
        torch.autograd.backward(followed, grads)
        parts |= {f"gout{i}": x for i, x in enumerate(grads)}
        parts |= {f"gin{i}": x.grad for i, x in enumerate(leaves)}
    TENSORS.update({f"{key}.{part}": tensor for part, tensor in parts.items()})
    CASES.append({"key": key, "op": op, "args": args, "layouts": layouts, "inputs": len(leaves), "outputs": len(outputs)})


def packed(sequence):
    """Everything that a packed sequence holds."""
    return [x for x in sequence if x is not None]


def with_lengths(pair):
    return [pair[0], pair[1]]


def write():
    sorted_lengths, others = [4, 3, 3, 1], [2, 4, 1, 3]
    for dtype in ("f32", "f64", "f16", "i64"):
        for rest in ([], [2], [2, 3]) if dtype == "f32" else ([2],):
            def numbers(*shape):
                return (random([*shape, *rest], len(CASES), torch.float64) * 8).to(DTYPES[dtype])

            for batch_first in (False, True):
                shape = [4, 5] if batch_first else [5, 4]
                for lengths, enforce_sorted in ((sorted_lengths, True), (others, False), (sorted_lengths, False),
                                                ([5, 5, 5, 5], True)):
                    args = {"lengths": lengths, "batch_first": batch_first, "enforce_sorted": enforce_sorted}
                    for layout in ("contiguous", "transposed:0,1"):
                        record("pack_padded_sequence", [numbers(*shape)], args,
                               lambda x: packed(rnn.pack_padded_sequence(x, **args)), [layout])
                parts = [numbers(length) for length in others]
                for value, total in ((0, None), (-3, None), (2, 6)):
                    args = {"batch_first": batch_first, "padding_value": value, "total_length": total}
                    record("pad_packed_sequence", parts, args, lambda *x: with_lengths(
                        rnn.pad_packed_sequence(rnn.pack_sequence(x, enforce_sorted=False), **args)))
                for value, side in ((0, "right"), (-2, "left"), (5, "right")):
                    args = {"batch_first": batch_first, "padding_value": value, "padding_side": side}
                    record("pad_sequence", [*parts, numbers(0)], args, lambda *x: [rnn.pad_sequence(x, **args)])
                args = {"lengths": [5, 1, 0, 2], "batch_first": batch_first}
                # PyTorch turns its argument in place, which a leaf or a view of one does not allow.
                record("unpad_sequence", [numbers(*shape)], args,
                       lambda x: rnn.unpad_sequence(x.clone(), torch.tensor(args["lengths"]), batch_first))
            for enforce_sorted in (True, False):
                lengths = sorted_lengths if enforce_sorted else others
                record("pack_sequence", [numbers(length) for length in lengths], {"enforce_sorted": enforce_sorted},
                       lambda *x: packed(rnn.pack_sequence(x, enforce_sorted=enforce_sorted)))
                record("unpack_sequence", [numbers(length) for length in lengths], {"enforce_sorted": enforce_sorted},
                       lambda *x: rnn.unpack_sequence(rnn.pack_sequence(x, enforce_sorted=enforce_sorted)))
    record("invert_permutation", [torch.tensor([3, 0, 2, 1])], {}, lambda x: [rnn.invert_permutation(x)])
    write_safetensors("rnn_sequences.safetensors", TENSORS, CASES)
    return len(CASES)
