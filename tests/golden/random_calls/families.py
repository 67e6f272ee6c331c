"""The families of calls, and how often each is drawn."""

from . import elementwise, indexing, layers, products, reductions, windows
from .draw import Draw

FAMILIES = {
    "unary": (5, elementwise.unary),
    "binary": (5, elementwise.binary),
    "number": (2, elementwise.with_number),
    "cast": (2, elementwise.cast),
    "reduce": (5, reductions.reduce),
    "rowwise": (3, reductions.rowwise),
    "index": (5, indexing.index),
    "matmul": (2, products.matmul),
    "attention": (1, products.attention),
    "convolution": (4, windows.convolution),
    "pool": (1, windows.pool),
    "norm": (2, layers.norm),
    "recurrent": (1, layers.recurrent),
    # Only where it is named, so that the calls of a seed stay the same.
    "sample": (0, windows.sample),
}


def call(seed, number, families=None, small=False):
    """One call, with the decisions that led to it; the same for the same arguments."""
    draw = Draw(seed, number, small)
    least = 1 if families else 0
    names = [name for name in families or FAMILIES for _ in range(max(least, FAMILIES[name][0]))]
    family = FAMILIES[draw.pick(names)][1]
    # A draw that is no valid call is repeated.
    while (made := family(draw)) is None:
        pass
    return made, draw
