"""torch_optimizers/: optimizers in the middle of a run, as `torch.save` writes them, and the steps that follow.

`runs.safetensors` has the case `{"saved", "steps", "cases": [{"name", "optimizer", "kwargs", "groups", "dtype", "absent"}]}`.
`groups` is null, or for each group the paths and the options that differ. `init.<p>` and `grads.<p>` (f64) are those of all
cases, cast to their dtypes; `<name>/saved.<p>` and `<name>/after.<p>` are the parameters after `saved` and after `steps` steps.
`<name>.pt` is `optimizer.state_dict()` after `saved` steps, and `training.pt` what a script saves: `{"model", "optimizer",
"scheduler", "epoch", "args"}`, of the case `adamw`.
"""

import argparse
import io

import torch

from common import DATA, DTYPES, random, write_safetensors

SAVED, STEPS = 10, 20
SHAPES = {"p0": [3, 5], "p1": [4], "p2": [4, 2], "p3": [2]}
# The parameter p3 never has a gradient, and so no state; p1 has none in these steps.
ABSENT = [2, 13]

CASES = [
    ("sgd", "SGD", dict(lr=0.1), None, "f32"),
    ("sgd_momentum", "SGD", dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01), None, "f32"),
    ("adam", "Adam", dict(lr=0.02, weight_decay=0.1), None, "f32"),
    ("adam_f64", "Adam", dict(lr=0.02), None, "f64"),
    ("adam_amsgrad", "Adam", dict(lr=0.02, amsgrad=True, maximize=True), None, "f32"),
    ("adamw", "AdamW", dict(lr=0.02), None, "f32"),
    ("adamw_f64", "AdamW", dict(lr=0.02, betas=[0.8, 0.95], eps=1e-4), None, "f64"),
    ("adamw_amsgrad_f64", "AdamW", dict(lr=0.02, amsgrad=True), None, "f64"),
    ("adamw_groups", "AdamW", dict(lr=0.02, weight_decay=0.2), [(["p0", "p2"], {}), (["p1", "p3"], dict(lr=0.005, weight_decay=0.0))], "f32"),
    ("nadam", "NAdam", dict(lr=0.02, weight_decay=0.1, decoupled_weight_decay=True), None, "f32"),
    ("nadam_f64", "NAdam", dict(lr=0.02, momentum_decay=0.01), None, "f64"),
    ("radam", "RAdam", dict(lr=0.02, weight_decay=0.1), None, "f32"),
    ("radam_f64", "RAdam", dict(lr=0.02, decoupled_weight_decay=True, weight_decay=0.1), None, "f64"),
    ("adamax", "Adamax", dict(lr=0.02), None, "f32"),
    ("adagrad", "Adagrad", dict(lr=0.1, lr_decay=0.05, initial_accumulator_value=0.5), None, "f32"),
    ("adadelta", "Adadelta", dict(lr=1.0, rho=0.8), None, "f32"),
    ("rmsprop", "RMSprop", dict(lr=0.01), None, "f32"),
    ("rmsprop_centered", "RMSprop", dict(lr=0.01, momentum=0.8, centered=True, weight_decay=0.1), None, "f32"),
    ("rprop", "Rprop", dict(lr=0.01, etas=[0.4, 1.3]), None, "f32"),
    ("asgd", "ASGD", dict(lr=0.05, t0=5, lambd=0.01), None, "f32"),
    ("adafactor", "Adafactor", dict(lr=0.1, weight_decay=0.1), None, "f32"),
    # Matrices only.
    ("muon", "Muon", dict(lr=0.02), [(["p0", "p2"], {})], "f32"),
    ("muon_groups", "Muon", dict(lr=0.02, adjust_lr_fn="match_rms_adamw"), [(["p0"], {}), (["p2"], dict(lr=0.1, momentum=0.5))], "f32"),
]


def build(optimizer, kwargs, groups, params):
    """The optimizer of a case, for parameters by path."""
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
    given = [{"params": [params[path] for path in paths], **options} for paths, options in groups] if groups else params.values()
    return getattr(torch.optim, optimizer)(given, **arguments)


def set_gradients(params, grads, step):
    """The gradients of a step, from those of all steps in f64."""
    for path, p in params.items():
        absent = path == "p3" or (path == "p1" and step in ABSENT)
        p.grad = None if absent else grads[path][step].to(p.dtype).clone()


def saved(value):
    target = io.BytesIO()
    torch.save(value, target)
    return target.getvalue()


def write():
    shared = {}
    for i, (path, shape) in enumerate(SHAPES.items()):
        shared[f"init.{path}"] = random(shape, 500 + i, torch.float64)
        shared[f"grads.{path}"] = random([STEPS] + shape, 510 + i, torch.float64)
    tensors, cases = dict(shared), []
    grads = {path: shared[f"grads.{path}"] for path in SHAPES}
    folder = DATA / "torch_optimizers"
    folder.mkdir(parents=True, exist_ok=True)
    for name, optimizer, kwargs, groups, dtype in CASES:
        paths = [path for paths, _ in groups for path in paths] if groups else list(SHAPES)
        params = {path: shared[f"init.{path}"].to(DTYPES[dtype]).clone().requires_grad_() for path in SHAPES if path in paths}
        opt = build(optimizer, kwargs, groups, params)
        for step in range(STEPS):
            if step == SAVED:
                (folder / f"{name}.pt").write_bytes(saved(opt.state_dict()))
                tensors |= {f"{name}/saved.{path}": p.detach().clone() for path, p in params.items()}
                if name == "adamw":
                    training(folder, params, opt)
            set_gradients(params, grads, step)
            opt.step()
        tensors |= {f"{name}/after.{path}": p.detach().clone() for path, p in params.items()}
        cases.append({"name": name, "optimizer": optimizer, "kwargs": kwargs, "groups": groups, "dtype": dtype, "paths": list(params)})
    write_safetensors("torch_optimizers/runs.safetensors", tensors, {"saved": SAVED, "steps": STEPS, "absent": ABSENT, "cases": cases})
    return len(cases)


def training(folder, params, opt):
    """What a script saves, with a schedule and with an object that is not a state. The rate of the optimizer stays."""
    rate = opt.param_groups[0]["lr"]
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5)
    whole = {
        "model": {path: p.detach() for path, p in params.items()},
        "optimizer": opt.state_dict(),
        "scheduler": scheduler.state_dict(),
        "epoch": 3,
        "args": argparse.Namespace(lr=rate),
    }
    (folder / "training.pt").write_bytes(saved(whole))
    opt.param_groups[0]["lr"] = rate
    del opt.param_groups[0]["initial_lr"]
