"""ops_normalization.safetensors: normalizations and softmax; ops_losses.safetensors: attention and classification losses."""

import torch
from torch.nn import functional as F

from common import integers, random, write_safetensors
from op_cases import CASES, INF, NAN, TENSORS, case, each

LAYOUTS = ("contiguous", "transposed:0,1", "narrowed:1", "strided:0", "expanded:0")
HALVES = ("f16", "bf16")


def named(layout):
    return layout.partition(":")[0]


def repeats(x, layout):
    """The values that the layout can hold."""
    return x[:1].expand(x.shape).contiguous() if layout.startswith("expanded") else x


def far(x):
    """Numbers far from zero with little noise. Of these, and where all are equal, PyTorch's f32 shows its own rounding: what is
    right is computed in double precision."""
    return x / 4 + 1e4


def layer_norms():
    def record(variant, x, sizes, layout="contiguous", parts=("weight", "bias"), eps=1e-5, dtype=None, exact=False):
        weights = [random(sizes, 102 + i, low=0.5) for i in range(len(parts))]

        def f(x, *weights):
            named = dict(zip(parts, weights))
            if exact:
                x, named = x.double(), {key: value.double() for key, value in named.items()}
            return F.layer_norm(x, sizes, eps=eps, **named).to(weights[0].dtype if weights else x.dtype)

        args = {"normalized_shape": sizes, "eps": eps, "parts": list(parts)}
        layouts = [layout] + ["contiguous"] * len(parts)
        for kind in [dtype] if dtype else ["f32", "f64"] if variant.startswith("contiguous") else ["f32"]:
            case("layer_norm", variant, f, [x, *weights], layouts, args=args, dtype=kind)

    x = random([4, 3, 5], 101)
    for layout in LAYOUTS:
        record(named(layout), repeats(x, layout), [5], layout)
        record(f"{named(layout)}_two", repeats(x, layout), [3, 5], layout)
    record("contiguous_plain", x, [5], parts=())
    record("weight", x, [5], parts=("weight",))
    record("bias", x, [5], parts=("bias",))
    record("strided_weights", x, [5], eps=0.1)
    for kind in HALVES:
        record("half", x, [5], dtype=kind)
    record("one_element", random([1], 3), [1])
    record("ones", random([3, 1], 3), [1])
    record("whole", random([7], 3), [7])
    record("odd", random([3, 17], 103), [17])
    record("long", random([2, 1030], 104), [1030])
    record("rows", random([67, 3], 105), [3])
    record("constant", torch.full([3, 6], 2.5), [6], exact=True)
    record("constant_far", torch.full([3, 6], 12345.5), [6], exact=True)
    record("far", far(random([3, 40], 106)), [40], exact=True)
    record("empty", random([0, 3], 1), [3])
    record("special", torch.tensor([[NAN, 1.0, 2.0], [INF, 1.0, 0.0], [1.0, 2.0, 4.0]]), [3])


def rms_norms():
    def record(variant, x, sizes, layout="contiguous", weight=True, eps=None, dtype=None):
        weights = [random(sizes, 112, low=0.5)] if weight else []
        args = {"normalized_shape": sizes, "eps": eps, "parts": ["weight"] if weight else []}
        layouts = [layout] + ["contiguous"] * len(weights)
        for kind in [dtype] if dtype else ["f32", "f64"] if variant == "contiguous" else ["f32"]:
            case("rms_norm", variant, lambda x, w=None: F.rms_norm(x, sizes, w, eps), [x, *weights], layouts, args=args, dtype=kind)

    x = random([4, 3, 5], 111)
    for layout in LAYOUTS:
        record(named(layout), repeats(x, layout), [5], layout)
    record("two", x, [3, 5], eps=1e-3)
    record("plain", x, [5], weight=False)
    for kind in HALVES:
        record("half", x, [5], dtype=kind)
        record("half_tiny", x / 1024, [5], dtype=kind)
    record("tiny", x / 2**12, [5])
    record("one_element", random([1], 3), [1])
    record("long", random([2, 131], 114), [131])
    record("zero", torch.zeros([2, 3]), [3])
    record("far", far(x), [5])
    record("empty", random([0, 3], 1), [3])


