"""hook_orders.json: the order in which hooks run, and what they see.

Every scenario is a function that appends strings to `log`; its source is stored with its log.
"""

import inspect

import torch
from torch import nn
from torch.nn.modules import module as global_hooks

from common import write_json


class Add(nn.Module):
    """x + amount, so that replaced values show."""

    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, x):
        return x + self.amount


class Twice(nn.Module):
    """A diamond: one child called twice."""

    def __init__(self):
        super().__init__()
        self.child = Add(1)

    def forward(self, x):
        return self.child(x) + self.child(x * 10)


class Failing(nn.Module):
    def forward(self, x):
        raise RuntimeError("forward failed")


def nest():
    """outer(0: Add(1), 1: inner(0: Add(2), 1: Add(3)))"""
    return nn.Sequential(Add(1), nn.Sequential(Add(2), Add(3)))


def pre(log, name):
    return lambda module, args: log.append(f"pre {name} {args[0].item():g}")


def post(log, name):
    return lambda module, args, output: log.append(f"post {name} {args[0].item():g} -> {output.item():g}")


def one():
    return torch.tensor(1.0)


def nested(log):
    net = nest()
    for name, module in net.named_modules():
        module.register_forward_hook(post(log, name or "root"))
        module.register_forward_pre_hook(pre(log, name or "root"))
    net(one())


def registration_order(log):
    add = Add(1)
    for name in "abc":
        add.register_forward_pre_hook(pre(log, name))
        add.register_forward_hook(post(log, name))
    add(one())


def prepend(log):
    add = Add(1)
    for name, first in (("a", False), ("b", True), ("c", True), ("d", False)):
        add.register_forward_pre_hook(pre(log, name), prepend=first)
        add.register_forward_hook(post(log, name), prepend=first)
    add(one())


def global_before_own(log):
    net = nest()
    net[0].register_forward_pre_hook(pre(log, "own"))
    net[0].register_forward_hook(post(log, "own"))
    handles = [
        global_hooks.register_module_forward_pre_hook(
            lambda module, args: log.append(f"global pre {type(module).__name__}")
        ),
        global_hooks.register_module_forward_hook(
            lambda module, args, output: log.append(f"global post {type(module).__name__}")
        ),
    ]
    net(one())
    for handle in handles:
        handle.remove()


def replaced_input(log):
    add = Add(1)
    add.register_forward_pre_hook(pre(log, "a"))
    add.register_forward_pre_hook(lambda module, args: (args[0] * 10,))
    add.register_forward_pre_hook(pre(log, "b"))
    add.register_forward_pre_hook(lambda module, args: args[0] + 5)
    add.register_forward_pre_hook(pre(log, "c"))
    add.register_forward_hook(post(log, "end"))
    log.append(f"result {add(one()).item():g}")


def replaced_output(log):
    add = Add(1)
    add.register_forward_hook(post(log, "a"))
    add.register_forward_hook(lambda module, args, output: output * 10)
    add.register_forward_hook(post(log, "b"))
    add.register_forward_hook(lambda module, args, output: None)
    add.register_forward_hook(post(log, "c"))
    log.append(f"result {add(one()).item():g}")


def replaced_in_the_middle(log):
    net = nest()
    net[1].register_forward_pre_hook(lambda module, args: args[0] * 10)
    net[1].register_forward_hook(lambda module, args, output: output * 10)
    for name, module in net.named_modules():
        module.register_forward_hook(post(log, name or "root"))
    log.append(f"result {net(one()).item():g}")


def global_replaces(log):
    add = Add(1)
    add.register_forward_pre_hook(pre(log, "own"))
    add.register_forward_hook(post(log, "own"))
    handles = [
        global_hooks.register_module_forward_pre_hook(lambda module, args: args[0] * 2),
        global_hooks.register_module_forward_hook(lambda module, args, output: output * 100),
    ]
    log.append(f"result {add(one()).item():g}")
    for handle in handles:
        handle.remove()


def diamond(log):
    net = Twice()
    net.register_forward_pre_hook(pre(log, "root"))
    net.child.register_forward_pre_hook(pre(log, "child"))
    net.child.register_forward_hook(post(log, "child"))
    net.register_forward_hook(post(log, "root"))
    net(one())


def shared_in_a_sequential(log):
    add = Add(1)
    net = nn.Sequential(add, Add(5), add)
    add.register_forward_hook(post(log, "shared"))
    net(one())


