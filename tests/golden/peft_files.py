"""peft/: adapters that PEFT wrote, with the outputs of its models.

`<model>.safetensors` are the values of the models in `peft_models.py`, whose metadata `case` is empty. The folder of
a case has the output of `save_pretrained`: `adapter_config.json` and `adapter_model.safetensors`. `expected.safetensors`
has for each case `<case>.input` and `<case>.output`, its `case` is `{"adapters": {case: {"model", "adapted", "saved"}},
"matches"}`: the paths of the layers that PEFT adapted and of those that it copies. Every trained parameter was
changed from its initial value, so that each of them matters. `matches` are pairs of an `adapter_config.json` and the layers of
the transformer that PEFT adapts with it, or null if it refuses.
"""

import json
import pathlib
import shutil
import tempfile
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora import LoraLayer, ParamWrapper
from peft.utils.other import ModulesToSaveWrapper

from common import DATA, write_safetensors
from peft_models import MODELS

FOLDER = DATA / "peft"

CASES = {
    "plain": ("transformer", dict(r=4, lora_alpha=8, lora_dropout=0.1, target_modules=["q_proj", "v_proj"])),
    "rslora_patterns": (
        "transformer",
        dict(
            r=4,
            use_rslora=True,
            target_modules=["q_proj", "o_proj", "up", "down"],
            rank_pattern={"o_proj": 2, r"layers\.1\.(q_proj|up)": 3},
            alpha_pattern={r"layers\.0\.(up|down)": 5, "layers.1.q_proj": 2},
        ),
    ),
    "dora": ("transformer", dict(r=2, use_dora=True, target_modules=["q_proj", "down", "head"])),
    "embedding": ("transformer", dict(r=3, lora_alpha=6, target_modules=["embed", "v_proj"])),
    "embedding_dora": ("transformer", dict(r=3, use_dora=True, target_modules=["embed"])),
    "lora_only": ("transformer", dict(r=2, bias="lora_only", target_modules=["k_proj", "up"])),
    "bias_all": ("transformer", dict(r=2, bias="all", target_modules=["v_proj"], modules_to_save=["head"])),
    "modules_to_save": (
        "transformer",
        dict(r=2, target_modules=["q_proj", "up"], modules_to_save=["head", "norm", "embed"]),
    ),
    "regex": ("transformer", dict(r=2, target_modules=r"layers\.\d+\.(q|o)_proj", exclude_modules=["1.q_proj"])),
    "all_linear": ("transformer", dict(r=2, target_modules="all-linear", exclude_modules=r"head|.*\.k_proj")),
    "some_layers": (
        "transformer",
        dict(r=2, target_modules=["q_proj", "down"], layers_to_transform=[1], layers_pattern="layers"),
    ),
    "gaussian": ("transformer", dict(r=2, target_modules=["down"], init_lora_weights="gaussian")),
    "pissa": ("transformer", dict(r=2, lora_alpha=3, target_modules=["q_proj", "up"], init_lora_weights="pissa")),
    "pissa_converted": (
        "transformer",
        dict(r=2, lora_alpha=3, target_modules=["q_proj", "up"], init_lora_weights="pissa"),
    ),
    "conv2d": ("images", dict(r=2, lora_alpha=3, target_modules=["stem", "head"])),
    "conv2d_groups": ("images", dict(r=2, target_modules=["deep"])),
    "conv2d_dora": ("images", dict(r=2, use_dora=True, target_modules=["stem"])),
    "conv1d": ("signals", dict(r=2, target_modules=["conv"])),
    "attention": ("signals", dict(r=2, target_modules=["attention"], modules_to_save=["head"])),
    "recurrent": (
        "readings",
        dict(
            r=2,
            target_modules=["head"],
            target_parameters=["lstm.weight_ih_l0", "weight_hh_l1", "lstm.weight_hh_l0", "cell.weight_hh"],
            rank_pattern={"weight_hh_l1": 1},
        ),
    ),
    "recurrent_only": ("readings", dict(r=2, lora_alpha=24, target_parameters=["weight_ih", "weight_ih_l1"])),
}

