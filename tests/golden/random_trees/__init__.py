"""Random trees of modules, listed, changed and loaded by PyTorch and here: `python -m random_trees` (`README.md` of the parent
folder describes it).

A tree has modules with members of any kind in any order, containers, layers, modules at several paths, and tied parameters and
buffers (`draw.py`). `tests/tests/modules/random_trees.rs` runs the file (`recording.py`).
"""
