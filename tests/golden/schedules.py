"""schedules.safetensors: the learning rates, and momentums, that torch.optim.lr_scheduler sets."""

import math

import torch

from common import write_safetensors

STEPS = 200
RATES = [0.1, 0.02]
LAMBDAS = {
    "decay": lambda epoch: 0.95**epoch,
    "inverse": lambda epoch: 1 / (1 + epoch),
    "warm": lambda epoch: min(1.0, (epoch + 1) / 10),
    "nearly": lambda epoch: 0.99,
    "wave": lambda epoch: 1.0 + 0.1 * math.sin(epoch),
}
SCALES = {"inverse": lambda x: 1 / x, "damped": lambda x: 0.99**x}

HAND = {"20": [0.05, 0.3], "90": [0.4, 0.001]}


def of(name, **kwargs):
    return {"schedule": name, "kwargs": kwargs}


def warmup_cosine(base, warmup_steps, total_steps, min_lr=0.0):
    """get_cosine_schedule_with_warmup of transformers, which stays at min_lr after total_steps."""

    def factor(step):
        if step < warmup_steps:
            return step / max(1, warmup_steps)
        progress = min(1.0, (step - warmup_steps) / max(1, total_steps - warmup_steps))
        cosine = 0.5 * (1.0 + math.cos(math.pi * 0.5 * 2.0 * progress))
        return (min_lr + (base - min_lr) * cosine) / base

    return factor


def build(described, optimizer):
    name, kwargs = described["schedule"], dict(described["kwargs"])
    if name in ("SequentialLR", "ChainedScheduler"):
        parts = [build(part, optimizer) for part in kwargs.pop("schedulers")]
        if name == "ChainedScheduler":
            return torch.optim.lr_scheduler.ChainedScheduler(parts, optimizer=optimizer)
        return torch.optim.lr_scheduler.SequentialLR(optimizer, parts, **kwargs)
    if name == "WarmupCosine":
        return torch.optim.lr_scheduler.LambdaLR(optimizer, [warmup_cosine(base, **kwargs) for base in RATES])
    if "lr_lambda" in kwargs:
        given = kwargs["lr_lambda"]
        kwargs["lr_lambda"] = [LAMBDAS[one] for one in given] if isinstance(given, list) else LAMBDAS[given]
    if "scale_fn" in kwargs:
        kwargs["scale_fn"] = SCALES[kwargs["scale_fn"]]
    where = torch.optim.swa_utils if name == "SWALR" else torch.optim.lr_scheduler
    return getattr(where, name)(optimizer, **kwargs)


def optimizer_of(name):
    groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": lr} for lr in RATES]
    return getattr(torch.optim, name)(groups, lr=RATES[0])


def momentum(group):
    return group["betas"][0] if "betas" in group else group["momentum"]


