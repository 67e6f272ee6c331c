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

import activation_checkpoints
import arguments
import autocast
import averaging
import bitsandbytes_files
import checkpoint_objects
import checkpoints
import clip_grads
import creation
import data_loading
import dataset_files
import digits_files
import event_files
import gguf_files
import gradient_hooks
import hook_orders
import image_transforms
import init
import inits
import language_models
import lbfgs
import linalg
import lora
import metrics
import ops
import ops_activations
import ops_counting
import ops_data
import ops_edges
import ops_functions
import ops_grids
import ops_indexing
import ops_more
import ops_normalization
import ops_products
import ops_rest
import ops_running
import ops_shuffle
import ops_windows
import optimizer_runs
import optimizers
import peft_digits
import peft_files
import printing
import quantize
import resnet
import rnn_sequences
import schedules
import sentence_embeddings
import stored_dtypes
import strict
import summaries
import suppressed_texts
import timm_inits
import torch_optimizers
import training_curves
import training_runs
import trees
from common import DATA


EVERY = [arguments, init, inits, lbfgs, ops, optimizer_runs, optimizers, schedules, trees, strict, hook_orders, gradient_hooks, clip_grads, digits_files, ops_data, creation, printing, ops_normalization, ops_windows, ops_more, checkpoints, checkpoint_objects, rnn_sequences, ops_shuffle, ops_activations, ops_rest, ops_edges, ops_functions, ops_products, ops_grids, ops_indexing, ops_counting, ops_running, linalg, summaries, resnet, timm_inits, stored_dtypes, training_runs, data_loading, metrics, event_files, training_curves, torch_optimizers, activation_checkpoints, averaging, autocast, dataset_files, image_transforms, gguf_files, bitsandbytes_files, quantize, lora, peft_digits, peft_files, language_models, suppressed_texts, sentence_embeddings]

# By `peer_databases.py`.
OF_PEERS = ["layers_module_db.safetensors", "peer_ops.safetensors"]

# Each family of layers is a module of its own, found by its name; so is each published model.
FAMILIES = sorted(path.stem for pattern in ("layers_*.py", "models_*.py") for path in pathlib.Path(__file__).parent.glob(pattern))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # The edge cases on purpose provoke warnings (a variance of one value, even kernels with 'same').
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        modules = [importlib.import_module(name) for name in sys.argv[1:]]
    else:
        DATA.mkdir(exist_ok=True)
        for path in DATA.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in OF_PEERS:
                path.unlink()
        modules = EVERY + [importlib.import_module(name) for name in FAMILIES]
    for module in modules:
        print(f"{module.__name__:20} {module.write()} cases")
    total = sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file())
    print(f"{total} bytes")


if __name__ == "__main__":
    main()
