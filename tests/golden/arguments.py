"""arguments.safetensors: argument forms that PyTorch accepts or refuses, with its results, and how it prints them.

Each case is a name; `tests/tests/tensors/accepted_arguments.rs` has the call in this library under the same name. An accepted case has
inputs, an output and the gradients of its sum weighted by 1, 2, 3, ...; a refused one has PyTorch's message.
"""

import torch
from torch import nn
from torch.nn import functional as F

from common import integers, random, write_safetensors

TENSORS, CASES, PRINTED = {}, [], []
INDICES = {"i64": torch.int64, "i32": torch.int32}
CLASSES = INDICES | {"u8": torch.uint8}


def accept(name, f, *inputs):
    inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    out = f(*inputs)
    for i, x in enumerate(inputs):
        TENSORS[f"{name}.in{i}"] = x
    TENSORS[f"{name}.out"] = out
    if out.requires_grad:
        weights = torch.arange(1, out.numel() + 1, dtype=out.dtype).reshape(out.shape)
        (out * weights).sum().backward()
        for i, x in enumerate(inputs):
            if x.is_floating_point() and x.grad is not None:
                TENSORS[f"{name}.gin{i}"] = x.grad
    CASES.append({"name": name, "inputs": len(inputs), "torch": None})


def refuse(name, f, *inputs):
    """Where PyTorch takes what we refuse, the generator fails: such a case belongs elsewhere."""
    try:
        f(*inputs)
    except (RuntimeError, ValueError, IndexError, NotImplementedError, AssertionError) as error:
        for i, x in enumerate(inputs):
            TENSORS[f"{name}.in{i}"] = x
        message = str(error).splitlines()[0]
        assert "deterministic" not in message, message
        CASES.append({"name": name, "inputs": len(inputs), "torch": message})
        return
    raise AssertionError(f"PyTorch takes {name}")


def indices():
    x, source = random([4, 5], 0, torch.float64), random([3, 5], 1, torch.float64)
    index, rows = integers([3, 5], 2, 0, 4), torch.tensor([3, 0, 3])
    for kind, dtype in INDICES.items():
        accept(f"gather.{kind}", lambda x, i: x.gather(0, i), x, index.to(dtype))
        accept(f"scatter_add.{kind}", lambda x, i, s: x.scatter_add(0, i, s), x, index.to(dtype), source)
        accept(f"index_select.{kind}", lambda x, i: x.index_select(0, i), x, rows.to(dtype))
        accept(f"index_add.{kind}", lambda x, i, s: x.index_add(0, i, s), x, rows.to(dtype), source)
        accept(f"embedding.{kind}", lambda x, i: F.embedding(i, x), x, index.to(dtype))
        accept(f"embedding_bag.{kind}", lambda x, i: F.embedding_bag(i, x), x, index.to(dtype))
    distinct = torch.stack([torch.tensor([3, 1, 0]) for _ in range(5)], 1)
    for kind, dtype in INDICES.items():
        accept(f"scatter.{kind}", lambda x, i, s: x.scatter(0, i, s), x, distinct.to(dtype), source)
    accept("take_along_dim.negative", lambda x, i: torch.take_along_dim(x, i, 0), x, index - 4)
    accept("take_along_dim.mixed", lambda x, i: torch.take_along_dim(x, i, 1), x, torch.tensor([[0, -1], [-5, 4], [2, -2], [-3, 1]]))
    for name, f in {
        "gather": lambda x, i: x.gather(0, i),
        "scatter": lambda x, i: x.scatter(0, i, x),
        "scatter_add": lambda x, i: x.scatter_add(0, i, x),
    }.items():
        refuse(f"{name}.negative", f, x, index - 4)
        for kind, dtype in {"u8": torch.uint8, "bool": torch.bool, "f32": torch.float32}.items():
            refuse(f"{name}.{kind}", f, x, index.to(dtype))
    for name, f in {
        "index_select": lambda x, i: x.index_select(0, i),
        "index_add": lambda x, i: x.index_add(0, i, x[:3]),
        "embedding": lambda x, i: F.embedding(i, x),
    }.items():
        refuse(f"{name}.negative", f, x, rows - 4)
        for kind, dtype in {"u8": torch.uint8, "bool": torch.bool, "f32": torch.float32}.items():
            refuse(f"{name}.{kind}", f, x, rows.to(dtype))


