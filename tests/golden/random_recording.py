"""random_calls.safetensors: random calls from fixed seeds, with small tensors; `random_calls/recording.py` describes the file."""

from random_calls.families import FAMILIES
from random_calls.recording import FILE, Recording

# How many calls of a family there are, and the most bytes of one.
CALLS = {"unary": 70, "binary": 70, "number": 25, "cast": 30, "reduce": 70, "rowwise": 50, "index": 70, "matmul": 30,
         "attention": 15, "convolution": 70, "pool": 20, "norm": 30, "recurrent": 12}
BYTES = {"convolution": 10_000, "recurrent": 16_000}
OTHERS = 5_000


def write():
    recording = Recording()
    for seed, family in enumerate(FAMILIES):
        count, number, most = 0, 0, BYTES.get(family, OTHERS)
        while count < CALLS[family]:
            count += recording.add(seed, number, [family], small=True, most=most)
            number += 1
    assert not recording.far, recording.far
    recording.write(FILE)
    return len(recording.cases)
