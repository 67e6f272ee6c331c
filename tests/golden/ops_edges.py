"""ops_edges.safetensors: NaN and infinities, empty tensors and tensors without dimensions, for operations first recorded without them.

`op_cases.py` describes the recordings.
"""

import torch
from torch.nn import functional as F

from common import integers, random
from op_cases import INF, NAN, each, write_files

WILD = torch.tensor([NAN, INF, -INF, -0.0])
BOTH = ("special", "empty")
ALL = ("special", "empty", "scalar")


def edges(name, f, shape, args=None, which=ALL, more=(), tag="", low=-2.0, grad=True):
    """The operation of a first input with wild numbers in it, of one without elements (the first size is 0), and of a
    number without dimensions. `more` are the inputs after the first, or a function of the first that gives them."""
    x = random(shape, 201, low=low)
    wild = x.clone()
    wild.view(-1)[: len(WILD)] = WILD[: wild.numel()]
    none = x[:0] if shape else None
    for variant, first in (("special", wild), ("empty", none), ("scalar", torch.tensor(1.5))):
        if variant in which:
            each(name, f"{tag}edge_{variant}", f, [first, *(more(first) if callable(more) else more)], args=args, both=variant == "special", grad=grad)


def parts_of_dimensions():
    shape = [2, 3, 4]
    edges("narrow", lambda t: t.narrow(1, 0, 2), shape, {"dim": 1, "start": 0, "length": 2}, BOTH)
    edges("slice", lambda t: t[:, 0::2], shape, {"dim": 1, "start": 0, "end": None, "step": 2}, BOTH)
    edges("select", lambda t: t.select(1, 0), shape, {"dim": 1, "index": 0}, BOTH)
    edges("unbind", lambda t: t.unbind(1)[0], shape, {"dim": 1, "part": 0, "count": 3}, BOTH)
    edges("diagonal", lambda t: t.diagonal(0, 1, 2), shape, {"offset": 0, "dim1": 1, "dim2": 2}, BOTH)
    edges("unfold", lambda t: t.unfold(2, 2, 1), shape, {"dim": 2, "size": 2, "step": 1}, BOTH)
    edges("unfold", lambda t: t.unfold(0, 1, 1), [], {"dim": 0, "size": 1, "step": 1}, ("scalar",))
    edges("split", lambda t: t.split(2, 2)[0], shape, {"size": 2, "dim": 2, "part": 0}, ("special",))
    edges("chunk", lambda t: t.chunk(2, 2)[0], shape, {"chunks": 2, "dim": 2, "part": 0, "count": 2}, ("special",))
    edges("split_with_sizes", lambda t: t.split_with_sizes([3, 1], 2)[0], shape, {"sizes": [3, 1], "dim": 2, "part": 0}, BOTH)
    args = {"items": [{"slice": [None, None, None]}, 0]}
    edges("index", lambda t: t[:, 0], shape, args, BOTH)
    edges("index", lambda t: t[None], [], {"items": [None]}, ("scalar",))


