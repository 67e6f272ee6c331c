"""The steps that a program can have, by groups, and how often each is drawn."""

import torch

from .program import Step

UNARY = ("sin cos tanh sigmoid exp neg abs square expm1 atan erf relu gelu silu softplus elu mish leaky_relu selu hardtanh "
         "softsign logsigmoid hardswish relu6 tanhshrink log1p sqrt rsqrt reciprocal log").split()
FUNCTIONAL = "relu gelu silu softplus elu mish leaky_relu selu hardtanh softsign logsigmoid hardswish relu6 tanhshrink".split()
BINARY = "add add sub mul mul div.no_rounding_mode maximum minimum atan2 hypot pow".split()
NUMBERS = [2.0, 0.5, -1.5, 3.0, 0.75]


def unary(pool):
    op, x = pool.draw.pick(UNARY), pool.any()
    if op == "gelu" and pool.of(x).min() < -5:
        # PyTorch's result is 0, even in double precision, where the exact one is a tiny number with a sign.
        return None
    return Step(f"nn.functional.{op}" if op in FUNCTIONAL else op, [x])


def number(pool):
    op = pool.draw.pick("add sub mul mul div.no_rounding_mode pow __rsub__ clamp_min clamp_max".split())
    return Step(op, [pool.any(), pool.draw.pick([2.0, 3.0]) if op == "pow" else pool.draw.pick(NUMBERS)])


def binary(pool):
    left = pool.any()
    shape = pool.of(left).shape

    def fits(x):
        try:
            torch.broadcast_shapes(x.shape, shape)
        except RuntimeError:
            return False
        return True

    pair = [left, pool.any(fits)]
    return Step(pool.draw.pick(BINARY), [pair[i] for i in pool.draw.order(2)])


def choice(pool):
    """`where`, with a condition computed from the values."""
    left = pool.any()
    right = pool.any(lambda x: x.shape == pool.of(left).shape)
    return Step("where_positive", [left, right])


def dim(pool, ref):
    rank = pool.of(ref).dim()
    chosen = pool.draw.between(0, rank - 1)
    return chosen - rank if pool.draw.chance(0.3) else chosen


def with_dims(pool, least=1):
    return pool.any(lambda x: x.dim() >= least)


def view(pool):
    draw = pool.draw
    op = draw.pick("transpose permute narrow select unsqueeze squeeze expand reshape flatten slice diagonal unfold movedim unflatten".split())
    x = with_dims(pool, 2 if op in ("transpose", "diagonal") else 1)
    if x is None:
        return None
    shape = list(pool.of(x).shape)
    d = dim(pool, x)
    size = shape[d]
    if op == "transpose":
        return Step(op, [x, d, dim(pool, x)])
    if op == "permute":
        return Step(op, [x, draw.order(len(shape))])
    if op == "narrow":
        start = draw.between(0, size - 1)
        return Step(op, [x, d, start, draw.between(1, size - start)])
    if op == "select":
        return Step(op, [x, d, draw.between(-size, size - 1)])
    if op in ("unsqueeze", "squeeze"):
        return Step(op, [x, d])
    if op == "expand":
        return Step(op, [x, [draw.between(1, 3), *(draw.between(2, 4) if n == 1 else n for n in shape)][draw.between(0, 1):]])
    if op == "reshape":
        return Step(op, [x, draw.pick([[-1], [-1, shape[-1]], [shape[0], -1], list(reversed(shape)), [*shape, 1]])])
    if op == "flatten":
        start = draw.between(0, len(shape) - 1)
        return Step(op, [x, start, draw.between(start, len(shape) - 1)])
    if op == "slice":
        start = draw.between(0, size - 1)
        return Step(op, [x, d % len(shape), start, draw.between(start + 1, size), draw.between(1, 3)])
    if op == "diagonal":
        return Step(op, [x, draw.between(-1, 1), 0, 1])
    if op == "unfold":
        length = draw.between(1, size)
        return Step(op, [x, d, length, draw.between(1, 3)])
    if op == "movedim":
        return Step(op, [x, d, dim(pool, x)])
    parts = [k for k in (2, 3, 4, 5) if size % k == 0]
    return Step(op, [x, d, [draw.pick(parts), -1]]) if parts else None


def pieces(pool):
    draw = pool.draw
    op = draw.pick("split chunk unbind split_with_sizes".split())
    x = with_dims(pool)
    if x is None:
        return None
    d = dim(pool, x)
    size = pool.of(x).shape[d]
    if op == "unbind":
        return Step(op, [x, d])
    if op == "split_with_sizes":
        first = draw.between(0, size)
        return Step(op, [x, [first, size - first], d])
    return Step(op, [x, draw.between(1, max(1, size)), d])


def join(pool):
    op, x = pool.draw.pick(["cat", "stack"]), with_dims(pool)
    if x is None:
        return None
    d = pool.draw.between(0, pool.of(x).dim() - 1)

    def fits(y):
        sizes = [list(pool.of(x).shape), list(y.shape)]
        if op == "cat" and len(sizes[0]) == len(sizes[1]):
            sizes = [s[:d] + s[d + 1:] for s in sizes]
        return sizes[0] == sizes[1]

    return Step(op, [[x, *(pool.any(fits) for _ in range(pool.draw.between(0, 2)))], d])