def classes():
    x, target = random([4, 5], 3, torch.float64), torch.tensor([4, 0, 2, 2])
    letters = torch.tensor([[1, 2, 2], [3, 1, 4]])
    log = random([7, 2, 5], 4, torch.float64).log_softmax(-1)
    for kind, dtype in CLASSES.items():
        taken = torch.int64 if kind == "i32" else dtype
        # PyTorch's losses take one of the integers less than its other operations do; the rule here is one.
        accept(f"cross_entropy.{kind}", lambda x, t: F.cross_entropy(x, t.to(taken)), x, target.to(dtype))
        accept(f"nll_loss.{kind}", lambda x, t: F.nll_loss(x, t.to(taken)), x, target.to(dtype))
        accept(f"multi_margin_loss.{kind}", lambda x, t: F.multi_margin_loss(x, t.long()), x, target.to(dtype))
        accept(f"one_hot.{kind}", lambda t: F.one_hot(t.long(), 6), target.to(dtype))
        labels = torch.tensor([[1, 0, 1, 1, 0]] * 4).to(dtype)
        accept(f"multilabel_soft_margin_loss.{kind}", F.multilabel_soft_margin_loss, x, labels)
        lengths = torch.tensor([7, 6]).to(dtype), torch.tensor([3, 2]).to(dtype)
        # Of the log-probabilities: PyTorch's own gradient is that of `log_softmax` and the loss together.
        accept(f"ctc_loss.{kind}", lambda t, m, n: F.ctc_loss(log, t, m, n), letters.to(dtype), *lengths)
    TENSORS["ctc_loss.log"] = log
    for kind, dtype in {"bool": torch.bool, "f32": torch.float32}.items():
        for name, f in {"cross_entropy": F.cross_entropy, "nll_loss": F.nll_loss, "multi_margin_loss": F.multi_margin_loss}.items():
            refuse(f"{name}.{kind}", f, x, target.to(dtype))
        refuse(f"one_hot.{kind}", lambda t: F.one_hot(t, 6), target.to(dtype))
    refuse("multilabel_soft_margin_loss.bool", F.multilabel_soft_margin_loss, x, x > 0)
    refuse("ctc_loss.lengths_f32", lambda t, m: F.ctc_loss(log, t, m, torch.tensor([3, 2])), letters, torch.tensor([7.0, 6.0]))
    probabilities = random([4, 5], 5, torch.float64, 0.0, 1.0)
    accept("cross_entropy.probabilities", lambda x, t: F.cross_entropy(x, t.detach(), ignore_index=-1), x, probabilities)
    refuse("cross_entropy.ignored_probabilities", lambda x, t: F.cross_entropy(x, t, ignore_index=0), x, probabilities)


def samples():
    x, one = random([5], 6, torch.float64), torch.tensor([3])
    for reduction in ("none", "mean"):
        accept(f"cross_entropy.one.{reduction}", lambda x, t: F.cross_entropy(x, t, reduction=reduction), x, one[0])
        accept(f"nll_loss.one.{reduction}", lambda x, t: F.nll_loss(x, t, reduction=reduction), x, one[0])
        for p in (1, 2):
            loss = lambda x, t: F.multi_margin_loss(x, t, p=p, reduction=reduction)
            accept(f"multi_margin_loss.one.{p}.{reduction}", loss, x, one)
            accept(f"multi_margin_loss.scalar.{p}.{reduction}", loss, x, one[0])
            accept(f"multi_margin_loss.row.{p}.{reduction}", loss, x[None], one[0])
            accept(f"multi_margin_loss.class.{p}.{reduction}", loss, x[0], one - 3)
    refuse("multi_margin_loss.rows", F.multi_margin_loss, random([2, 5], 7, torch.float64), one)
    refuse("cross_entropy.two", F.cross_entropy, x, torch.tensor([1, 2]))