def views():
    shape = [2, 3, 4]
    edges("reshape", lambda t: t.reshape(-1), shape, {"shape": [-1]}, ("special",))
    edges("view", lambda t: t.view(-1), shape, {"shape": [-1]}, ("special",))
    edges("flatten", lambda t: t.flatten(0, -1), shape, {"start_dim": 0, "end_dim": -1})
    edges("unflatten", lambda t: t.unflatten(2, (2, 2)), shape, {"dim": 2, "sizes": [2, 2]}, BOTH)
    edges("unsqueeze", lambda t: t.unsqueeze(0), shape, {"dim": 0})
    cut = lambda t: t.narrow(1, 0, 1).squeeze(1)
    edges("squeeze", cut, shape, {"dim": 1, "narrow_first": [1, 0, 1]}, BOTH)
    edges("squeeze", lambda t: t.squeeze(0), [], {"dim": 0, "narrow_first": None}, ("scalar",))
    edges("expand", lambda t: t.expand(2, 2, 3, 4), shape, {"shape": [2, 2, 3, 4]}, ("special",))
    edges("expand", lambda t: t.expand(2, 0, 3, 4), shape, {"shape": [2, 0, 3, 4]}, ("empty",))
    edges("permute", lambda t: t.permute(2, 0, 1), shape, {"dims": [2, 0, 1]}, BOTH)
    edges("permute", lambda t: t.permute(()), [], {"dims": []}, ("scalar",))
    edges("transpose", lambda t: t.transpose(0, 2), shape, {"dims": [0, 2]}, BOTH)
    edges("transpose", lambda t: t.transpose(0, -1), [], {"dims": [0, -1]}, ("scalar",))
    edges("movedim", lambda t: t.movedim(0, 2), shape, {"source": [0], "destination": [2]}, BOTH)
    edges("movedim", lambda t: t.movedim(0, 0), [], {"source": [0], "destination": [0]}, ("scalar",))
    edges("t", torch.t, [3, 2], which=("special",))


def copies():
    shape = [2, 3, 4]
    for name, f in (("cat", torch.cat), ("stack", torch.stack)):
        g = lambda *parts: f(parts, dim=1)
        edges(name, g, shape, {"dim": 1}, BOTH, lambda x: [x + 1])
    edges("stack", lambda *parts: torch.stack(parts, 0), [], {"dim": 0}, ("scalar",), lambda x: [x + 1])
    edges("repeat", lambda t: t.repeat(2, 1, 2), shape, {"repeats": [2, 1, 2]}, BOTH)
    edges("repeat", lambda t: t.repeat(3), [], {"repeats": [3]}, ("scalar",))
    edges("repeat_interleave", lambda t: t.repeat_interleave(2, 1), shape, {"repeats": 2, "dim": 1}, BOTH)
    edges("diff", lambda t: t.diff(dim=2), shape, {"n": 1, "dim": 2}, BOTH)
    # PyTorch's gradient of nothing has another shape.
    edges("pixel_shuffle", lambda t: F.pixel_shuffle(t, 2), [2, 4, 2, 2], {"factor": 2}, ("empty",), grad=False)
    edges("pixel_unshuffle", lambda t: F.pixel_unshuffle(t, 2), [2, 2, 4, 2], {"factor": 2}, ("special",))
    edges("channel_shuffle", lambda t: F.channel_shuffle(t, 2), [2, 4, 3], {"factor": 2}, ("special",))
    for dims, size in ((1, [8]), (2, [4, 4]), (3, [2, 2, 4])):
        places = torch.arange(8).reshape(1, 1, 8) if dims == 1 else torch.arange(16).reshape(1, 1, *size)
        torch.use_deterministic_algorithms(False)
        f = lambda x, i: getattr(F, f"max_unpool{dims}d")(x, i, 1, output_size=size)
        edges(f"max_unpool{dims}d", f, [1, 1, *size], {"output_size": size}, ("special",), [places])
        torch.use_deterministic_algorithms(True)