def removed_during_the_call(log):
    add = Add(1)
    handles = {}

    def remover(module, args, output):
        log.append("remover")
        handles["later"].remove()
        handles["remover"].remove()

    handles["remover"] = add.register_forward_hook(remover)
    handles["later"] = add.register_forward_hook(post(log, "later"))
    add(one())
    log.append("second call")
    add(one())


def post_hook_removed_by_a_pre_hook(log):
    add = Add(1)
    handle = add.register_forward_hook(post(log, "post"))
    add.register_forward_pre_hook(lambda module, args: log.append("remove") or handle.remove())
    add.register_forward_hook(post(log, "stays"))
    add(one())


def added_during_the_call(log):
    add = Add(1)

    def adder(module, args, output):
        log.append("adder")
        module.register_forward_hook(post(log, "added"))

    add.register_forward_hook(adder)
    add(one())
    log.append("second call")
    add(one())


def post_hook_added_by_a_pre_hook(log):
    add = Add(1)

    def adder(module, args):
        log.append("adder")
        module.register_forward_hook(post(log, "added"))

    add.register_forward_pre_hook(adder)
    add(one())


def child_hook_removed_by_its_parent(log):
    net = nest()
    handle = net[1][1].register_forward_hook(post(log, "1.1"))
    net[1].register_forward_pre_hook(lambda module, args: log.append("remove") or handle.remove())
    net(one())


def removed_twice(log):
    add = Add(1)
    handle = add.register_forward_hook(post(log, "gone"))
    add.register_forward_hook(post(log, "stays"))
    handle.remove()
    handle.remove()
    add(one())


def registered_twice(log):
    add = Add(1)
    hook = post(log, "same")
    first = add.register_forward_hook(hook)
    add.register_forward_hook(hook)
    add(one())
    log.append("first removed")
    first.remove()
    add(one())


def forward_called_directly(log):
    add = Add(1)
    add.register_forward_pre_hook(pre(log, "never"))
    log.append(f"result {add.forward(one()).item():g}")


def failure(log):
    net = nn.Sequential(Add(1), Failing())
    for name, module in net.named_modules():
        module.register_forward_pre_hook(pre(log, name or "root"))
        module.register_forward_hook(lambda m, args, out, name=name or "root": log.append(f"post {name} {out}"))
        module.register_forward_hook(
            lambda m, args, out, name=name or "root": log.append(f"always {name} {'none' if out is None else out.item()}"),
            always_call=True,
        )
    try:
        net(one())
    except RuntimeError as error:
        log.append(f"raised {error}")


def failing_hook(log):
    add = Add(1)
    def fail(module, args, output):
        log.append("fails")
        raise RuntimeError("hook failed")
    add.register_forward_hook(post(log, "a"))
    add.register_forward_hook(fail)
    add.register_forward_hook(post(log, "b"))
    add.register_forward_hook(post(log, "always"), always_call=True)
    try:
        add(one())
    except RuntimeError as error:
        log.append(f"raised {error}")


def keyword_arguments(log):
    class Scale(nn.Module):
        def forward(self, x, by=1):
            return x * by

    scale = Scale()
    scale.register_forward_pre_hook(lambda m, args: log.append(f"pre {len(args)} positional"))
    scale.register_forward_pre_hook(
        lambda m, args, kwargs: log.append(f"pre by={kwargs['by']}") or (args, {"by": 7}), with_kwargs=True
    )
    scale.register_forward_hook(
        lambda m, args, kwargs, output: log.append(f"post by={kwargs['by']} -> {output.item():g}"), with_kwargs=True
    )
    scale(one(), by=3)


def grad_mode(log):
    add = Add(1)
    add.register_forward_hook(
        lambda module, args, output: log.append(f"enabled {torch.is_grad_enabled()} tracked {output.requires_grad}")
    )
    x = torch.tensor(1.0, requires_grad=True)
    add(x)
    with torch.no_grad():
        add(x)


def modes(log):
    net = nest()
    net[0].register_forward_hook(lambda module, args, output: log.append(f"training {module.training}"))
    net.eval()(one())
    net.train()(one())


def backward_nested(log):
    net = nn.Sequential(nn.Sequential(nn.Tanh(), nn.Tanh()), nn.Tanh())
    for name, module in net.named_modules():
        module.register_full_backward_hook(lambda m, gin, gout, name=name or "root": log.append(f"full {name}"))
        module.register_full_backward_pre_hook(lambda m, gout, name=name or "root": log.append(f"pre {name}"))
    net(torch.tensor(0.5, requires_grad=True)).backward()


