"""optimizer_runs.safetensors: a hundred steps of every optimizer with gradients fixed in advance.

`case` is `{"steps", "recorded", "absent", "cases": [{"optimizer", "kwargs", "group", "dtype"}]}`. `group` changes arguments
for the parameter `p1`, which has no gradient in the steps `absent`. `grads.<p>` and `init.<p>` (f64) are those of all
cases, cast to their dtypes; `<n>/after.<p>` is case n after each of the steps `recorded`, `<n>/state.<p>.<name>` its state
at the end.
"""

import torch

from common import DTYPES, random, write_safetensors

STEPS = 100
RECORDED = [1, 2, 3, 10, 57, 100]
ABSENT = [0, 5, 6, 40]
SHAPES = {"p0": [3, 5], "p1": [4], "p2": [4, 2]}


class Lion(torch.optim.Optimizer):
    """Chen et al. (2023), algorithm 2; PyTorch has none."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = -p.grad if group["maximize"] else p.grad
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * grad)
                p.copy_(p - group["lr"] * (update + group["weight_decay"] * p))
                m.copy_(beta2 * m + (1 - beta2) * grad)


class Muon:
    """PyTorch's Muon for the first group, and its AdamW with the same weight decay for the second."""

    def __init__(self, groups, **arguments):
        matrices, others = groups
        lr = others.get("lr", arguments["lr"])
        decay = arguments.get("weight_decay", 0.1)
        self.optimizers = [
            torch.optim.Muon(matrices["params"], **arguments),
            torch.optim.AdamW(others["params"], lr=lr, weight_decay=decay),
        ]

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()

    @property
    def state(self):
        return {p: state for optimizer in self.optimizers for p, state in optimizer.state.items()}


ALL = {
    "SGD": [
        dict(lr=0.1),
        dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.05, maximize=True),
        dict(lr=0.1, momentum=0.9, dampening=0.3),
    ],
    "Adam": [
        dict(lr=0.01),
        dict(lr=0.02, betas=[0.5, 0.9], eps=1e-3, weight_decay=0.1),
        dict(lr=0.01, amsgrad=True, weight_decay=0.3, maximize=True),
    ],
    "AdamW": [
        dict(lr=0.01),
        dict(lr=0.02, betas=[0.5, 0.9], eps=1e-3, weight_decay=0.1),
        dict(lr=0.01, amsgrad=True, weight_decay=0.3, maximize=True),
    ],
    "NAdam": [
        dict(lr=0.01),
        dict(lr=0.02, betas=[0.7, 0.95], weight_decay=0.1, momentum_decay=0.02),
        dict(lr=0.02, weight_decay=0.2, decoupled_weight_decay=True, maximize=True, eps=1e-4),
    ],
    "RAdam": [
        dict(lr=0.01),
        dict(lr=0.02, betas=[0.7, 0.95], weight_decay=0.1),
        dict(lr=0.02, betas=[0.8, 0.6], weight_decay=0.2, decoupled_weight_decay=True, maximize=True, eps=1e-4),
    ],
    "Adamax": [dict(lr=0.01), dict(lr=0.02, betas=[0.4, 0.9], eps=1e-2, weight_decay=0.1, maximize=True)],
    "Adagrad": [
        dict(lr=0.1),
        dict(lr=0.1, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3, maximize=True),
    ],
    "Adadelta": [dict(lr=1.0), dict(lr=0.5, rho=0.8, eps=1e-3, weight_decay=0.1, maximize=True)],
    "RMSprop": [
        dict(lr=0.01),
        dict(lr=0.01, momentum=0.8, weight_decay=0.1),
        dict(lr=0.01, alpha=0.9, centered=True, eps=1e-3),
        dict(lr=0.01, alpha=0.4, centered=True, momentum=0.5, maximize=True, eps=0.1),
    ],
    "Rprop": [dict(lr=0.01), dict(lr=0.05, etas=[0.3, 1.5], step_sizes=[1e-3, 0.2], maximize=True)],
    "ASGD": [
        dict(lr=0.05),
        dict(lr=0.05, lambd=0.01, alpha=0.5, t0=20, weight_decay=0.1),
        dict(lr=0.02, t0=50, maximize=True),
    ],
    "Adafactor": [
        dict(lr=0.1),
        dict(lr=0.05, beta2_decay=-0.5, eps=[1e-3, 1e-2], d=2.0, weight_decay=0.1),
        dict(lr=0.3, d=1.5, maximize=True),
    ],
    "Muon": [
        dict(lr=0.02),
        dict(lr=0.02, weight_decay=0.3, momentum=0.8, nesterov=False, adjust_lr_fn="match_rms_adamw"),
        dict(lr=0.02, ns_steps=2, ns_coefficients=[2.0, -1.5, 0.5], eps=0.5, adjust_lr_fn="spectral_unclamped"),
    ],
    "Lion": [dict(lr=0.01), dict(lr=0.02, betas=[0.8, 0.95], weight_decay=0.3, maximize=True)],
}


def run(optimizer, kwargs, group, dtype, shared):
    """The tensors of one case."""
    kind = DTYPES[dtype]
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in kwargs.items()}
    params = {key: shared[f"init.{key}"].to(kind).clone().requires_grad_() for key in SHAPES}
    groups = [{"params": [params["p0"], params["p2"]]}, {"params": [params["p1"]], **group}]
    # A class of this file, or else PyTorch's.
    opt = (globals().get(optimizer) or getattr(torch.optim, optimizer))(groups, **arguments)
    tensors = {f"after.{key}": [] for key in params}
    for step in range(STEPS):
        for key, p in params.items():
            absent = key == "p1" and step in ABSENT
            p.grad = None if absent else shared[f"grads.{key}"][step].to(kind)
        opt.step()
        if step + 1 in RECORDED:
            for key, p in params.items():
                tensors[f"after.{key}"].append(p.detach().clone())
    tensors = {key: torch.stack(values) for key, values in tensors.items()}
    for key, p in params.items():
        for slot, value in opt.state[p].items():
            if value is not None:
                tensors[f"state.{key}.{slot}"] = torch.as_tensor(value)
    return tensors


def write():
    tensors, cases = {}, []
    for i, (key, shape) in enumerate(SHAPES.items()):
        tensors[f"init.{key}"] = random(shape, 300 + i, torch.float64)
        tensors[f"grads.{key}"] = random([STEPS] + shape, 310 + i, torch.float64)
    shared = dict(tensors)
    for optimizer, variants in ALL.items():
        for i, kwargs in enumerate(variants):
            group = {}
            if i:
                group = {"lr": kwargs["lr"] * 0.3}
                if "weight_decay" in kwargs and optimizer != "Muon":
                    group["weight_decay"] = 0.0
            for dtype in ("f32", "f64"):
                for key, value in run(optimizer, kwargs, group, dtype, shared).items():
                    tensors[f"{len(cases)}/{key}"] = value
                if optimizer == "Muon":
                    cases.append({"optimizer": optimizer, "kwargs": kwargs, "group": {**group, "use_muon": False}, "dtype": dtype})
                    continue
                cases.append({"optimizer": optimizer, "kwargs": kwargs, "group": group, "dtype": dtype})
    case = {"steps": STEPS, "recorded": RECORDED, "absent": ABSENT, "cases": cases}
    write_safetensors("optimizer_runs.safetensors", tensors, case)
    return len(cases)