def by_index():
    index = torch.tensor([[2, 0, 1, 0], [1, 1, 0, 2]])
    none = index[:0]
    shape, args = [3, 4], {"dim": 0}
    for name, f in (("gather", torch.gather), ("scatter_add", torch.scatter_add)):
        more = [] if name == "gather" else [random([2, 4], 202)]
        edges(name, lambda t, i, *s: f(t, 0, i, *s), shape, args, ("special",), [index, *more])
        edges(name, lambda t, i, *s: f(t, 0, i, *s), shape, args, ("empty",), [none, *(part[:0] for part in more)])
        number = [torch.tensor(0), *(part[0, 0] for part in more)]
        edges(name, lambda t, i, *s: f(t, 0, i, *s), [], args, ("scalar",), number)
    unique, source = torch.tensor([[2, 0, 1, 0], [1, 1, 0, 2]]), random([2, 4], 202)
    f = lambda t, i, s: t.scatter(0, i, s)
    edges("scatter", f, shape, args, ("special",), [unique, source])
    edges("scatter", f, shape, args, ("empty",), [none, source[:0]])
    edges("scatter", f, [], args, ("scalar",), [torch.tensor(0), source[0, 0]])
    f = lambda t, i: t.take_along_dim(i, 0)
    edges("take_along_dim", f, shape, args, ("special",), [index])
    edges("take_along_dim", f, shape, args, ("empty",), [none])
    f = lambda t, i: t.index_select(0, i)
    edges("index_select", f, shape, args, ("special",), [torch.tensor([0, 0, 2])])
    edges("index_select", f, shape, args, ("empty",), [none[:, 0]])
    edges("index_select", f, [], args, ("scalar",), [torch.tensor([0])])
    # What has no dimensions, beside vectors.
    for tag, x, i in (("number", torch.tensor(1.5), torch.tensor([0, 0])), ("index", random([3], 208), torch.tensor(2))):
        each("gather", f"edge_{tag}", lambda t, i: t.gather(0, i), [x, i], args={"dim": 0})
        more = random(i.shape, 209)
        each("scatter_add", f"edge_{tag}", lambda t, i, s: t.scatter_add(0, i, s), [x, i, more], args={"dim": 0})
    each("scatter", "edge_index", lambda t, i, s: t.scatter(0, i, s), [random([3], 208), torch.tensor(2), torch.tensor(0.5)], args={"dim": 0})
    each("index_select", "edge_index", lambda t, i: t.index_select(0, i), [random([3, 2], 208), torch.tensor(2)], args={"dim": 0})
    each("index_select", "edge_both", lambda t, i: t.index_select(0, i), [torch.tensor(1.5), torch.tensor(0)], args={"dim": 0})
    f = lambda t, i, s: t.index_add(0, i, s)
    edges("index_add", f, [], args, ("scalar",), [torch.tensor([0]), torch.tensor(2.5)])
    f = lambda t, i: F.embedding(i, t)
    edges("embedding", f, shape, {"padding_idx": None}, ("special",), [torch.tensor([0, 0, 2])])
    edges("embedding", f, shape, {"padding_idx": None}, ("empty",), [none[:, 0]])
    mask = integers([3, 4], 203, 0, 2).bool()
    edges("masked_fill", lambda t, m: t.masked_fill(m, 1.5), shape, {"value": 1.5}, ("empty",), [mask[:0]])
    edges("nonzero", lambda t: t.gt(0).nonzero(), shape, {}, ("special",))


def orders_and_folds():
    shape = [3, 4]
    args = {"dim": 1, "keepdim": False}
    for name, f in (("argmax", torch.argmax), ("argmin", torch.argmin)):
        edges(name, lambda t: f(t, 1), shape, {"dim": 1}, ("empty",))
    f = lambda t: t.topk(2, 1)
    args = {"k": 2, "dim": 1, "largest": True}
    each("topk", "rows", f, [random(shape, 210)], args=args, both=True)
    edges("topk", f, shape, args, ("empty",))
    args = {"dim": 1, "keepdim": False}
    for name, f in (("any", torch.any), ("all", torch.all)):
        edges(name, lambda t: f(t, 1), shape, {"dim": 1}, ("special",))
    edges("kthvalue", lambda t: t.kthvalue(2, 1), shape, args | {"k": 2}, ("empty",))
    edges("kthvalue", lambda t: t.kthvalue(1, 0), [], {"k": 1, "dim": 0, "keepdim": False}, ("scalar",))
    edges("median", lambda t: t.median(1), shape, args, ("empty",))
    for name, f in (("tril", torch.tril), ("triu", torch.triu)):
        edges(name, f, [2, 3, 4], {"diagonal": 0}, BOTH, tag="batch_")
    for name in ("isclose",):
        args = {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}
        edges(name, lambda a, b: torch.isclose(a, b, **args), shape, args, ("empty", "scalar"), lambda x: [x])


