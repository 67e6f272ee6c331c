"""gradient_hooks.json: the order in which hooks on tensors run in a backward pass, and what they see.

Every scenario is a function that appends strings to `log`; its source is stored with its log.
"""

import inspect

import torch

from common import write_json


def leaf(value):
    return torch.tensor(value, dtype=torch.float64, requires_grad=True)


def see(log, name, change=None):
    """A hook that logs what it sees and returns what `change` makes of it."""

    def hook(grad):
        log.append(f"{name} {grad.item():g}")
        return None if change is None else change(grad)

    return hook


def kept(log, name, tensor):
    log.append(f"{name}.grad {'none' if tensor.grad is None else f'{tensor.grad.item():g}'}")


def order_of_registration(log):
    x = leaf(2.0)
    h = x * 3
    for name, tensor in (("x first", x), ("h first", h), ("x second", x), ("h second", h)):
        tensor.register_hook(see(log, name))
    (h * 5).backward()


def replaced_one_after_the_other(log):
    x = leaf(2.0)
    h = x * 3
    h.register_hook(see(log, "h times 10", lambda g: g * 10))
    h.register_hook(see(log, "h sees"))
    h.register_hook(see(log, "h plus 1", lambda g: g + 1))
    x.register_hook(see(log, "x negated", lambda g: -g))
    x.register_hook(see(log, "x sees"))
    (h * 5).backward()
    kept(log, "x", x)


def complete_before_it_is_seen(log):
    x = leaf(3.0)
    a = x * x
    a.register_hook(see(log, "a"))
    x.register_hook(see(log, "x"))
    (a * 2 + (-a) * x).backward()
    kept(log, "x", x)


def leaf_before_it_accumulates(log):
    x = leaf(2.0)
    x.register_hook(see(log, "x", lambda g: g * 2))
    (x * 3).backward()
    (x * 5).backward()
    kept(log, "x", x)


def root(log):
    x = leaf(2.0)
    y = x * 3
    y.register_hook(see(log, "y", lambda g: g * 7))
    y.backward()
    kept(log, "x", x)


def removed(log):
    x = leaf(2.0)
    first = x.register_hook(see(log, "first"))
    second = x.register_hook(see(log, "second"))
    y = x * 3
    first.remove()
    y.backward(retain_graph=True)
    second.remove()
    y.backward()
    kept(log, "x", x)


def removed_while_they_run(log):
    x = leaf(2.0)
    handles = []

    def hook(grad):
        log.append("removes the second")
        handles[0].remove()

    x.register_hook(hook)
    handles.append(x.register_hook(see(log, "second")))
    y = x * 3
    y.backward(retain_graph=True)
    y.backward()


def registered_after_forward(log):
    x = leaf(2.0)
    h = x * 3
    y = h * 5
    h.register_hook(see(log, "h"))
    y.backward()


def not_on_the_way(log):
    x, w = leaf(2.0), leaf(7.0)
    h = x * w
    for name, tensor in (("x", x), ("w", w), ("h", h)):
        tensor.register_hook(see(log, name))
    (grad,) = torch.autograd.grad(h * 5, [x])
    log.append(f"grad {grad.item():g}")
    kept(log, "x", x)


def of_an_intermediate(log):
    x = leaf(2.0)
    h = x * 3
    h.register_hook(see(log, "h", lambda g: g * 10))
    x.register_hook(see(log, "x"))
    (grad,) = torch.autograd.grad(h * 5, [h])
    log.append(f"grad {grad.item():g}")


def leaf_of_grad(log):
    x = leaf(2.0)
    x.register_hook(see(log, "x", lambda g: g + 1))
    (grad,) = torch.autograd.grad(x * 5, [x])
    log.append(f"grad {grad.item():g}")
    kept(log, "x", x)


def second_derivative(log):
    x = leaf(2.0)
    h = x * x
    h.register_hook(see(log, "h", lambda g: g * g))
    (slope,) = torch.autograd.grad(h * h, [x], create_graph=True)
    log.append(f"slope {slope.item():g}")
    slope.backward()
    kept(log, "x", x)


def grad_mode(log):
    x = leaf(2.0)
    x.register_hook(lambda g: log.append(f"{torch.is_grad_enabled()} {g.requires_grad}".lower()))
    y = x * x
    y.backward(retain_graph=True)
    y.backward(create_graph=True)


def retained(log):
    x = leaf(2.0)
    h = x * 3
    h.retain_grad()
    log.append(f"retains {h.retains_grad} {x.retains_grad}".lower())
    h.register_hook(see(log, "h", lambda g: g * 10))
    y = h * h
    y.backward(retain_graph=True)
    kept(log, "h", h)
    y.backward(retain_graph=True)
    kept(log, "h", h)
    torch.autograd.grad(y, [x])
    kept(log, "h", h)
    kept(log, "x", x)


def not_retained(log):
    x = leaf(2.0)
    h = x * 3
    (h * h).backward()
    kept(log, "x", x)
    log.append(f"retains {h.retains_grad}".lower())


SCENARIOS = [
    order_of_registration, replaced_one_after_the_other, complete_before_it_is_seen, leaf_before_it_accumulates, root,
    removed, removed_while_they_run, registered_after_forward, not_on_the_way, of_an_intermediate, leaf_of_grad,
    second_derivative, grad_mode, retained, not_retained,
]  # fmt: skip


def write():
    cases = []
    for scenario in SCENARIOS:
        log = []
        scenario(log)
        cases.append({"name": scenario.__name__, "source": inspect.getsource(scenario), "log": log})
    write_json("gradient_hooks.json", cases)
    return len(cases)
