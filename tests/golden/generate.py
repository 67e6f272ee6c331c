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


# Modules are imported by name, because each needs only some of the libraries.
EVERY = """
    arguments init inits lbfgs ops optimizer_runs optimizers schedules trees strict hook_orders gradient_hooks
    clip_grads digits_files ops_data creation printing public_names ops_normalization ops_windows ops_more checkpoints
    checkpoint_objects rnn_sequences ops_shuffle ops_activations ops_rest ops_edges ops_functions ops_products ops_grids
    ops_indexing ops_counting ops_running linalg summaries resnet timm_inits stored_dtypes training_runs data_loading
    metrics event_files training_curves torch_optimizers activation_checkpoints averaging autocast dataset_files
    image_transforms gguf_files bitsandbytes_files quantize lora peft_digits peft_files language_models suppressed_texts
    sentence_embeddings guide
""".split()

# By `peer_databases.py`.
OF_PEERS = ["layers_module_db.safetensors", "peer_ops.safetensors"]

# Each family of layers is a module of its own, found by its name; so is each published model.
FAMILIES = sorted(path.stem for pattern in ("layers_*.py", "models_*.py") for path in pathlib.Path(__file__).parent.glob(pattern))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    # The edge cases on purpose provoke warnings (a variance of one value, even kernels with 'same').
    warnings.simplefilter("ignore")
    # All are imported before the first file is removed.
    modules = [importlib.import_module(name) for name in sys.argv[1:] or EVERY + FAMILIES]
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
