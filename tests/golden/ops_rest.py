"""ops_rest.safetensors (linear maps, statistics, fractional pooling, CTC loss, recurrent layers) and ops_views.safetensors (simple views, masks, extremes over dimensions).

`op_cases.py` describes the recordings.
"""

import torch
from torch.nn import functional as F

from common import DTYPES, integers, random
from op_cases import INF, NAN, case, each, write_files
from ops_more import stretched
from ops_reductions import ROWS

CUBE = {"contiguous": "contiguous", "transposed": "transposed:0,2", "narrowed": "narrowed:1", "strided": "strided:2"}
HALVES = ("f16", "bf16")


def affine():
    x, weight, bias = random([2, 3, 4], 101), random([5, 4], 102), random([5], 103)
    for variant, layout in CUBE.items():
        each("linear", variant, F.linear, [x, weight, bias], [layout, "contiguous", "contiguous"], both=variant == "contiguous")
        each("linear", f"{variant}_no_bias", F.linear, [x, weight], [layout, "contiguous"])
    each("linear", "expanded", F.linear, [x[:1].expand(x.shape), weight, bias[:1].expand(5)], ["expanded:0", "contiguous", "expanded:0"])
    each("linear", "weight_transposed", F.linear, [x, weight, bias], ["contiguous", "transposed:0,1", "strided:0"])
    each("linear", "weight_narrowed", F.linear, [x, weight, bias], ["contiguous", "narrowed:1", "narrowed:0"])
    each("linear", "vector", F.linear, [x[0, 0], weight, bias], both=True)
    each("linear", "matrix", F.linear, [x[0], weight, bias])
    each("linear", "empty", F.linear, [x[:0], weight, bias])
    each("linear", "nothing_in", F.linear, [x[..., :0], weight[:, :0], bias])
    each("linear", "nothing_out", F.linear, [x, weight[:0], bias[:0]])
    each("linear", "special", F.linear, [torch.tensor([[NAN, 1.0], [INF, 1.0], [1.0, -INF]]), torch.tensor([[1.0, 2.0], [-0.5, 1.0]])])
    for half in HALVES:
        case("linear", "half", F.linear, [x, weight, bias], dtype=half)


def extremes():
    x, ties = random([2, 3, 4], 104), integers([2, 3, 4], 105, -1, 2).float()
    for name, f in (("amax", torch.amax), ("amin", torch.amin)):
        for tag, dim, keep in (("one", [1], False), ("last", [-1], True), ("two", [0, 2], False), ("all", [0, 1, 2], False)):
            args = {"dim": dim, "keepdim": keep}
            g = lambda t: f(t, dim, keep)
            for variant, layout in CUBE.items():
                each(name, f"{tag}_{variant}", g, [x], [layout], args=args, both=variant == "contiguous")
            each(name, f"{tag}_expanded", g, [x[:1].expand(x.shape)], ["expanded:0"], args=args)
            each(name, f"{tag}_ties", g, [ties], args=args)
        args = {"dim": [1], "keepdim": False}
        each(name, "special", lambda t: f(t, 1), [ROWS], args=args, both=True)
        each(name, "empty_kept", lambda t: f(t, 1), [random([0, 3], 1)], args=args)
        each(name, "scalar", lambda t: f(t, []), [torch.tensor(1.5)], args={"dim": [], "keepdim": False})
        for half in HALVES:
            case(name, "half", lambda t: f(t, 1), [ties], args=args, dtype=half)
        for kind in ("i64", "i32", "u8"):
            case(name, kind, lambda t: f(t, 1), [integers([2, 3], 106, 0, 4).to(DTYPES[kind])], args=args, dtype=None)


