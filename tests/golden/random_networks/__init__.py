"""Random networks, trained for a few steps by PyTorch and here: `python -m random_networks` (`README.md` of the parent folder
describes it).

A network is a `Sequential` of layers and of other `Sequential`s (`layers.py`), with an optimizer, with parameters that are paused
in some steps, clipped gradients, and steps in evaluation mode (`draw.py`). `tests/tests/training/random_networks.rs` runs the file
(`recording.py`).
"""
