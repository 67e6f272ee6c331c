"""Write every golden file. Running it twice gives the same bytes.

    python generate.py                  everything
    python generate.py layers_linear    the files of the named modules
"""

import importlib
import pathlib
import shutil
import sys
import warnings

import torch

from common import DATA


FOLDER = pathlib.Path(__file__).parent

# The scripts that write files. Each needs only some of the libraries, so that none is imported before it is named.
EVERY = sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef write():" in path.read_text())

# By `peer_databases.py`.
OF_PEERS = ["layers_module_db.safetensors", "peer_ops.safetensors"]


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # The edge cases on purpose provoke warnings (a variance of one value, even kernels with 'same').
    warnings.simplefilter("ignore")
    # All are imported before the first file is removed.
    modules = [importlib.import_module(name) for name in sys.argv[1:] or EVERY]
    if len(sys.argv) == 1:
        DATA.mkdir(exist_ok=True)
        for path in DATA.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in OF_PEERS:
                path.unlink()
    for module in modules:
        print(f"{module.__name__:20} {module.write()} cases")
    total = sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file())
    print(f"{total} bytes")


if __name__ == "__main__":
    main()
