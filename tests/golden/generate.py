"""Write every golden file. Running it twice gives the same bytes.

    python generate.py
"""

import shutil
import warnings

import torch

import checkpoints
import creation
import digits_files
import gradient_hooks
import hook_orders
import init
import layers
import ops
import ops_data
import ops_more
import ops_normalisation
import ops_windows
import optimisers
import printing
import strict
import trees
from common import DATA


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # The edge cases on purpose provoke warnings (a variance of one value, even kernels with 'same').
    warnings.simplefilter("ignore")
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    for module in (layers, init, ops, optimisers, trees, strict, hook_orders, gradient_hooks, digits_files, ops_data, creation, printing, ops_normalisation, ops_windows, ops_more, checkpoints):
        print(f"{module.__name__:12} {module.write()} cases")
    total = sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file())
    print(f"{total} bytes")


if __name__ == "__main__":
    main()