# Further ways to say which layers of the transformer are meant.
MATCHES = [
    dict(target_modules=["q_proj"]),
    dict(target_modules=["proj"]),
    dict(target_modules=["0.q_proj", "layers.1.up", "head"]),
    dict(target_modules=["q_proj", "nothing"]),
    dict(target_modules=["layers"]),
    dict(target_modules=r".*_proj"),
    dict(target_modules=r".*q_pro"),
    dict(target_modules=r"layers\.0\.up|head"),
    dict(target_modules=r".*\.(q_proj|down)", exclude_modules=["0.q_proj"]),
    dict(target_modules=["q_proj", "down"], exclude_modules=r"layers\.1\..*"),
    dict(target_modules=["q_proj", "down"], exclude_modules=r"layers\.1"),
    dict(target_modules="all-linear"),
    dict(target_modules="All-Linear"),
    dict(target_modules="all-linear", exclude_modules=["head", "up", "1.down"]),
    dict(target_modules="all-linear", modules_to_save=["head"]),
    dict(target_modules=["up", "head"], modules_to_save=["head"]),
    dict(target_modules=["up", "down"], modules_to_save=["0.up"]),
    dict(target_modules=["up", "head"], layers_to_transform=[0]),
    dict(target_modules=["up", "layers.0.down"], layers_to_transform=1, layers_pattern="layers"),
    dict(target_modules=["up"], layers_to_transform=[0, 1], layers_pattern=["blocks", "layers"]),
    dict(target_modules=["up"], layers_to_transform=[0], layers_pattern=["blocks"]),
    dict(target_modules=["up"], layers_to_transform=[7], layers_pattern=["layers"]),
    dict(target_modules=["up"], layers_pattern=["layers"]),
    dict(target_modules=r".*up", layers_to_transform=[0]),
]


def matched(fields):
    """The layers of the transformer that PEFT adapts, or none if it refuses."""
    try:
        model = get_peft_model(base("transformer"), LoraConfig(r=2, **fields))
    except ValueError:
        return None
    modules = model.base_model.model.named_modules()
    return [path for path, m in modules if isinstance(m, LoraLayer)]


def adapted(kind, model):
    """The paths of what PEFT adapted, in the order of the model."""
    paths = set()
    for path, module in model.base_model.model.named_modules():
        if isinstance(module, LoraLayer):
            names = [name for name in path.split(".") if name != "base_layer"]
            weight = [module.parameter_name] if isinstance(module, ParamWrapper) else []
            paths.add(".".join(names + weight))
    ordered = []
    for path, module in base(kind).named_modules():
        ordered += [path] + [f"{path}.{name}" for name, _ in module.named_parameters(recurse=False)]
    return [path for path in ordered if path in paths]


def base(name):
    """The model with the values of its file."""
    torch.manual_seed(20)
    return MODELS[name]().eval()


def move(model, seed):
    """Move all that is trained from where it began."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += 0.2 * torch.randn(parameter.shape, generator=generator)


def save(model, name, config, folder):
    """What `save_pretrained` writes, without the page for people."""
    if name == "pissa_converted":
        # The adapter as it begins is what the conversion subtracts.
        with tempfile.TemporaryDirectory() as start:
            torch.manual_seed(21)
            first = get_peft_model(base("transformer"), LoraConfig(**config))
            first.peft_config["default"].init_lora_weights = True
            first.save_pretrained(start)
            start = pathlib.Path(start)
            model.save_pretrained(folder, path_initial_model_for_weight_conversion=str(start))
    else:
        model.save_pretrained(folder)
    (folder / "README.md").unlink()
    # PEFT writes sets in any order.
    path = folder / "adapter_config.json"
    fields = json.loads(path.read_text())
    for name in ["target_modules", "exclude_modules"]:
        if isinstance(fields[name], list):
            fields[name].sort()
    path.write_text(json.dumps(fields, indent=2, sort_keys=True) + "\n")


def write():
    warnings.simplefilter("ignore")
    shutil.rmtree(FOLDER, ignore_errors=True)
    for name in MODELS:
        write_safetensors(f"peft/{name}.safetensors", base(name).state_dict(), {})
    tensors, cases = {}, {}
    for seed, (name, (kind, config)) in enumerate(CASES.items()):
        torch.manual_seed(21)
        model = get_peft_model(base(kind), LoraConfig(**config))
        move(model, seed)
        model.eval()
        save(model, name, config, FOLDER / name)
        input = MODELS[kind].input(torch.Generator().manual_seed(100 + seed))
        with torch.no_grad():
            output = model(input)
            # What was written is what answers: PEFT itself, from the files.
            again = PeftModel.from_pretrained(base(kind), FOLDER / name).eval()(input)
            far = (again - output).abs().max().item()
            assert far < 1e-5, f"{name}: {far}"
            assert (base(kind)(input) - output).abs().max().item() > 1e-2, name
        tensors[f"{name}.input"], tensors[f"{name}.output"] = input, output
        modules = list(model.base_model.model.named_modules())
        cases[name] = {
            "model": kind,
            "adapted": adapted(kind, model),
            "saved": [path for path, m in modules if isinstance(m, ModulesToSaveWrapper)],
        }
    pairs = [({"peft_type": "LORA", **fields}, matched(fields)) for fields in MATCHES]
    write_safetensors("peft/expected.safetensors", tensors, {"adapters": cases, "matches": pairs})
    return len(CASES) + len(MATCHES)
