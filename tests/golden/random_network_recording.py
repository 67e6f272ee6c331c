"""random_networks.safetensors: random networks from a fixed seed; `random_networks/recording.py` describes the file."""

from random_networks.recording import FILE, Recording

NETWORKS, BYTES = 80, 12_000


def write():
    recording, number = Recording(), 0
    while len(recording.cases) < NETWORKS:
        recording.add(0, number, most=BYTES)
        number += 1
    recording.write(FILE)
    return len(recording.cases)
