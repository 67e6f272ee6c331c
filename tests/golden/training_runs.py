"""runs/<name>.safetensors: short training runs, with the results of each step."""

import torch
from torch import nn
from torch.nn import functional as F

from common import random, write_safetensors

STEPS = 20


def small(shape, seed):
    """Initial values between -1/2 and 1/2."""
    return random(shape, seed) / 4


def network(seed, *sizes):
    """Two layers with a tanh between, with fixed initial values."""
    model = nn.Sequential(nn.Linear(sizes[0], sizes[1]), nn.Tanh(), nn.Linear(sizes[1], sizes[2]))
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(small(list(parameter.shape), seed + i))
    return model


def gan():
    """A generator and a discriminator in turn; each step pauses the network that it does not train."""
    networks = {"generator": network(300, 2, 8, 3), "discriminator": network(310, 3, 8, 1)}
    kwargs = {"lr": 0.02, "betas": (0.5, 0.9), "weight_decay": 0.1}
    optimizers = {key: torch.optim.AdamW(model.parameters(), **kwargs) for key, model in networks.items()}
    generator, discriminator = networks["generator"], networks["discriminator"]
    tensors = {
        "noise": random([STEPS, 6, 2], 320),
        "real": random([STEPS, 6, 3], 321),
    }
    for key, model in networks.items():
        tensors.update({f"init.{key}.{name}": p.detach().clone() for name, p in model.named_parameters()})
    losses, turns = [], []
    for step in range(STEPS):
        turn, other = ("discriminator", "generator") if step % 2 == 0 else ("generator", "discriminator")
        networks[other].requires_grad_(False)
        before = [None if p.grad is None else p.grad.clone() for p in networks[other].parameters()]
        optimizers[turn].zero_grad()
        fake = discriminator(generator(tensors["noise"][step]))
        if turn == "discriminator":
            real = discriminator(tensors["real"][step])
            loss = F.binary_cross_entropy_with_logits(real, torch.ones_like(real))
            loss = loss + F.binary_cross_entropy_with_logits(fake, torch.zeros_like(fake))
        else:
            loss = F.binary_cross_entropy_with_logits(fake, torch.ones_like(fake))
        loss.backward()
        optimizers[turn].step()
        # A pause keeps the gradient that was there.
        for p, grad in zip(networks[other].parameters(), before):
            assert (p.grad is None) == (grad is None) and (grad is None or torch.equal(p.grad, grad))
        networks[other].requires_grad_(True)
        losses.append(loss.detach())
        turns.append(turn)
    tensors["losses"] = torch.stack(losses)
    for key, model in networks.items():
        for name, p in model.named_parameters():
            tensors[f"after.{key}.{name}"] = p.detach().clone()
            tensors[f"grad.{key}.{name}"] = p.grad.clone()
    write_safetensors("runs/gan.safetensors", tensors, {"turns": turns, "kwargs": kwargs})


def data():
    return {"x": random([STEPS, 5, 3], 330), "y": random([STEPS, 5, 2], 331)}


def run(model, tensors, step):
    """All steps of a regression; `step` is called with the number after each backward pass."""
    tensors.update({f"init.{name}": p.detach().clone() for name, p in model.named_parameters()})
    losses = []
    for i in range(STEPS):
        model.zero_grad()
        loss = F.mse_loss(model(tensors["x"][i]), tensors["y"][i])
        loss.backward()
        step(i)
        losses.append(loss.detach())
    tensors["losses"] = torch.stack(losses)
    tensors.update({f"after.{name}": p.detach().clone() for name, p in model.named_parameters()})


def lion():
    """Lion (Chen et al., Symbolic Discovery of Optimization Algorithms, 2023), in plain PyTorch."""
    model, tensors = network(340, 3, 8, 2), data()
    lr, beta1, beta2, decay = 0.01, 0.9, 0.99, 0.1
    moments = {name: torch.zeros_like(p) for name, p in model.named_parameters()}

    @torch.no_grad()
    def step(_):
        for name, p in model.named_parameters():
            m = moments[name]
            p.mul_(1 - lr * decay)
            p.sub_(torch.sign(beta1 * m + (1 - beta1) * p.grad), alpha=lr)
            m.mul_(beta2).add_(p.grad, alpha=1 - beta2)

    run(model, tensors, step)
    case = {"lr": lr, "betas": [beta1, beta2], "weight_decay": decay}
    write_safetensors("runs/lion.safetensors", tensors, case)


def groups(name, kwargs, other):
    """An optimizer with biases in a group of their own, whose learning rates a schedule scales."""
    model, tensors = network(350, 3, 8, 2), data()
    weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
    biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
    optimizer = getattr(torch.optim, name)([{"params": weights}, {"params": biases, **other}], **kwargs)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: 1 - i / (2 * STEPS))
    rates = []

    def step(_):
        rates.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()

    run(model, tensors, step)
    case = {"kwargs": kwargs, "biases": other, "rates": rates}
    write_safetensors(f"runs/{name.lower()}_groups.safetensors", tensors, case)


def write():
    gan()
    lion()
    groups("AdamW", {"lr": 0.02, "weight_decay": 0.3}, {"lr": 0.05, "weight_decay": 0.0})
    groups("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, {"lr": 0.02, "momentum": 0.5, "weight_decay": 0.0})
    return 4