def channel_norms():
    def record(name, f, variant, x, layout="contiguous", parts=("weight", "bias"), dtype=None, given=False, exact=False, **args):
        channels = x.shape[1:2]
        inputs = [random(channels, 122 + i, low=0.5) for i in range(len(parts))]
        if given:
            inputs += [random(channels, 126), random(channels, 127, low=0.25)]

        def g(x, *rest):
            kind = x.dtype
            if exact:
                x, rest = x.double(), [tensor.double() for tensor in rest]
            weights = dict(zip(parts, rest))
            mean, var = (t.detach() for t in rest[len(parts) :]) if given else (None, None)
            return f(x, mean, var, weights).to(kind)

        args = args | {"parts": list(parts), "given": given}
        layouts = [layout] + ["contiguous"] * len(inputs)
        for kind in [dtype] if dtype else ["f32", "f64"] if variant.startswith("contiguous") else ["f32"]:
            case(name, variant, g, [x, *inputs], layouts, args=args, dtype=kind)

    def group(variant, x, groups=2, eps=1e-5, **kwargs):
        f = lambda x, mean, var, weights: F.group_norm(x, groups, eps=eps, **weights)
        record("group_norm", f, variant, x, num_groups=groups, eps=eps, **kwargs)

    def instance(variant, x, eps=1e-5, given=False, **kwargs):
        f = lambda x, mean, var, weights: F.instance_norm(x, mean, var, use_input_stats=not given, eps=eps, **weights)
        record("instance_norm", f, variant, x, eps=eps, given=given, **kwargs)

    def batch(variant, x, eps=1e-5, given=False, **kwargs):
        f = lambda x, mean, var, weights: F.batch_norm(x, mean, var, training=not given, eps=eps, **weights)
        record("batch_norm", f, variant, x, eps=eps, given=given, **kwargs)

    x, flat, image = random([4, 4, 5], 121), random([4, 4], 128), random([2, 4, 3, 3], 129)
    for layout in LAYOUTS:
        kind = named(layout)
        for op in (group, instance, batch):
            if not (op is batch and kind == "expanded"):
                op(kind, repeats(x, layout), layout=layout)
        group(f"{kind}_flat", repeats(flat, layout), layout=layout)
        if kind != "expanded":
            batch(f"{kind}_flat", flat, layout=layout)
        batch(f"{kind}_given", repeats(x, layout), layout=layout, given=True)
        batch(f"{kind}_flat_given", repeats(flat, layout), layout=layout, given=True)
    instance("contiguous_given", x, given=True)
    for op in (group, instance, batch):
        op("image", image)
        op("channels_last", image.transpose(1, 3).contiguous().transpose(1, 3), layout="transposed:1,3")
        op("plain", x, parts=())
        op("weight", x, parts=("weight",))
        op("bias", x, parts=("bias",), eps=0.1)
        op("long", random([2, 2, 131], 130))
        op("constant", torch.full([2, 2, 6], 2.5), exact=True)
        op("far", far(random([2, 2, 30], 131)), exact=True)
        # With weights PyTorch fails where an instance norm has nothing to do.
        op("empty", random([0, 4, 2], 1), parts=() if op is instance else ("weight", "bias"))
        for kind in HALVES:
            op("half", x, dtype=kind)
    group("whole", x, 1)
    group("each", x, 4)
    group("one_value_each", random([2, 4], 132), 4, exact=True)
    batch("rows", random([131, 3], 133))
    batch("far_flat", far(random([70, 3], 134)), exact=True)
    batch("constant_flat", torch.full([5, 3], 2.5), exact=True)
    batch("two", random([2, 3], 135))
    batch("one_given", random([1, 1], 135), given=True)
    batch("empty_given", random([2, 3, 0], 1), given=True)
    for kind in ("f32", "f64", "f16"):
        for tag, values in (("image", image), ("flat", flat), ("far", far(flat))):
            for name, fold in (("mean", lambda x: x.mean([0, *range(2, x.dim())])), ("var", lambda x: x.var([0, *range(2, x.dim())], correction=0))):
                if kind == "f16" and tag == "far":
                    continue
                to = torch.float64 if kind == "f64" else torch.float32
                case(f"batch_norm_{name}", tag, lambda x: fold(x.double()).to(to), [values], dtype=kind, grad=False)


