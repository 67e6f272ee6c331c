"""Write the random numbers of PyTorch's CPU generator, for the tests of `module-tensor/src/rng`.

Run it with a Python that has torch 2.15 or later, on x86-64 Linux with AVX2:

    python tests/golden/generate_rng.py

A line is one draw: its name and arguments, a colon, the checksum of all values, the checksum of the
generator's state after the draw, and the words of the first and last values. `seed` and `restore`
start a new stream; the draws below them continue it.
"""

import pathlib

import torch

OUT = pathlib.Path(__file__).parents[2] / "module-tensor/src/rng/testdata"

FLOATS = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}
INTEGERS = {"i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool}
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
SEEDS = (0, 1, 2**31 + 7, -5)
SIZES = (1, 2, 5, 15, 16, 17, 31, 32, 100, 4099)

lines = []


def fnv(data: bytes) -> str:
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def record(call: str, values: torch.Tensor) -> None:
    size = values.element_size()
    data = bytes(values.view(WORDS[size]).contiguous().view(torch.uint8).tolist())
    words = [data[i : i + size][::-1].hex() for i in range(0, len(data), size)]
    shown = words if len(words) <= 2 else [words[0], words[-1]]
    state = fnv(bytes(torch.get_rng_state().tolist()))
    lines.append(" ".join([call, ":", fnv(data), state, *shown]))


def seed(value: int) -> None:
    torch.manual_seed(value)
    lines.append(f"seed {value % 2**64}")


def uniform(dtype, n, low, high):
    record(f"uniform {dtype} {n} {low} {high}", torch.empty(n, dtype=FLOATS[dtype]).uniform_(low, high))


def normal(dtype, n, mean, std):
    record(f"normal {dtype} {n} {mean} {std}", torch.empty(n, dtype=FLOATS[dtype]).normal_(mean, std))


def exponential(dtype, n, rate):
    record(f"exponential {dtype} {n} {rate}", torch.empty(n, dtype=FLOATS[dtype]).exponential_(rate))


def trunc_normal(dtype, n, mean, std, low, high):
    values = torch.nn.init.trunc_normal_(torch.empty(n, dtype=FLOATS[dtype]), mean, std, low, high)
    record(f"trunc_normal {dtype} {n} {mean} {std} {low} {high}", values)


def bernoulli(dtype, n, p):
    record(f"bernoulli {dtype} {n} {p}", torch.empty(n, dtype=FLOATS[dtype]).bernoulli_(p))


def mask(n, p):
    record(f"mask bool {n} {p}", torch.empty(n, dtype=torch.bool).bernoulli_(p))


def probabilities(dtype, n):
    p = (torch.arange(n, dtype=torch.float64) / n).to(FLOATS[dtype])
    record(f"probabilities {dtype} {n}", torch.bernoulli(p))


def dropout(dtype, n, p):
    values = torch.nn.functional.dropout(torch.ones(n, dtype=FLOATS[dtype]), p, training=True)
    record(f"dropout {dtype} {n} {p}", values)


def randint(dtype, n, low, high):
    record(f"randint {dtype} {n} {low} {high}", torch.randint(low, high, (n,), dtype=INTEGERS[dtype]))


def random(dtype, n):
    record(f"random {dtype} {n}", torch.empty(n, dtype=INTEGERS[dtype]).random_())


def randperm(n):
    record(f"randperm i64 {n}", torch.randperm(n))


def main() -> None:
    torch.set_num_threads(1)

    for s in SEEDS:
        for n in SIZES:
            for dtype in FLOATS:
                seed(s)
                uniform(dtype, n, 0.0, 1.0)
                uniform(dtype, n, -(7**-0.5), 7**-0.5)
                normal(dtype, n, 0.0, 1.0)
                normal(dtype, n, 0.1, 0.37)
                bernoulli(dtype, n, 0.3)
                if s in (0, -5):
                    uniform(dtype, n, 0.1, 3.3)
                    normal(dtype, n, 0.0, 0.02)
                    exponential(dtype, n, 2.5)
                    probabilities(dtype, n)
                    dropout(dtype, n, 0.3)
            seed(s)
            randperm(n)
            randint("i64", n, 3, 13)
            randint("i64", n, -(2**40), 2**41)

    # One stream: the spare of an odd small draw is used by the next small draw, of whatever type.
    for dtype in FLOATS:
        seed(0)
        for n in (3, 1, 20, 2, 5):
            normal(dtype, n, 0.0, 1.0)
    seed(3)
    for n, dtype in ((3, "f64"), (1, "f32"), (17, "f16"), (1, "bf16"), (33, "f64"), (2, "f16")):
        normal(dtype, n, -1.5, 2.0)
        uniform(dtype, n, -2.0, -1.0)

    seed(11)
    for low, high in ((0, 1), (0, 2**28 - 1), (0, 2**28), (-5, 2**28 - 5), (0, 2**32), (-(2**63), 2**63 - 1)):
        randint("i64", 40, low, high)
    for low, high in ((-7, 8), (-(2**31), 2**31), (0, 2**28 - 1), (0, 2**28)):
        randint("i32", 40, low, high)
    randint("u8", 40, 0, 256)
    randint("bool", 40, 0, 2)
    for dtype in INTEGERS:
        random(dtype, 40)
    for n in (0, 10, 700, 20000):
        randperm(n)

    for dtype in FLOATS:
        seed(5)
        trunc_normal(dtype, 2000, 0.0, 0.02, -2.0, 2.0)
        trunc_normal(dtype, 2000, 0.0, 1.0, -2.0, 2.0)
        trunc_normal(dtype, 7, 0.5, 1.0, -1.0, 1.0)
        trunc_normal(dtype, 2000, 0.0, 1.0, 2.0, 3.0)
        trunc_normal(dtype, 500, 1.0, 3.0, -0.5, 0.25)
        # Just below and just above the share of 0.3 at which the method changes.
        trunc_normal(dtype, 500, 0.0, 1.0, -0.5, 0.25)
        trunc_normal(dtype, 500, 0.0, 1.0, -0.5, 0.3)
        trunc_normal(dtype, 500, 0.0, 1.0, 0.0, float("inf"))
        trunc_normal(dtype, 0, 0.0, 1.0, -2.0, 2.0)
        for p in (0.0, 0.1, 0.5, 0.9, 1.0):
            dropout(dtype, 300, p)
            bernoulli(dtype, 300, p)
        mask(300, 0.3)
        mask(0, 0.3)

    # A long stream, many blocks of the engine.
    seed(9)
    for dtype in FLOATS:
        uniform(dtype, 50001, -0.1, 0.1)
        normal(dtype, 50001, 0.0, 1.0)
    exponential("f64", 50001, 1.0)
    # Enough for a last digit of the polynomials to show.
    normal("f32", 1_000_000, 0.0, 1.0)

    # The state in the middle of a block, with a spare normal.
    torch.manual_seed(2**40 + 3)
    torch.randn(3)
    torch.rand(700)
    (OUT / "state.bin").write_bytes(bytes(torch.get_rng_state().tolist()))
    lines.append("restore")
    normal("f32", 1, 0.0, 1.0)
    uniform("f32", 1000, 0.0, 1.0)
    normal("f32", 5, 0.0, 1.0)
    # The state before the first word of a seed, and behind the last word of a block.
    seed(2**64 - 1)
    uniform("f32", 624, 0.0, 1.0)
    uniform("f32", 1, 0.0, 1.0)

    (OUT / "draws.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