def moved(pool):
    """Elements in another order, some of them several times or not at all."""
    draw = pool.draw
    op = draw.pick("flip roll tril triu repeat index_select index_select gather diff nn.functional.pad.constant sort".split())
    x = with_dims(pool, 2 if op in ("tril", "triu") else 1)
    if x is None:
        return None
    shape = list(pool.of(x).shape)
    d = draw.between(0, len(shape) - 1)
    if op == "flip":
        return Step(op, [x, draw.some(len(shape))])
    if op == "roll":
        return Step(op, [x, draw.between(-3, 5), d])
    if op in ("tril", "triu"):
        return Step(op, [x, draw.between(-1, 1)])
    if op == "repeat":
        return Step(op, [x, [draw.between(1, 2) for _ in shape]])
    if op == "diff":
        return Step(op, [x, 1, d])
    if op == "sort":
        return Step("sorted_values", [x, d])
    if op == "nn.functional.pad.constant":
        return Step(op, [x, [draw.between(0, 2), draw.between(-1, 2)], "constant", draw.pick([0.0, 0.5])])
    if op == "index_select":
        return Step("index_select_list", [x, d, [draw.between(0, shape[d] - 1) for _ in range(draw.between(1, 5))]])
    return Step("gather_reversed", [x, d])


def reduction(pool):
    draw = pool.draw
    op = draw.pick("sum sum mean mean amax amin logsumexp var std linalg.vector_norm prod".split())
    x = with_dims(pool)
    if x is None:
        return None
    named = {"dim": dim(pool, x) if op == "prod" else draw.some(pool.of(x).dim())}
    if draw.chance(0.5):
        named["keepdim"] = True
    if op in ("var", "std"):
        named["correction"] = draw.between(0, 1)
    if op == "linalg.vector_norm":
        named["ord"] = draw.pick([1.0, 2.0, 3.0])
    return Step(op, [x], named)


def rowwise(pool):
    draw = pool.draw
    op = draw.pick("softmax log_softmax cumsum nn.functional.layer_norm nn.functional.rms_norm nn.functional.normalize cumprod nn.functional.glu".split())
    x = with_dims(pool)
    if x is None:
        return None
    d = dim(pool, x)
    if op in ("nn.functional.layer_norm", "nn.functional.rms_norm"):
        shape = list(pool.of(x).shape)
        weight = pool.any(lambda y: list(y.shape) == shape[-1:])
        return Step(op, [x, shape[-1:], *([weight] if weight and draw.chance(0.7) else [])])
    return Step(op, [x, 2.0, d] if op == "nn.functional.normalize" else [x, d])


def product(pool):
    draw = pool.draw
    op = draw.pick("matmul matmul matmul nn.functional.linear addmm nn.functional.scaled_dot_product_attention".split())
    x = with_dims(pool, 2)
    if x is None:
        return None
    shape = pool.of(x).shape
    if op == "nn.functional.linear":
        y = pool.any(lambda y: y.dim() == 2 and y.shape[1] == shape[-1])
        if y is None:
            return None
        bias = pool.any(lambda b: list(b.shape) == [pool.of(y).shape[0]])
        return Step(op, [x, y, *([bias] if bias else [])])
    if op == "addmm":
        y = pool.any(lambda y: y.dim() == 2 and y.shape[0] == shape[-1])
        start = y and pool.any(lambda a: a.dim() <= 2 and a.numel() in (1, pool.of(y).shape[1], shape[0] * pool.of(y).shape[1]))
        return Step(op, [start, x, y], {"beta": draw.pick([1.0, 0.5]), "alpha": draw.pick([1.0, 2.0])}) if start else None
    if op == "nn.functional.scaled_dot_product_attention":
        key = pool.any(lambda k: k.dim() == len(shape) >= 3 and k.shape[:-2] == shape[:-2] and k.shape[-1] == shape[-1])
        value = key and pool.any(lambda v: v.dim() == len(shape) and v.shape[:-1] == pool.of(key).shape[:-1])
        if not value or float(pool.of(x).abs().max() * pool.of(key).abs().max()) > 20:
            # The weights of large scores are exponentials of differences of large numbers.
            return None
        causal = draw.chance(0.3) and pool.of(key).shape[-2] == shape[-2]
        return Step(op, [x, key, value], {"is_causal": True} if causal else {})
    y = pool.any(lambda y: y.dim() >= 1 and y.shape[max(0, y.dim() - 2)] == shape[-1])
    return Step(op, [x, y]) if y else None


def window(pool):
    """Images are values of three dimensions, without a batch, and values of four."""
    draw = pool.draw
    op = draw.pick("max_pool1d avg_pool1d max_pool2d avg_pool2d conv1d conv2d conv_transpose1d".split())
    rank = 3 if "1d" in op else 4
    x = pool.any(lambda x: x.dim() == rank)
    if x is None:
        return None
    shape = pool.of(x).shape
    if "conv" in op:
        inputs = 0 if "transpose" in op else 1
        y = pool.any(lambda w: w.dim() == rank and w.shape[inputs] == shape[1])
        named = {"stride": draw.between(1, 2), "padding": draw.between(0, 1)}
        return Step(f"nn.functional.{op}", [x, y], named) if y else None
    return Step(f"nn.functional.{op}", [x, draw.between(1, 3)], {"stride": draw.between(1, 2)})


def rest(pool):
    op = pool.draw.pick(["detach", "there_and_back"])
    return Step(op, [pool.any()])


GROUPS = [(8, unary), (3, number), (6, binary), (2, choice), (6, view), (3, pieces), (3, join), (3, moved), (4, reduction),
          (3, rowwise), (5, product), (3, window), (1, rest)]


def step(pool):
    """A step, or nothing if the one drawn does not fit."""
    groups = [group for often, group in GROUPS for _ in range(often)]
    made = pool.draw.pick(groups)(pool)
    if made is None or any(part is None for part in made.args):
        return None
    return made
