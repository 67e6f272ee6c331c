"""public_names.json: what PyTorch's modules for tensors and networks export, by module.

A name counts if it is in the module's `__all__`, or if it has no leading underscore and is PyTorch's own: what a module
imports from the standard library, and modules themselves, are left out. `tests/tests/modules/names/rows.tsv` says where
each is found in this library, or why it is absent.
"""

import importlib
import types

from common import DATA, compact, torch_version

MODULES = [
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.rnn",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.utils.data",
]
# Imported there for use in annotations, without a module of their own that would tell.
IMPORTED = {"TYPE_CHECKING", "annotations", "Any", "Callable", "Literal", "Optional", "ParamSpec", "Self", "TypeVar"}


def exported(name, module):
    value = getattr(module, name, None)
    if isinstance(value, types.ModuleType) or name.startswith("_") or name in IMPORTED:
        return False
    if name in getattr(module, "__all__", []):
        return True
    home = getattr(value, "__module__", None) or module.__name__
    return home.startswith("torch")


def names(module):
    every = set(dir(module)) | set(getattr(module, "__all__", []))
    return sorted(name for name in every if exported(name, module))


def write():
    modules = {name: names(importlib.import_module(name)) for name in MODULES}
    lines = ",\n".join(f"{compact(name)}:{compact(listed)}" for name, listed in modules.items())
    text = f'{{"torch":{compact(torch_version())},"modules":{{\n{lines}\n}}}}\n'
    (DATA / "public_names.json").write_text(text)


if __name__ == "__main__":
    write()