def linear():
    x, weight = random([2, 4, 3], 8, torch.float64), random([3], 9, torch.float64)
    bias = random([], 10, torch.float64)
    accept("linear.vector", F.linear, x, weight)
    accept("linear.vector_bias", F.linear, x, weight, bias)
    accept("linear.vector_row", F.linear, x[0, 0], weight)
    accept("linear.vector_row_bias", F.linear, x[0, 0], weight, bias)
    accept("linear.vector_matrix", F.linear, x[0], weight)
    refuse("linear.vector_wrong", F.linear, x, weight[:2])
    refuse("linear.vector_wide_bias", F.linear, x[0], weight, random([3], 11, torch.float64))


def truths():
    x, y = torch.tensor([[True, True, False], [False, True, False]]), torch.tensor([True, False, False])
    for name in ("add", "mul", "maximum", "minimum"):
        accept(f"truths.{name}", getattr(torch, name), x, y)
    accept("truths.add_true", lambda x: x + True, x)
    accept("truths.mul_true", lambda x: x * True, x)
    for name in ("amax", "amin"):
        accept(f"truths.{name}", lambda x: getattr(torch, name)(x, 1), x)
        accept(f"truths.{name}_all", lambda x: getattr(torch, name)(x), x)
    for name in ("max", "min"):
        accept(f"truths.{name}", lambda x: getattr(torch, name)(x, 1).values, x)
        accept(f"truths.{name}_places", lambda x: getattr(torch, name)(x, 1).indices, x)
    refuse("truths.sub", torch.sub, x, y)


def edges():
    x = random([1, 2, 3], 12, torch.float64)
    accept("hardtanh.equal", lambda x: F.hardtanh(x, 0, 0), x)
    refuse("hardtanh.crossed", lambda x: F.hardtanh(x, 1, 0), x)
    for mode, pads in {"constant": ((-3, 2), (-2, -1), (2, -3)), "replicate": ((-3, 1), (-3, 4), (1, -3)), "reflect": ((-3, 1), (1, -3), (-3, 2))}.items():
        for before, after in pads:
            accept(f"pad.{mode}.{before}.{after}", lambda x: F.pad(x, (before, after), mode=mode), x)
    refuse("pad.constant.-2.-2", lambda x: F.pad(x, (-2, -2)), x)
    refuse("pad.replicate.-2.-1", lambda x: F.pad(x, (-2, -1), mode="replicate"), x)
    refuse("pad.reflect.-3.0", lambda x: F.pad(x, (-3, 0), mode="reflect"), x)
    accept("batch_norm.eps_0", lambda x, m, v: F.batch_norm(x, m.detach(), v.detach(), eps=0), x, random([2], 13, torch.float64), random([2], 14, torch.float64, 1.0, 2.0))
    refuse("batch_norm.eps_0_training", lambda x: F.batch_norm(x, None, None, training=True, eps=0), x)
    refuse("batch_norm.eps_negative", lambda x: F.batch_norm(x, torch.zeros(2).double(), torch.ones(2).double(), eps=-1), x)
    for name in ("isclose", "allclose"):
        for tolerance in ("rtol", "atol"):
            for value in (-1e-3, float("nan")):
                refuse(f"{name}.{tolerance}.{value}", lambda x: getattr(torch, name)(x, x, **{tolerance: value}), x)
    for shape in ([2, 4, 0], [0, 4, 0], [2, 0, 3]):
        refuse(f"group_norm.{shape}", lambda x: F.group_norm(x, 2), random(shape, 0))
    accept("group_norm.empty_batch", lambda x: F.group_norm(x, 2), random([0, 4, 3], 0, torch.float64))


