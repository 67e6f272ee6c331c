"""random_programs.safetensors: random programs from a fixed seed, with small tensors; `random_programs/recording.py` describes the file."""

from random_programs.recording import FILE, Recording

PROGRAMS, BYTES = 250, 8_000


def write():
    recording, number = Recording(), 0
    while len(recording.cases) < PROGRAMS:
        recording.add(0, number, small=True, most=BYTES)
        number += 1
    recording.write(FILE)
    return len(recording.cases)