def backward_replaced(log):
    class Times(nn.Module):
        def forward(self, x):
            return x * 3

    times = Times()
    times.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 10,))
    times.register_full_backward_hook(
        lambda m, gin, gout: log.append(f"grad_output {gout[0].item():g} grad_input {gin[0].item():g}") or (gin[0] + 1,)
    )
    x = torch.tensor(1.0, requires_grad=True)
    times(x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_diamond(log):
    class Square(nn.Module):
        def forward(self, x):
            return x * x

    square = Square()
    square.register_full_backward_hook(
        lambda m, gin, gout: log.append(f"grad_output {gout[0].item():g} grad_input {gin[0].item():g}")
    )
    x = torch.tensor(3.0, requires_grad=True)
    (square(x) + 10 * square(x * 2)).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_without_tracked_input(log):
    linear = nn.Linear(1, 1)
    linear.register_full_backward_hook(
        lambda m, gin, gout: log.append(f"grad_input {'none' if gin[0] is None else gin[0].item()}")
    )
    linear(torch.ones(1, 1)).sum().backward()


def backward_two_inputs_one_tracked(log):
    class Product(nn.Module):
        def forward(self, a, b):
            return a * b

    product = Product()
    product.register_full_backward_hook(
        lambda m, gin, gout: log.append(" ".join("none" if g is None else f"{g.item():g}" for g in gin))
    )
    product(torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)).backward()


def backward_hook_added_or_removed_after_forward(log):
    early, late = nn.Tanh(), nn.Tanh()
    handle = early.register_full_backward_hook(lambda m, gin, gout: log.append("early"))
    y = late(early(torch.tensor(0.5, requires_grad=True)))
    late.register_full_backward_hook(lambda m, gin, gout: log.append("late"))
    handle.remove()
    y.backward()