def products():
    edges("einsum", lambda a, b: torch.einsum("ij,jk->ik", a, b), [3, 4], {"equation": "ij,jk->ik"}, ("special",), [random([4, 2], 204)])
    f = lambda a, b: torch.einsum(",->", a, b)
    edges("einsum", f, [], {"equation": ",->"}, ("scalar",), [torch.tensor(-0.5)])
    for dims, size in ((1, [5]), (2, [5, 4]), (3, [4, 3, 3])):
        plain = {"stride": [1] * dims, "padding": [0] * dims, "dilation": [1] * dims, "groups": 1}
        convolve, back = getattr(F, f"conv{dims}d"), getattr(F, f"conv_transpose{dims}d")
        weight = random([2, 2] + [2] * dims, 205)
        which = ("special", "empty") if dims == 2 else ("special",)
        edges(f"conv{dims}d", lambda x, w: convolve(x, w, None, **plain), [2, 2, *size], plain, which, [weight])
        args = plain | {"output_padding": [0] * dims}
        edges(f"conv_transpose{dims}d", lambda x, w: back(x, w, None, **args), [2, 2, *size], args, ("special",), [weight])
    columns = {"kernel_size": [2, 2], "dilation": [1, 1], "padding": [0, 0], "stride": [1, 1]}
    folded = columns | {"output_size": [3, 3]}
    edges("col2im", lambda t: F.fold(t, **folded), [2, 8, 4], folded, BOTH)


def pools():
    for dims, size in ((1, [6]), (2, [4, 6]), (3, [4, 2, 4])):
        shape = [2, 2, *size]
        norm, mean = getattr(F, f"lp_pool{dims}d"), getattr(F, f"adaptive_avg_pool{dims}d")
        args = {"norm_type": 2.0, "kernel_size": [2] * dims, "stride": [2] * dims, "ceil_mode": False}
        edges(f"lp_pool{dims}d", lambda t: norm(t, 2.0, 2, 2), shape, args, BOTH, low=0.5)
        edges(f"adaptive_avg_pool{dims}d", lambda t: mean(t, 2), shape, {"output_size": [2] * dims}, ("special",))


def normalizations():
    x, weight, bias = [3, 4, 2], random([4], 206), random([4], 207)
    parts = {"parts": ["weight", "bias"], "eps": 1e-5}
    f = lambda t, w, b: F.group_norm(t, 2, w, b)
    edges("group_norm", f, x, parts | {"num_groups": 2}, ("special",), [weight, bias])
    f = lambda t, w, b: F.instance_norm(t, weight=w, bias=b)
    edges("instance_norm", f, x, parts, ("special",), [weight, bias])
    f = lambda t, w, b: F.batch_norm(t, None, None, w, b, training=True)
    edges("batch_norm", f, x, parts, ("special",), [weight, bias])
    f = lambda t, w: F.rms_norm(t, [4], w, 1e-5)
    edges("rms_norm", f, [3, 4], {"parts": ["weight"], "eps": 1e-5, "normalized_shape": [4]}, ("special",), [weight])

    def f(t):
        dims = [2]
        wide = t.detach().double()
        return F.instance_norm(t), wide.mean(dims).to(t.dtype), wide.var(dims, correction=0).to(t.dtype)

    edges("instance_norm_train", f, [2, 3, 4], {}, ("empty",))


def losses():
    targets = torch.tensor([0, 3, 1])
    args = {"reduction": "none"}
    edges("nll_loss", lambda t, y: F.nll_loss(t, y, **args), [3, 4], args, ("special",), [targets])


FILES = {
    "ops_edges.safetensors": (parts_of_dimensions, views, copies, by_index, orders_and_folds, products, pools, normalizations, losses),
}


def write():
    return write_files(FILES)