def pools():
    forms = {
        "max_pool": lambda dims: (lambda x: getattr(F, f"max_pool{dims}d")(x, 2)),
        "avg_pool": lambda dims: (lambda x: getattr(F, f"avg_pool{dims}d")(x, 2)),
        "lp_pool": lambda dims: (lambda x: getattr(F, f"lp_pool{dims}d")(x, 2, 2)),
        "adaptive_max_pool": lambda dims: (lambda x: getattr(F, f"adaptive_max_pool{dims}d")(x, 2)),
        "adaptive_avg_pool": lambda dims: (lambda x: getattr(F, f"adaptive_avg_pool{dims}d")(x, 2)),
        "fractional_max_pool": lambda dims: (lambda x: getattr(F, f"fractional_max_pool{dims}d")(x, 2, output_size=2)),
        "max_unpool": lambda dims: (lambda x: getattr(F, f"max_unpool{dims}d")(x, torch.zeros(x.shape, dtype=torch.long), 2)),
    }
    for name, form in forms.items():
        for dims in (1, 2, 3):
            if (name, dims) == ("fractional_max_pool", 1):
                continue
            for label, lead in {"no_channels": [0], "no_channels_batched": [2, 0], "no_batch": [0, 2]}.items():
                x = random([*lead, *[4] * dims], 0, torch.float64)
                key = f"{name}{dims}d.{label}"
                try:
                    form(dims)(x)
                except RuntimeError:
                    refuse(key, form(dims), x)
                else:
                    # Some of the gradients are refused where the pass is not.
                    accept(key, lambda x: form(dims)(x.detach()), x)


def printed():
    """Numbers as they were given: every argument that prints, as an integer and as a fraction."""
    sizes = {
        "BatchNorm1d": {"num_features": 3}, "InstanceNorm1d": {"num_features": 3}, "LayerNorm": {"normalized_shape": 3}, "RMSNorm": {"normalized_shape": 3},
        "GroupNorm": {"num_groups": 1, "num_channels": 3}, "LocalResponseNorm": {"size": 2}, "Embedding": {"num_embeddings": 3, "embedding_dim": 2},
        "EmbeddingBag": {"num_embeddings": 3, "embedding_dim": 2}, "LPPool1d": {"kernel_size": 3}, "LPPool2d": {"kernel_size": 3}, "ConstantPad2d": {"padding": 1},
        "LSTM": {"input_size": 2, "hidden_size": 3, "num_layers": 2},
    }
    numbers = {
        "Softplus": ("beta", "threshold"), "ELU": ("alpha",), "CELU": ("alpha",), "LeakyReLU": ("negative_slope",), "Hardshrink": ("lambd",), "Softshrink": ("lambd",),
        "Dropout": ("p",), "Dropout1d": ("p",), "Dropout2d": ("p",), "Dropout3d": ("p",), "AlphaDropout": ("p",), "FeatureAlphaDropout": ("p",), "BatchNorm1d": ("eps", "momentum"),
        "InstanceNorm1d": ("eps", "momentum"), "LayerNorm": ("eps",), "RMSNorm": ("eps",), "GroupNorm": ("eps",), "LocalResponseNorm": ("alpha", "beta", "k"),
        "Embedding": ("max_norm", "norm_type"), "EmbeddingBag": ("max_norm", "norm_type"), "LPPool1d": ("norm_type",), "LPPool2d": ("norm_type",), "ConstantPad2d": ("value",),
        "LSTM": ("dropout",),
    }
    given = [(layer, {name: number}) for layer, names in numbers.items() for name in names for number in (1, 1.0, 0.5)]
    given += [("Hardtanh", {"min_val": low, "max_val": high}) for low, high in ((-1, 2), (-1.0, 2), (0, 6.0))]
    given += [("Threshold", {"threshold": a, "value": b}) for a, b in ((0, 1), (0.0, 20), (0.5, 1.0))]
    given += [("RReLU", {"lower": a, "upper": b}) for a, b in ((0, 1), (0.25, 1), (0, 0.5))]
    for layer, kwargs in [(layer, {}) for layer in numbers if layer not in ("LPPool1d", "LPPool2d", "ConstantPad2d")] + given:
        kwargs = sizes.get(layer, {}) | kwargs
        PRINTED.append({"layer": layer, "kwargs": kwargs, "repr": repr(getattr(nn, layer)(**kwargs))})


def write():
    CASES.clear()
    PRINTED.clear()
    TENSORS.clear()
    # Of max_unpool PyTorch has no deterministic form, which a refusal of its inputs must not be taken for.
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)
    for part in (indices, classes, samples, linear, truths, edges, pools, printed):
        part()
    torch.use_deterministic_algorithms(before)
    write_safetensors("arguments.safetensors", TENSORS, {"cases": CASES, "printed": PRINTED})
    return len(CASES) + len(PRINTED)