class Function(nn.Module):
    """A module that computes what it is told."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def words(grads):
    return " ".join("none" if g is None else f"{g.item():g}" for g in grads)


def watch(log, module, name, **options):
    """Logs what both backward hooks of a module see."""
    module.register_full_backward_pre_hook(lambda m, gout: log.append(f"pre {name} {words(gout)}"), **options)
    module.register_full_backward_hook(
        lambda m, gin, gout: log.append(f"full {name} {words(gout)} -> {words(gin)}"), **options
    )


def leaf(value):
    return torch.tensor(float(value), requires_grad=True)


def forward_and_backward_nested(log):
    square = Function(lambda x: x * x)
    net = nn.Sequential(square, nn.Sequential(Add(2), Function(lambda x: x * 3)))
    for name, module in net.named_modules():
        module.register_forward_pre_hook(pre(log, name or "root"))
        module.register_forward_hook(post(log, name or "root"))
        watch(log, module, name or "root")
    x = leaf(2)
    net(x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_diamond_net(log):
    net = Twice()
    watch(log, net, "root")
    watch(log, net.child, "child")
    x = leaf(1)
    net(x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_reused(log):
    square = Function(lambda x: x * x)
    net = nn.Sequential(square, Add(1), square)
    watch(log, square, "square")
    watch(log, net, "net")
    x = leaf(2)
    net(x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_prepend(log):
    module = Function(lambda x: x * 3)
    for name, first in (("a", False), ("b", True), ("c", True), ("d", False)):
        watch(log, module, name, prepend=first)
    module(leaf(1)).backward()


def backward_global(log):
    net = nn.Sequential(Add(1), Function(lambda x: x * 3))
    watch(log, net[1], "own")
    handles = [
        global_hooks.register_module_full_backward_pre_hook(lambda m, gout: log.append(f"global pre {words(gout)}")),
        global_hooks.register_module_full_backward_hook(
            lambda m, gin, gout: log.append(f"global full {words(gout)} -> {words(gin)}")
        ),
    ]
    net(leaf(1)).backward()
    for handle in handles:
        handle.remove()


def backward_replaced_one_after_the_other(log):
    module = Function(lambda x: x * 3)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 10,))
    watch(log, module, "between")
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] + 1,))
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] * 2,))
    watch(log, module, "last")
    x = leaf(1)
    module(x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_replaced_by_none(log):
    module = Function(lambda x: x * 3)
    module.register_full_backward_pre_hook(lambda m, gout: (None,))
    watch(log, module, "module")
    x = leaf(1)
    module(x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_input_replaced_by_none(log):
    module = Function(lambda x: x * 3)
    module.register_full_backward_hook(lambda m, gin, gout: (None,))
    watch(log, module, "module")
    x = leaf(1)
    module(x).backward()
    log.append(f"gradient {'none' if x.grad is None else x.grad.item()}")


def backward_removed_by_a_pre_hook(log):
    module = Function(lambda x: x * 3)
    handle = module.register_full_backward_hook(lambda m, gin, gout: log.append("full"))

    def change(m, args):
        handle.remove()
        m.register_full_backward_hook(lambda m, gin, gout: log.append("added"))

    first = module.register_forward_pre_hook(change)
    module(leaf(1)).backward()
    first.remove()
    log.append("second call")
    module(leaf(1)).backward()


def backward_removed_by_a_backward_hook(log):
    module = Function(lambda x: x * 3)
    handles = []

    def remover(m, gin, gout):
        log.append("remover")
        for handle in handles:
            handle.remove()

    handles.append(module.register_full_backward_hook(remover))
    handles.append(module.register_full_backward_hook(lambda m, gin, gout: log.append("later")))
    module(leaf(1)).backward()
    log.append("second call")
    module(leaf(1)).backward()


def backward_outputs_partly_used(log):
    module = Function(lambda x: (x * 2, x * 3, x.detach()))
    watch(log, module, "module")
    for used in range(2):
        x = leaf(1)
        module(x)[used].backward()
        log.append(f"gradient {x.grad.item():g}")


def backward_inputs_partly_used(log):
    module = Function(lambda x, y, z: x * 2)
    watch(log, module, "module")
    x, y = leaf(1), leaf(1)
    module(x, y, torch.tensor(3)).backward()
    log.append(f"gradients {x.grad.item():g} {y.grad.item():g}")


def backward_same_tensor_twice(log):
    module = Function(lambda x, y: x * y)
    watch(log, module, "module")
    x = leaf(3)
    module(x, x).backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_untracked_inputs(log):
    w = leaf(5)
    module = Function(lambda x, y: (x * w, y * 2 * w))
    watch(log, module, "module")
    module(one(), one())[1].backward()
    log.append(f"gradient {w.grad.item():g}")


def backward_output_without_the_input(log):
    w = leaf(5)
    module = Function(lambda x: w * 2)
    watch(log, module, "module")
    module(leaf(1)).backward()


def backward_of_some(log):
    w = leaf(5)
    module = Function(lambda x, y: x * y * w)
    watch(log, module, "module")
    x, y = leaf(2), leaf(3)
    for of in (w, x):
        log.append(f"gradient {torch.autograd.grad(module(x, y), of)[0].item():g}")


def backward_second_derivative(log):
    module = Function(lambda x: x * x * x)
    watch(log, module, "module")
    for function in (lambda y: y + 1, lambda y: y * y):
        x = leaf(2)
        slope = torch.autograd.grad(function(module(x)), x, create_graph=True)[0]
        log.append(f"slope {slope.item():g}")
        slope.backward()
        log.append(f"gradient {x.grad.item():g}")


def backward_second_derivative_of_a_replaced_one(log):
    module = Function(lambda x: x * x)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * gout[0],))
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] * 3,))
    x = leaf(1)
    y = module(x)
    slope = torch.autograd.grad(y * y, x, create_graph=True)[0]
    log.append(f"slope {slope.item():g}")
    gradient = torch.autograd.grad(slope, x)[0]
    log.append(f"gradient {gradient.item():g}")


def backward_twice(log):
    module = Function(lambda x: x * 3)
    watch(log, module, "module")
    x = leaf(1)
    y = module(x)
    y.backward(retain_graph=True)
    y.backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_grad_mode(log):
    module = Function(lambda x: x * x)
    module.register_full_backward_hook(
        lambda m, gin, gout: log.append(f"enabled {torch.is_grad_enabled()} tracked {gin[0].requires_grad}")
    )
    module(leaf(2)).backward()
    module(leaf(2)).backward(create_graph=True)
    with torch.no_grad():
        log.append(f"tracked {module(leaf(2)).requires_grad}")


def backward_identity(log):
    module = Function(lambda x: x)
    watch(log, module, "module")
    x = leaf(2)
    y = module(x)
    log.append(f"leaf {y.is_leaf}")
    y.backward()
    log.append(f"gradient {x.grad.item():g}")


def backward_wrong_counts(log):
    first = Function(lambda x: x * 3)
    first.register_full_backward_pre_hook(lambda m, gout: ())
    second = Function(lambda x: x * 3)
    second.register_full_backward_hook(lambda m, gin, gout: (gin[0], gin[0]))
    for module in (first, second):
        x = leaf(1)
        try:
            module(x).backward()
        except RuntimeError as error:
            log.append(str(error).partition(", ")[2])
        log.append(f"gradient {x.grad}")


def backward_hook_fails(log):
    module = Function(lambda x: x * 3)

    def fail(m, gin, gout):
        raise RuntimeError("hook failed")

    watch(log, module, "before")
    module.register_full_backward_hook(fail)
    watch(log, module, "after")
    x = leaf(1)
    y = module(x)
    for _ in range(2):
        try:
            y.backward(retain_graph=True)
        except RuntimeError as error:
            log.append(f"raised {error}")
    log.append(f"gradient {x.grad}")


def always(log, module, name, error=None):
    def hook(m, args, out):
        log.append(f"always {name} {args[0].item():g} {'none' if out is None else f'{out.item():g}'}")
        if error:
            raise RuntimeError(error)

    module.register_forward_hook(hook, always_call=True)


def always_after_a_replaced_input(log):
    module = Failing()
    module.register_forward_pre_hook(lambda m, args: args[0] * 10)
    always(log, module, "a", "silenced")
    module.register_forward_hook(lambda m, args, out: log.append("never"))
    always(log, module, "b")
    try:
        module(one())
    except RuntimeError as error:
        log.append(f"raised {error}")


def always_runs_once(log):
    add = Add(1)
    always(log, add, "a")
    add.register_forward_hook(lambda m, args, out: out * 10)
    always(log, add, "b", "b failed")
    always(log, add, "c")
    add.register_forward_hook(lambda m, args, out: log.append("never"))
    try:
        add(one())
    except RuntimeError as error:
        log.append(f"raised {error}")


def always_after_a_failed_pre_hook(log):
    add = Add(1)

    def fail(module, args):
        raise RuntimeError("pre failed")

    add.register_forward_pre_hook(lambda m, args: args[0] * 10)
    add.register_forward_pre_hook(fail)
    always(log, add, "a")
    try:
        add(one())
    except RuntimeError as error:
        log.append(f"raised {error}")


def always_everywhere(log):
    net = nn.Sequential(Add(1), Failing())
    always(log, net, "own")
    handle = global_hooks.register_module_forward_hook(
        lambda m, args, out: log.append(f"global {type(m).__name__} {'none' if out is None else f'{out.item():g}'}"),
        always_call=True,
    )
    try:
        net(one())
    except RuntimeError as error:
        log.append(f"raised {error}")
    handle.remove()


SCENARIOS = [
    nested, registration_order, prepend, global_before_own, replaced_input, replaced_output, replaced_in_the_middle,
    global_replaces, diamond, shared_in_a_sequential, removed_during_the_call, post_hook_removed_by_a_pre_hook,
    added_during_the_call, post_hook_added_by_a_pre_hook, child_hook_removed_by_its_parent, removed_twice,
    registered_twice, forward_called_directly, failure, failing_hook, keyword_arguments, grad_mode, modes,
    backward_nested, backward_replaced, backward_diamond, backward_without_tracked_input,
    backward_two_inputs_one_tracked, backward_hook_added_or_removed_after_forward,
    forward_and_backward_nested, backward_diamond_net, backward_reused, backward_prepend, backward_global,
    backward_replaced_one_after_the_other, backward_replaced_by_none, backward_input_replaced_by_none,
    backward_removed_by_a_pre_hook, backward_removed_by_a_backward_hook, backward_outputs_partly_used,
    backward_inputs_partly_used, backward_same_tensor_twice, backward_untracked_inputs,
    backward_output_without_the_input, backward_of_some, backward_second_derivative,
    backward_second_derivative_of_a_replaced_one, backward_twice, backward_grad_mode, backward_identity,
    backward_wrong_counts, backward_hook_fails, always_after_a_replaced_input, always_runs_once,
    always_after_a_failed_pre_hook, always_everywhere,
]  # fmt: skip


def write():
    cases = []
    for scenario in SCENARIOS:
        log = []
        scenario(log)
        cases.append({"name": scenario.__name__, "source": inspect.getsource(scenario), "log": log})
    write_json("hook_orders.json", cases)
    return len(cases)
