"""Records single tensor operations: the names of the parts of a case, and the list of cases.

Tensors are called `op.<name>.<variant>.<dtype>.<part>` with the parts in0, in1, … (inputs), out
(also out1, the indices of max and min over a dimension), gout (the gradient given to out) and gin0,
gin1, … (the gradients of the floating inputs). The metadata lists the cases in order.
"""

from common import DTYPES, lay_out, leaf, random, write_safetensors

CASES, TENSORS = [], {}
NAN, INF = float("nan"), float("inf")


def case(name, variant, function, inputs, layouts=None, args=None, dtype="f32", grad=True):
    """Record one operation; floating inputs are cast to `dtype` and given the layouts."""
    kind = DTYPES[dtype] if dtype else None
    layouts = layouts or ["contiguous"] * len(inputs)
    leaves = []
    for values, layout in zip(inputs, layouts):
        if kind is not None and values.is_floating_point():
            values = values.to(kind)
        leaves.append(leaf(values, layout) if grad else lay_out(values, layout))
    key = ".".join(part for part in ("op", name, variant, dtype or "") if part)
    assert f"{key}.in0" not in TENSORS, key
    result = function(*leaves)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    parts = {f"in{i}": x.detach() for i, x in enumerate(leaves)}
    for i, output in enumerate(outputs):
        parts["out" if i == 0 else f"out{i}"] = output.detach()
    if outputs[0].requires_grad:
        parts["gout"] = random(outputs[0].shape, 7, outputs[0].dtype)
        outputs[0].backward(parts["gout"])
        for i, x in enumerate(leaves):
            if x.grad is not None:
                parts[f"gin{i}"] = x.grad
    TENSORS.update({f"{key}.{part}": tensor for part, tensor in parts.items()})
    CASES.append({"key": key, "op": name, "args": args or {}, "layouts": layouts, "parts": list(parts)})


def dtypes(variant):
    """Both precisions where the values matter, f32 where only the layout does."""
    return ("f32", "f64") if variant in ("contiguous", "special") else ("f32",)


def each(name, variant, *args, both=False, **kwargs):
    """The case in every precision that its variant asks for."""
    for dtype in ("f32", "f64") if both else dtypes(variant):
        case(name, variant, *args, dtype=dtype, **kwargs)


def write_files(files):
    """Write each file with the cases of its groups; how many there are."""
    count = 0
    for path, groups in files.items():
        CASES.clear()
        TENSORS.clear()
        for group in groups:
            group()
        write_safetensors(path, TENSORS, CASES)
        count += len(CASES)
    return count