def attentions():
    def attend(variant, shapes, mask=None, layouts=None, dtype=None, mask_grad=True, **args):
        inputs = [random(shape, 141 + i) for i, shape in enumerate(shapes)]
        if mask is not None:
            inputs.append(mask)

        def f(query, key, value, mask=None):
            torch.manual_seed(5)
            mask = mask if mask is None or mask_grad else mask.detach()
            return F.scaled_dot_product_attention(query, key, value, mask, **args)

        recorded = args | {"mask_grad": mask_grad}
        layouts = layouts or ["contiguous"] * 3
        layouts = layouts + ["contiguous"] * (len(inputs) - 3)
        for kind in [dtype] if dtype else ["f32", "f64"]:
            case("scaled_dot_product_attention", variant, f, inputs, layouts, args=recorded, dtype=kind)

    usual = [[2, 2, 5, 4], [2, 2, 7, 4], [2, 2, 7, 4]]
    attend("contiguous", usual)
    attend("value_width", [[2, 2, 5, 4], [2, 2, 7, 4], [2, 2, 7, 3]])
    attend("transposed", usual, layouts=["transposed:1,2", "transposed:1,2", "transposed:1,2"])
    attend("keys_transposed", usual, layouts=["narrowed:2", "transposed:2,3", "strided:3"], dtype="f32")
    attend("scale", usual, scale=0.3, dtype="f32")
    attend("causal", usual, is_causal=True)
    attend("causal_wide", [[1, 1, 7, 4], [1, 1, 3, 4], [1, 1, 3, 4]], is_causal=True)
    attend("matrices", [[3, 4], [5, 4], [5, 2]])
    attend("three", [[2, 3, 4], [2, 5, 4], [2, 5, 4]])
    attend("odd", [[1, 3, 1, 3], [1, 3, 1, 3], [1, 3, 1, 3]])
    attend("long", [[1, 1, 70, 3], [1, 1, 67, 3], [1, 1, 67, 3]], dtype="f32")
    attend("long_causal", [[1, 1, 70, 3], [1, 1, 67, 3], [1, 1, 67, 3]], is_causal=True, dtype="f32")
    attend("broadcast", [[2, 1, 3, 4], [3, 5, 4], [1, 3, 5, 4]], dtype="f32")
    attend("gqa", [[2, 4, 3, 4], [2, 2, 5, 4], [2, 2, 5, 4]], enable_gqa=True)
    attend("gqa_causal", [[1, 6, 3, 4], [1, 2, 5, 4], [1, 2, 5, 4]], enable_gqa=True, is_causal=True, dtype="f32")
    seen = integers([5, 7], 145, 0, 3) > 0
    seen[1] = False
    attend("bool_mask", usual, seen)
    attend("bool_mask_batch", usual, integers([2, 1, 1, 7], 146, 0, 2) > 0)
    attend("bool_mask_heads", usual, integers([2, 2, 5, 7], 147, 0, 3) > 0, dtype="f32")
    attend("gqa_mask", [[2, 4, 5, 4], [2, 2, 7, 4], [2, 2, 7, 4]], seen, enable_gqa=True, dtype="f32")
    added = random([5, 7], 148)
    attend("float_mask", usual, added)
    attend("float_mask_fixed", usual, added, mask_grad=False)
    hidden = added.masked_fill(~seen, -INF)
    attend("bool_mask_queries", usual, seen[:, 2:3], dtype="f32")
    attend("float_mask_hidden", usual, hidden, mask_grad=False)
    attend("float_mask_batch", usual, random([2, 1, 5, 7], 149), mask_grad=False, dtype="f32")
    for p in (0.3, 0.9):
        attend(f"dropout_{p}", usual, dropout_p=p, dtype="f32")
    attend("dropout_causal", usual, dropout_p=0.5, is_causal=True, dtype="f32")
    attend("dropout_mask", usual, seen, dropout_p=0.5)
    attend("no_keys", [[1, 2, 3, 4], [1, 2, 0, 4], [1, 2, 0, 4]], dtype="f32")
    attend("no_queries", [[1, 2, 0, 4], [1, 2, 3, 4], [1, 2, 3, 4]], dtype="f32")
    for kind in HALVES:
        attend("half", usual, dtype=kind)
        attend("half_mask", usual, seen, dtype=kind)


