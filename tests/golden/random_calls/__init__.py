"""Random calls of operations, compared with PyTorch: `python -m random_calls` (`README.md` describes it).

A call is drawn (`draw.py`, `views.py`, and a file for each group of operations), computed by PyTorch in its own
precision and in double precision (`reference.py`), and written in the format of PyTorch's database of operations
(`recording.py`), which `tests/tests/tensors/random_calls.rs` runs.
"""
