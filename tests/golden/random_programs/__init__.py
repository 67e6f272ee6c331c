"""Random programs, compared with PyTorch: `python -m random_programs` (`README.md` of the parent folder describes it).

A program is a sequence of operations on leaves and on the results of earlier operations (`program.py`, `steps.py`), so that
results are shared, viewed, dropped and differentiated twice in combinations that nobody wrote down. PyTorch computes it in
double precision (`reference.py`), and `tests/tests/tensors/random_programs.rs` runs the file (`recording.py`).
"""