def losses():
    weight = random([5], 151, low=0.25)
    classes = integers([6], 152, 0, 5)
    some = classes.clone()
    some[[1, 4]] = -100
    volume = integers([2, 3, 3], 153, 0, 5)
    logits, deep = random([6, 5], 154), random([2, 5, 3, 3], 155)

    def entropy(variant, x, target, layout="contiguous", weighted=False, dtype=None, exact=False, reductions=("mean", "sum", "none"), name="cross_entropy", **args):
        for reduction in reductions:
            given = args | {"reduction": reduction}

            def f(x, target, weight=None):
                kind = x.dtype
                if exact:
                    x = x.double()
                weight = weight if weight is None else weight.detach()
                if name == "cross_entropy":
                    return F.cross_entropy(x, target, weight, **given).to(kind)
                # PyTorch's gradient takes contiguous inputs only.
                return F.nll_loss(x.contiguous(), target, weight, **given)

            inputs = [x, target] + ([weight] if weighted else [])
            layouts = [layout] + ["contiguous"] * (len(inputs) - 1)
            for kind in [dtype] if dtype else ["f32", "f64"]:
                case(name, f"{variant}_{reduction}", f, inputs, layouts, args=given, dtype=kind)

    for name in ("cross_entropy", "nll_loss"):
        x, d = (logits, deep) if name == "cross_entropy" else (logits.log_softmax(1), deep.log_softmax(1))
        entropy("classes", x, classes, name=name)
        entropy("ignored", x, some, weighted=True, name=name)
        entropy("deep", d, volume, weighted=True, name=name)
        entropy("ignored_class", d, volume, ignore_index=2, name=name, dtype="f32")
        entropy("vector", x[0], classes[0], name=name, dtype="f32")
        entropy("all_ignored", x, torch.full([6], -100), name=name, dtype="f32")
        entropy("no_rows", x[:0], classes[:0], name=name, dtype="f32")
        for layout in LAYOUTS[1:]:
            entropy(named(layout), repeats(x, layout), some, layout, name=name, dtype="f32")
            entropy(f"{named(layout)}_deep", repeats(d, layout), volume, layout, name=name, dtype="f32", reductions=("none",))
        for kind in HALVES:
            entropy("half", x, some, weighted=True, name=name, dtype=kind, reductions=("mean",))
    for smoothing in (0.1, 1.0):
        entropy(f"smooth_{smoothing}", logits, some, label_smoothing=smoothing)
        entropy(f"smooth_weights_{smoothing}", logits, some, weighted=True, label_smoothing=smoothing)
        entropy(f"smooth_deep_{smoothing}", deep, volume, weighted=True, label_smoothing=smoothing, dtype="f32")
    shares = random([6, 5], 156).softmax(1)
    entropy("probabilities", logits, shares)
    entropy("probabilities_smooth", logits, shares, weighted=True, label_smoothing=0.2)
    entropy("probabilities_deep", deep, random([2, 5, 3, 3], 157).softmax(1), dtype="f32")
    entropy("one_class", random([3, 1], 158), torch.zeros(3, dtype=torch.int64), dtype="f32")
    entropy("many", random([2, 300], 159), integers([2], 160, 0, 300), dtype="f32")
    entropy("wide", random([1, 3, 131], 161), integers([1, 131], 162, 0, 3), dtype="f32", label_smoothing=0.1)
    entropy("far", far(logits), classes, exact=True, dtype="f32", reductions=("none",))
    entropy("hidden", logits.masked_fill(torch.arange(5) == 4, -INF), classes.clamp(max=3), dtype="f32")
    entropy("special", torch.tensor([[NAN, 1.0], [INF, 1.0], [-INF, -INF], [100.0, -100.0]]), torch.tensor([0, 1, 0, 1]), dtype="f32", reductions=("none",))


def softmaxes():
    shapes = {"rows": [3, 37], "long": [1, 1030], "wide": [2, 131], "deep": [2, 5, 9], "one": [1, 1], "column": [37, 1]}
    special = torch.tensor([[NAN, 1.0, 2.0], [INF, 1.0, 2.0], [-INF, -INF, -INF], [-INF, 0.0, 3.0], [500.0, -500.0, 499.0]])
    for name, f in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax), ("logsumexp", torch.logsumexp)):
        for seed, (tag, shape) in enumerate(shapes.items()):
            for dim in range(len(shape)):
                both = ("f32", "f64") if tag in ("deep", "one") else ("f32",)
                for kind in both:
                    case(name, f"{tag}_{dim}", lambda x: f(x, dim=dim), [random(shape, 191 + seed)], args={"dim": dim}, dtype=kind)
        for dim in (0, 1):
            each(name, f"special_{dim}", lambda x: f(x, dim=dim), [special], args={"dim": dim}, both=True)
            for layout in LAYOUTS[1:]:
                x = repeats(random([4, 6, 3], 178), layout)
                case(name, f"{named(layout)}_{dim}", lambda x: f(x, dim=dim), [x], [layout], args={"dim": dim})
            for kind in HALVES:
                case(name, f"half_{dim}", lambda x: f(x, dim=dim), [random([4, 6], 179)], args={"dim": dim}, dtype=kind)
    for dims in ([0, 1], [0, 2], [2, 1], [0, 1, 2]):
        for keep in (False, True):
            args = {"dim": dims, "keepdim": keep}
            tag = "_".join(map(str, dims)) + ("_keep" if keep else "")
            case("logsumexp", f"dims_{tag}", lambda x: torch.logsumexp(x, dims, keep), [random([2, 3, 4], 180)], args=args)
    case("logsumexp", "nothing", lambda x: torch.logsumexp(x, 1), [random([2, 0, 3], 1)], args={"dim": 1})


def record(file, *groups):
    CASES.clear()
    TENSORS.clear()
    for group in groups:
        group()
    write_safetensors(file, TENSORS, CASES)
    return len(CASES)


def write():
    norms = record("ops_normalization.safetensors", layer_norms, rms_norms, channel_norms, softmaxes)
    return norms + record("ops_losses.safetensors", attentions, losses)
