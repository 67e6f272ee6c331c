"""optim/<name>.safetensors: twelve optimizer steps with gradients fixed in advance."""

import torch

from common import DTYPES, random, write_safetensors

STEPS = 12
SHAPES = {"p0": [3, 5], "p1": [4]}

SGD = {
    "sgd": dict(lr=0.1),
    "sgd_momentum": dict(lr=0.1, momentum=0.9),
    "sgd_nesterov": dict(lr=0.1, momentum=0.9, nesterov=True),
    "sgd_dampening": dict(lr=0.1, momentum=0.9, dampening=0.5),
    "sgd_decay": dict(lr=0.1, weight_decay=0.05),
    "sgd_all": dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.05, maximize=True),
    "sgd_maximize": dict(lr=0.1, maximize=True),
    "sgd_maximize_dampening": dict(lr=0.1, momentum=0.7, dampening=0.2, weight_decay=0.1, maximize=True),
}
ADAM = {
    "": dict(),
    "_amsgrad": dict(lr=0.01, amsgrad=True),
    "_decay": dict(lr=0.01, weight_decay=0.3),
    "_no_decay": dict(lr=0.01, weight_decay=0.0),
    "_betas": dict(lr=0.02, betas=[0.5, 0.9], eps=1e-3),
    "_maximize": dict(lr=0.01, maximize=True, weight_decay=0.1),
    "_all": dict(lr=0.02, betas=[0.8, 0.99], eps=1e-6, weight_decay=0.1, amsgrad=True, maximize=True),
}


def optimizer_case(name, optimizer, kwargs, dtype="f32", rates=None, absent=None, shapes=SHAPES):
    """Run the steps. `rates`: a learning rate per step; `absent`: steps in which p1 has no gradient."""
    kind = DTYPES[dtype]
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
    params = {key: random(shape, 200 + i, kind).requires_grad_() for i, (key, shape) in enumerate(shapes.items())}
    tensors = {f"init.{key}": p.detach().clone() for key, p in params.items()}
    for i, (key, shape) in enumerate(shapes.items()):
        tensors[f"grads.{key}"] = random([STEPS] + shape, 210 + i, kind)
    opt = getattr(torch.optim, optimizer)(params.values(), **arguments)
    history = {key: [] for key in params}
    for step in range(STEPS):
        for key, p in params.items():
            skipped = key == "p1" and step in (absent or [])
            p.grad = None if skipped else tensors[f"grads.{key}"][step].clone()
        if rates:
            opt.param_groups[0]["lr"] = rates[step]
        opt.step()
        for key, p in params.items():
            history[key].append(p.detach().clone())
    for key, p in params.items():
        tensors[f"after.{key}"] = torch.stack(history[key])
        for slot, value in opt.state[p].items():
            if value is not None:
                tensors[f"state.{key}.{slot}"] = value
    case = {"optimizer": optimizer, "kwargs": kwargs, "steps": STEPS, "dtype": dtype}
    if rates:
        case["rates"] = rates
    if absent:
        case["absent"] = {"p1": absent}
    write_safetensors(f"optim/{name}.safetensors", tensors, case)


def write():
    count = 0
    for name, kwargs in SGD.items():
        optimizer_case(name, "SGD", kwargs)
        count += 1
    for optimizer in ("AdamW", "Adam"):
        for suffix, kwargs in ADAM.items():
            optimizer_case(optimizer.lower() + suffix, optimizer, kwargs)
            count += 1
    for name, optimizer, kwargs in (
        ("sgd_momentum", "SGD", SGD["sgd_momentum"]),
        ("adamw", "AdamW", {}),
        ("adamw_all", "AdamW", ADAM["_all"]),
        ("adam", "Adam", {}),
    ):
        optimizer_case(f"{name}_f64", optimizer, kwargs, dtype="f64")
        count += 1
    for name, dtype in (("", "f16"), ("_all", "bf16"), ("_amsgrad", "f16"), ("_betas", "bf16")):
        optimizer_case(f"adamw{name}_{dtype}", "AdamW", ADAM[name], dtype=dtype)
        count += 1
    # Only whole vectors of 32: of the elements after them PyTorch's `add_` rounds the product to half precision, too.
    for name, dtype in (("sgd", "f16"), ("sgd_dampening", "bf16"), ("sgd_all", "f16"), ("sgd_maximize_dampening", "bf16")):
        optimizer_case(f"{name}_{dtype}", "SGD", SGD[name], dtype=dtype, shapes={"p0": [2, 32], "p1": [32]})
        count += 1
    rates = [round(0.1 * (STEPS - i) / STEPS, 4) for i in range(STEPS)]
    for name, optimizer in (("sgd_momentum", "SGD"), ("adamw", "AdamW")):
        kwargs = {"lr": 0.1, **({"momentum": 0.9} if optimizer == "SGD" else {})}
        optimizer_case(f"{name}_rates", optimizer, kwargs, rates=rates)
        optimizer_case(f"{name}_absent", optimizer, kwargs, absent=[0, 1, 5, 6, 7])
        count += 2
    return count
