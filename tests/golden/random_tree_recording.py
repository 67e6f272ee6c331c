"""random_trees.safetensors: random trees of modules from a fixed seed; `random_trees/recording.py` describes the file."""

from random_trees.recording import FILE, Recording

TREES = 60


def write():
    recording = Recording()
    for number in range(TREES):
        recording.add(0, number)
    recording.write(FILE)
    return len(recording.cases)
