"""Views: what a tensor was cut out of, and the steps from there.

A step is `{"permute": dims}`, `{"slice": [dim, start, end, step]}` or `{"expand": shape}`.
"""


def draw(draw, shape):
    """The shape of a base, and the steps that lead from it to `shape`; often there are none."""
    base, steps = list(shape), []
    if not base or draw.chance(0.35):
        return base, steps
    if draw.chance(0.35):
        repeated = [i for i in range(len(base)) if draw.chance(0.4)]
        if repeated:
            steps.insert(0, {"expand": list(base)})
            base = [1 if i in repeated else size for i, size in enumerate(base)]
    if draw.chance(0.5):
        dim, start, step = draw.between(0, len(base) - 1), draw.between(0, 3), draw.pick([1, 1, 2, 3])
        end = start + (base[dim] - 1) * step + 1 if base[dim] else start
        steps.insert(0, {"slice": [dim, start, end, step]})
        base[dim] = end + draw.between(0, 2)
    if draw.chance(0.5):
        order = draw.order(len(base))
        steps.insert(0, {"permute": order})
        base = [base[order.index(i)] for i in range(len(base))]
    return base, steps


def apply(x, steps):
    for step in steps:
        (kind, value), = step.items()
        if kind == "expand":
            x = x.expand(value)
        elif kind == "permute":
            x = x.permute(value)
        else:
            dim, start, end, every = value
            x = x[(slice(None),) * dim + (slice(start, end, every),)]
    return x