def views():
    x = random([2, 3, 4], 107)

    def everywhere(name, tag, f, args, layouts=CUBE):
        for variant, layout in layouts.items():
            each(name, f"{tag}{variant}", f, [x], [layout], args=args, both=variant == "contiguous")
        each(name, f"{tag}expanded", f, [x[:1].expand(x.shape)], ["expanded:0"], args=args)
        for half in HALVES:
            case(name, f"{tag}half", f, [x], args=args, dtype=half)
        case(name, f"{tag}i64", f, [integers([2, 3, 4], 1, -4, 5)], args=args, dtype=None)

    everywhere("contiguous", "", torch.Tensor.contiguous, {})
    each("contiguous", "empty", torch.Tensor.contiguous, [x[:0]])
    each("contiguous", "scalar", torch.Tensor.contiguous, [torch.tensor(NAN)])
    # The strides of the others do not let them be seen so.
    everywhere("view", "last_", lambda t: t.view(2, 3, 2, 2), {"shape": [2, 3, 2, 2]})
    everywhere("view", "flat_", lambda t: t.view(2, -1), {"shape": [2, -1]}, {"contiguous": "contiguous"})
    each("view", "scalar", lambda t: t.view(1, 1), [torch.tensor(1.5)], args={"shape": [1, 1]})
    each("view", "empty", lambda t: t.view(4, 0, 3), [x[:0]], args={"shape": [4, 0, 3]})
    for tag, shape in (("row", [4]), ("column", [3, 1]), ("same", [2, 3, 4]), ("one", [1, 1, 1]), ("none", [])):
        everywhere("sum_to", f"{tag}_", lambda t: t.sum_to_size(shape), {"shape": shape})
    each("sum_to", "special", lambda t: t.sum_to_size([3]), [torch.tensor([[NAN, INF, 1.0], [1.0, -INF, 2.0]])], args={"shape": [3]})
    each("sum_to", "empty", lambda t: t.sum_to_size([1, 3]), [random([0, 3], 1)], args={"shape": [1, 3]})
    each("sum_to", "scalar", lambda t: t.sum_to_size([]), [torch.tensor(1.5)], args={"shape": []})
    for variant, layout in {"contiguous": "contiguous", "transposed": "transposed:0,1", "narrowed": "narrowed:1", "strided": "strided:0", "expanded": "expanded:0"}.items():
        each("t", variant, torch.t, [stretched(x[0], layout)], [layout], both=variant == "contiguous")
    each("t", "vector", torch.t, [x[0, 0]])
    each("t", "scalar", torch.t, [torch.tensor(1.5)])
    each("t", "empty", torch.t, [x[0, :0]])
    case("t", "bool", torch.t, [x[0] > 0], dtype=None)


def masks():
    x, mask = random([2, 3, 4], 108), integers([2, 3, 4], 109, 0, 2).bool()
    for variant, layout in CUBE.items():
        each("masked_select", f"both_{variant}", torch.masked_select, [x, mask], [layout, layout], both=variant == "contiguous")
        each("masked_select", f"mask_{variant}", torch.masked_select, [x, mask], ["contiguous", layout])
    each("masked_select", "both_expanded", torch.masked_select, [x[:1].expand(x.shape), mask[:1].expand(x.shape)], ["expanded:0", "expanded:0"])
    each("masked_select", "row", torch.masked_select, [x, mask[0, 0]])
    each("masked_select", "column", torch.masked_select, [x[:, :1], mask])
    each("masked_select", "scalar", torch.masked_select, [torch.tensor(1.5), torch.tensor(True)])
    each("masked_select", "nothing", torch.masked_select, [x, torch.zeros_like(mask)])
    each("masked_select", "empty", torch.masked_select, [x[:0], mask[:0]])
    each("masked_select", "special", torch.masked_select, [torch.tensor([NAN, INF, -INF, -0.0]), torch.tensor([True, False, True, True])])
    for half in HALVES:
        case("masked_select", "half", torch.masked_select, [x, mask], dtype=half)
    for kind in ("i64", "u8", "bool"):
        case("masked_select", f"{kind}_all", torch.masked_select, [integers([2, 3, 4], 1, 0, 4).to(DTYPES[kind]), mask], dtype=None)


def statistics():
    """Outputs, means and biased variances, as training keeps them."""
    def f(x, weight=None, bias=None):
        dims = list(range(2, x.dim()))
        wide = x.detach().double()
        to = torch.float64 if x.dtype == torch.float64 else torch.float32
        return F.instance_norm(x, weight=weight, bias=bias), wide.mean(dims).to(to), wide.var(dims, correction=0).to(to)

    x, weight, bias = random([3, 4, 5], 110), random([4], 111), random([4], 112)
    for variant, layout in CUBE.items():
        each("instance_norm_train", variant, f, [x, weight, bias], [layout, "contiguous", "contiguous"], both=variant == "contiguous")
    each("instance_norm_train", "plain", f, [x], both=True)
    each("instance_norm_train", "image", f, [random([2, 3, 4, 2], 113)])
    each("instance_norm_train", "expanded", f, [x[:1].expand(x.shape), weight], ["expanded:0", "strided:0"])
    each("instance_norm_train", "special", f, [torch.tensor([[[1.0, NAN, 2.0], [1.0, 2.0, 4.0]]])])
    for half in HALVES:
        case("instance_norm_train", "half", f, [x], dtype=half)