ONE_CYCLE = dict(max_lr=[0.5, 0.1], total_steps=200)
PLATEAU = [
    dict(patience=3),
    dict(mode="max", factor=0.5, patience=2, threshold=0.05, threshold_mode="abs", cooldown=4),
    dict(factor=0.7, patience=1, threshold=0.01, cooldown=2, min_lr=[0.01, 0.002]),
    dict(mode="max", factor=0.9, patience=0, min_lr=1e-3, eps=1e-3),
    dict(threshold_mode="abs", threshold=0.02, factor=0.3, patience=5),
]
SEQUENCES = [
    ([of("LinearLR", total_iters=10), of("CosineAnnealingLR", T_max=60)], [10]),
    ([of("ConstantLR", total_iters=30), of("LinearLR", end_factor=0.2, total_iters=15), of("ExponentialLR", gamma=0.97)], [20, 50]),
    (
        [of("StepLR", step_size=7), of("MultiStepLR", milestones=[0, 5, 9]), of("PolynomialLR", total_iters=20),
         of("CosineAnnealingWarmRestarts", T_0=6, T_mult=2), of("MultiplicativeLR", lr_lambda="nearly"),
         of("LambdaLR", lr_lambda="wave"), of("CyclicLR", base_lr=0.01, max_lr=0.2, step_size_up=9)],
        [20, 40, 60, 80, 110, 150],
    ),
    ([of("ExponentialLR", gamma=0.9), of("OneCycleLR", max_lr=0.5, total_steps=180)], [25]),
    (
        [of("ExponentialLR", gamma=0.9), of("MultiStepLR", milestones=[5]), of("StepLR", step_size=7), of("ConstantLR", total_iters=3),
         of("CosineAnnealingLR", T_max=9), of("ExponentialLR", gamma=0.95)],
        [20, 40, 60, 63, 120],
    ),
    ([of("StepLR", step_size=3), of("LinearLR"), of("ConstantLR")], [0, 30]),
    ([of("StepLR", step_size=3), of("LinearLR"), of("ExponentialLR", gamma=0.98)], [30, 30]),
]
CHAINS = [
    [of("ConstantLR", factor=0.1, total_iters=20), of("ExponentialLR", gamma=0.99)],
    [of("LinearLR", start_factor=0.2, total_iters=30), of("StepLR", step_size=40, gamma=0.5), of("MultiplicativeLR", lr_lambda=["nearly", "wave"])],
    [of("StepLR", step_size=40), of("LambdaLR", lr_lambda="wave"), of("ConstantLR", total_iters=100)],
    [of("SequentialLR", schedulers=SEQUENCES[0][0], milestones=[10]), of("MultiStepLR", milestones=[70, 120])],
]
CASES = (
    [of("LambdaLR", lr_lambda=given) for given in ("decay", "inverse", ["warm", "wave"])]
    + [of("MultiplicativeLR", lr_lambda=given) for given in ("nearly", "wave", ["wave", "nearly"])]
    + [of("StepLR", step_size=30), of("StepLR", step_size=7, gamma=0.8), of("StepLR", step_size=1, gamma=1.01)]
    + [of("MultiStepLR", milestones=[30, 80]), of("MultiStepLR", milestones=[90, 0, 15, 15, 60], gamma=0.4), of("MultiStepLR", milestones=[])]
    + [of("ConstantLR"), of("ConstantLR", factor=0.7, total_iters=50), of("ConstantLR", factor=0.0, total_iters=300), of("ConstantLR", total_iters=0)]
    + [of("LinearLR"), of("LinearLR", start_factor=0.001, total_iters=73), of("LinearLR", start_factor=1.0, end_factor=0.0, total_iters=150),
       of("LinearLR", end_factor=0.0, total_iters=6), of("LinearLR", start_factor=0.5, end_factor=0.25, total_iters=0)]
    + [of("ExponentialLR", gamma=0.9), of("ExponentialLR", gamma=1.02), of("ExponentialLR", gamma=0.0)]
    + [of("PolynomialLR"), of("PolynomialLR", total_iters=120, power=0.9), of("PolynomialLR", total_iters=150, power=2.5), of("PolynomialLR", total_iters=0)]
    + [of("CosineAnnealingLR", T_max=50), of("CosineAnnealingLR", T_max=200, eta_min=0.001), of("CosineAnnealingLR", T_max=7, eta_min=0.01), of("CosineAnnealingLR", T_max=1)]
    + [of("CosineAnnealingWarmRestarts", T_0=10), of("CosineAnnealingWarmRestarts", T_0=7, T_mult=2, eta_min=0.003), of("CosineAnnealingWarmRestarts", T_0=1, T_mult=3)]
    + [of("CyclicLR", base_lr=0.001, max_lr=0.1, step_size_up=20),
       of("CyclicLR", base_lr=[0.001, 0.02], max_lr=[0.1, 0.5], step_size_up=11, step_size_down=23, mode="triangular2"),
       of("CyclicLR", base_lr=0.0, max_lr=0.3, step_size_up=15, mode="exp_range", gamma=0.99, base_momentum=[0.5, 0.6], max_momentum=[0.7, 0.99]),
       of("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=8, scale_fn="inverse", cycle_momentum=False),
       of("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=8, step_size_down=0, scale_fn="damped", scale_mode="iterations")]
    + [of("OneCycleLR", **ONE_CYCLE), of("OneCycleLR", **ONE_CYCLE, three_phase=True, base_momentum=0.7, max_momentum=[0.9, 0.98]),
       of("OneCycleLR", max_lr=0.3, total_steps=201, anneal_strategy="linear", pct_start=0.45, div_factor=10.0, final_div_factor=100.0),
       of("OneCycleLR", max_lr=0.3, total_steps=250, anneal_strategy="linear", three_phase=True, cycle_momentum=False),
       of("OneCycleLR", max_lr=0.3, total_steps=220, pct_start=0.0)]
    + [of("SequentialLR", schedulers=parts, milestones=milestones) for parts, milestones in SEQUENCES]
    + [of("ChainedScheduler", schedulers=parts) for parts in CHAINS]
    + [of("WarmupCosine", warmup_steps=20, total_steps=200), of("WarmupCosine", warmup_steps=0, total_steps=90, min_lr=0.001),
       of("WarmupCosine", warmup_steps=37, total_steps=150, min_lr=0.01)]
    + [of("SWALR", swa_lr=0.05), of("SWALR", swa_lr=[0.5, 0.001], anneal_epochs=73, anneal_strategy="linear"),
       of("SWALR", swa_lr=0.01, anneal_epochs=30), of("SWALR", swa_lr=[0.3, 0.01], anneal_epochs=0), of("SWALR", swa_lr=0.2, anneal_epochs=1)]
)
# What a schedule goes on from is what the group has, also where somebody else has set it.
CHANGED = [
    of("StepLR", step_size=7, gamma=0.8), of("MultiStepLR", milestones=[30, 100]), of("ConstantLR", total_iters=40), of("LinearLR", total_iters=70),
    of("ExponentialLR", gamma=0.98), of("PolynomialLR", total_iters=120), of("CosineAnnealingLR", T_max=50), of("MultiplicativeLR", lr_lambda="wave"),
    of("LambdaLR", lr_lambda="decay"), of("ChainedScheduler", schedulers=CHAINS[0]), of("SWALR", swa_lr=0.05, anneal_epochs=60),
]
# Each with what occurs in our message.
REFUSED = [
    (of("StepLR", step_size=0), "step_size"),
    (of("ConstantLR", factor=1.5), "factor"), (of("ConstantLR", factor=-0.1), "factor"),
    (of("LinearLR", start_factor=0.0), "start_factor"), (of("LinearLR", start_factor=1.1), "start_factor"),
    (of("LinearLR", end_factor=-0.1), "end_factor"), (of("LinearLR", end_factor=1.1), "end_factor"),
    (of("CosineAnnealingLR", T_max=0), "t_max"),
    (of("CosineAnnealingWarmRestarts", T_0=0), "t_0"), (of("CosineAnnealingWarmRestarts", T_0=5, T_mult=0), "t_mult"),
    (of("CyclicLR", base_lr=[0.1], max_lr=0.2), "base_lr"), (of("CyclicLR", base_lr=0.1, max_lr=[0.2, 0.3, 0.4]), "max_lr"),
    (of("CyclicLR", base_lr=0.1, max_lr=0.2, step_size_up=0, step_size_down=4), "step_size_up"),
    (of("CyclicLR", base_lr=0.1, max_lr=0.2, max_momentum=[0.9]), "max_momentum"),
    (of("OneCycleLR", max_lr=0.1, total_steps=0), "total_steps"),
    (of("OneCycleLR", max_lr=0.1, total_steps=10, pct_start=1.5), "pct_start"), (of("OneCycleLR", max_lr=0.1, total_steps=10, pct_start=-0.5), "pct_start"),
    (of("OneCycleLR", max_lr=[0.1], total_steps=10), "max_lr"), (of("OneCycleLR", max_lr=0.1, total_steps=10, div_factor=0.0), "div_factor"),
    (of("OneCycleLR", max_lr=0.1, total_steps=10, base_momentum=[0.1, 0.2, 0.3]), "base_momentum"),
    (of("OneCycleLR", max_lr=0.1, total_steps=10, anneal_strategy="exp"), "`exp`"),
    (of("ReduceLROnPlateau", factor=1.0), "factor"), (of("ReduceLROnPlateau", min_lr=[0.1]), "min_lr"),
    (of("ReduceLROnPlateau", mode="least"), "`least`"), (of("ReduceLROnPlateau", threshold_mode="part"), "`part`"),
    (of("LambdaLR", lr_lambda=["decay"]), "lr_lambda"), (of("MultiplicativeLR", lr_lambda=["decay"]), "lr_lambda"),
    (of("SequentialLR", schedulers=[], milestones=[]), "schedules"), (of("SequentialLR", schedulers=[of("LinearLR")], milestones=[3]), "milestones"),
    (of("ChainedScheduler", schedulers=[]), "schedules"),
    (of("SWALR", swa_lr=[0.1]), "swa_lr"), (of("SWALR", swa_lr=0.1, anneal_strategy="exp"), "`exp`"),
]


def refusal(described):
    """The first line of PyTorch's refusal, where it is not to be built or to do one step."""
    optimizer = optimizer_of("SGD")
    try:
        schedule = build(described, optimizer)
        optimizer.step()
        schedule.step()
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return None


def write():
    tensors, cases = {}, []

    def record(described, optimizer="SGD", changed=None, metrics=None, epochs=None):
        key = str(len(cases))
        opt = optimizer_of(optimizer)
        schedule = build(described, opt)
        cycles = "Cyc" in repr(described)
        rows = [([g["lr"] for g in opt.param_groups], [momentum(g) for g in opt.param_groups])]
        for step in range(STEPS):
            for group, lr in zip(opt.param_groups, (changed or {}).get(str(step), [])):
                group["lr"] = lr
            opt.step()
            if metrics is not None:
                schedule.step(metrics[step].item())
            elif epochs is not None:
                schedule.step(epochs[step].item())
            else:
                schedule.step()
            rows.append(([g["lr"] for g in opt.param_groups], [momentum(g) for g in opt.param_groups]))
        case = dict(described, optimizer=optimizer, cycles=cycles)
        if changed:
            case["changed"] = changed
        tensors[f"{key}.lrs"] = torch.tensor([row[0] for row in rows], dtype=torch.float64)
        if cycles:
            tensors[f"{key}.momentums"] = torch.tensor([row[1] for row in rows], dtype=torch.float64)
        if metrics is not None:
            tensors[f"{key}.metrics"] = metrics
        if epochs is not None:
            tensors[f"{key}.epochs"] = epochs
        cases.append(case)

    for described in CASES:
        record(described)
        if described["schedule"] in ("CyclicLR", "OneCycleLR"):
            record(described, optimizer="AdamW")
    for described in CHANGED:
        record(described, changed=HAND)
    generator = torch.Generator().manual_seed(7)
    noise = torch.rand(STEPS, generator=generator, dtype=torch.float64)
    for i, kwargs in enumerate(PLATEAU):
        falls = torch.exp(-torch.arange(STEPS, dtype=torch.float64) / 25) + 0.1 * noise
        metrics = 1 - falls if kwargs.get("mode") == "max" else falls
        if i == 2:
            metrics[::17] = float("nan")
        record(of("ReduceLROnPlateau", **kwargs), metrics=metrics)
    # Batches within epochs, and one way back.
    epochs = torch.arange(STEPS, dtype=torch.float64) * 0.37
    epochs[120:] -= 31.5
    for kwargs in (dict(T_0=5), dict(T_0=4, T_mult=2, eta_min=0.001), dict(T_0=3, T_mult=3)):
        record(of("CosineAnnealingWarmRestarts", **kwargs), epochs=epochs)
    refused = []
    for described, quotes in REFUSED:
        torch_says = refusal(described)
        assert torch_says, described
        refused.append(dict(described, torch=torch_says, quotes=quotes))
    write_safetensors("schedules.safetensors", tensors, {"rates": RATES, "cases": cases, "refused": refused})
    return len(cases) + len(refused)
