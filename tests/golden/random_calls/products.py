"""Matrix products, linear maps and attention."""

from .call import Call

SIZES = [1, 2, 5, 8, 16, 17, 33, 64, 100]
SMALL = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17]


def matmul(draw):
    dtype, sizes = draw.float(), SMALL if draw.small else SIZES
    m, k, n = (draw.pick(sizes) for _ in range(3))
    kind = draw.between(0, 9)
    if kind == 9:
        bias = [draw.tensor([n], dtype)] if draw.chance(0.7) else []
        return Call("nn.functional.linear", [draw.tensor([m, k], dtype), draw.tensor([n, k], dtype), *bias])
    batch = [draw.pick([1, 2, 3])] if kind < 4 else []
    left, right = batch + [m, k], (batch if draw.chance(0.7) else []) + [k, n]
    if kind == 8:
        left = [k]
    elif kind == 7:
        right = [k]
    return Call("matmul", [draw.tensor(left, dtype), draw.tensor(right, dtype)])


def attention(draw):
    dtype = draw.pick(["f32", "f32", "f32", "f64", "bf16"])
    batch, heads = draw.pick([1, 2, 3]), draw.pick([1, 2, 4])
    queries, keys = draw.pick([1, 3, 16, 33, 65]), draw.pick([2, 5, 16, 64, 70])
    width = draw.pick([1, 4, 16, 32, 64])
    if draw.small:
        batch, heads, queries, keys, width = 1, draw.pick([1, 2]), draw.pick([1, 3, 9]), draw.pick([2, 5, 17]), draw.pick([1, 4, 9])
    q, k = draw.tensor([batch, heads, queries, width], dtype), draw.tensor([batch, heads, keys, width], dtype)
    v = draw.tensor([batch, heads, keys, draw.pick([width, width, 8])], dtype)
    if k.is_expanded or v.is_expanded:
        # Of equal keys or values none is better, so that gradients are only rounding errors.
        return None
    op, kind = "nn.functional.scaled_dot_product_attention", draw.pick(["plain", "causal", "chosen", "added"])
    if kind == "plain":
        return Call(op, [q, k, v], gin="difference")
    if kind == "causal":
        return Call(op, [q, k, v], {"is_causal": True}, gin="difference") if queries <= keys else None
    shape = [draw.pick([1, batch]), draw.pick([1, heads]), draw.pick([1, queries]), keys]
    if kind == "added":
        return Call(op, [q, k, v, draw.tensor(shape, dtype, grad=False)], gin="difference")

    def some(base):
        # Each query has a key: without any, PyTorch's gradient is NaN.
        mask = draw.values(base, "bool") | draw.values(base, "bool")
        return mask | ~mask.any(-1, keepdim=True)

    return Call(op, [q, k, v, draw.tensor(shape, "bool", plain=True, values=some)], gin="difference")