def windows_at_random():
    for dims, size, kernel, output in ((2, [7, 6], [2, 3], [3, 2]), (3, [5, 4, 6], [2, 1, 3], [2, 3, 2])):
        name = f"fractional_max_pool{dims}d"
        pool, args = getattr(F, name), {"kernel_size": kernel, "output_size": output}
        x, samples = random([2, 3, *size], 114), random([2, 3, dims], 115, low=0.0, high=0.99)
        f = lambda t, s: pool(t, kernel, output_size=output, _random_samples=s.detach(), return_indices=True)
        layouts = {"contiguous": "contiguous", "transposed": f"transposed:1,{dims + 1}", "narrowed": "narrowed:2", "strided": "strided:3"}
        for variant, layout in layouts.items():
            each(name, variant, f, [x, samples], [layout, "contiguous"], args=args, both=variant == "contiguous")
        each(name, "expanded", f, [x[:1].expand(x.shape), samples], ["expanded:0", "strided:2"], args=args)
        each(name, "ties", f, [integers([2, 3, *size], 116, -1, 2).float(), samples], args=args)
        each(name, "unbatched", f, [x[0], samples[:1]], args=args)
        each(name, "empty", f, [x[:0], samples[:0]], args=args)
        special = x.clone()
        special.view(-1)[[0, 9, 17, 40]] = torch.tensor([NAN, INF, -INF, NAN])
        each(name, "special", f, [special, samples], args=args)


def alignments():
    """The whole of log_softmax and the loss, of which PyTorch's gradient is that of the loss."""
    targets, joined = torch.tensor([[1, 2, 2], [3, 1, 0]]), torch.tensor([1, 2, 2, 3, 1])
    times, letters = torch.tensor([6, 5]), torch.tensor([3, 2])
    x = random([6, 2, 4], 117)

    def loss(variant, inputs, layouts=None, dtypes=("f32", "f64"), blank=0, reduction="mean", zero_infinity=False):
        args = {"blank": blank, "reduction": reduction, "zero_infinity": zero_infinity}
        f = lambda x, *rest: F.ctc_loss(x.log_softmax(-1), *rest, **args)
        for dtype in dtypes:
            case("ctc_loss", variant, f, inputs, layouts, args=args, dtype=dtype)

    for reduction in ("none", "mean", "sum"):
        loss(reduction, [x, targets, times, letters], reduction=reduction)
        loss(f"{reduction}_joined", [x, joined, times, letters], reduction=reduction)
    for variant, layout in list(CUBE.items())[1:] + [("expanded", "expanded:0")]:
        loss(variant, [stretched(x, layout), targets, times, letters], [layout, "transposed:0,1", "strided:0", "narrowed:0"], ("f32",))
    loss("blank_last", [x, targets - targets.clamp(max=1), times, letters], blank=3)
    loss("no_letters", [x, targets[:, :0], times, letters - letters])
    loss("unbatched", [x[:, 0], targets[0], times[0], letters[0]])
    never = x.clone()
    never[:, :, 0], never[2, 0, 1] = -INF, -INF
    loss("special", [never, torch.tensor([[1, 2, 3], [3, 1, 0]]), torch.tensor([3, 2]), letters], dtypes=("f32",))
    loss("no_path", [x[:2], targets, times.clamp(max=2), letters], zero_infinity=True, reduction="none")


def recurrences():
    """One direction of a layer. The product of the input is the input itself: the weight is the identity."""
    batch, hidden = 3, 2

    def cell(op, gates, inputs, layouts=None, reverse=False, sizes=None, tag="", dtypes=("f32", "f64"), parts=("weight_hh", "bias_hh")):
        args = {"op": op, "reverse": reverse, "batch_sizes": sizes, "parts": list(parts)}

        def f(x, h, *rest):
            c, rest = (rest[0], rest[1:]) if op == "lstm" else (None, rest)
            named = dict(zip(parts, rest))
            identity = torch.eye(gates * hidden, dtype=x.dtype)
            zeros = torch.zeros(gates * hidden, dtype=x.dtype)
            weights = [identity, named["weight_hh"], zeros, named.get("bias_hh", zeros)]
            weights += [named["weight_hr"]] if "weight_hr" in named else []
            run = torch._VF.rnn_tanh if op == "tanh" else torch._VF.rnn_relu if op == "relu" else getattr(torch._VF, op)
            first = [h[None], c[None]] if op == "lstm" else h[None]
            backward = reverse and sizes[0] == sizes[-1]
            if backward:
                steps = [part for part in x.split(sizes)][::-1]
                x = torch.cat(steps)
            if sizes[0] == 0:
                # Nothing can be packed.
                out, *last = run(x.reshape(len(sizes), 0, gates * hidden), first, weights, True, 1, 0.0, False, False, False)
            else:
                out, *last = run(x, torch.tensor(sizes), first, weights, True, 1, 0.0, False, False)
            if backward:
                out = torch.cat(out.split(sizes)[::-1])
            # One tensor, because only the first output gets a gradient.
            return torch.cat([part.reshape(-1) for part in (out, *last)])

        for dtype in dtypes:
            case("recurrent", f"{op}_{tag}", f, inputs, layouts, args=args, dtype=dtype)

    for seed, (op, gates) in enumerate((("tanh", 1), ("relu", 1), ("lstm", 4), ("gru", 3))):
        def given(sizes, width=hidden, seed=seed):
            rows, states = sum(sizes), [random([sizes[0], width], 131 + seed)]
            if op == "lstm":
                states.append(random([sizes[0], hidden], 141 + seed))
            return [random([rows, gates * hidden], 121 + seed), *states, random([gates * hidden, width], 151 + seed), random([gates * hidden], 161 + seed)]

        full, packed = [batch] * 4, [3, 3, 2, 1]
        inputs = given(full)
        count = len(inputs)
        cell(op, gates, inputs, sizes=full, tag="contiguous")
        cell(op, gates, given(packed), sizes=packed, tag="packed")
        cell(op, gates, given([1]), sizes=[1], tag="one", dtypes=("f32",))
        cell(op, gates, given(full), sizes=full, tag="reverse", reverse=True)
        cell(op, gates, given([0, 0]), sizes=[0, 0], tag="empty", dtypes=("f32",))
        cell(op, gates, inputs[:-1], sizes=full, tag="no_bias", parts=("weight_hh",), dtypes=("f32",))
        layouts = {"transposed": "transposed:0,1", "narrowed": "narrowed:0", "strided": "strided:1"}
        for variant, layout in layouts.items():
            cell(op, gates, inputs, [layout] * (count - 1) + ["strided:0"], sizes=full, tag=variant, dtypes=("f32",))
        expanded = [part[:1].expand(part.shape) for part in inputs]
        cell(op, gates, expanded, ["expanded:0"] * count, sizes=full, tag="expanded", dtypes=("f32",))
        # NaN times the zeros of the identity would reach every gate.
        special = [inputs[0].clone(), inputs[1].clone(), *inputs[2:]]
        special[0][4, 0], special[0][8, 0], special[1][0, 0] = 40.0, -40.0, NAN
        cell(op, gates, special, sizes=full, tag="special", dtypes=("f32",))
    width = 1
    x, h, c = random([12, 8], 171), random([3, width], 172), random([3, hidden], 173)
    weights = [random([8, width], 174), random([8], 175), random([width, hidden], 176)]
    for sizes, tag in (([3] * 4, "projected"), ([3, 3, 3, 2, 1], "projected_packed")):
        cell("lstm", 4, [x, h, c, *weights], sizes=sizes, tag=tag, parts=("weight_hh", "bias_hh", "weight_hr"))


FILES = {
    "ops_rest.safetensors": (affine, statistics, windows_at_random, alignments, recurrences),
    "ops_views.safetensors": (views, masks, extremes),
}


def write():
    return write_files(FILES)
