"""The ten rows of the first table of `README.md`, as PyTorch behaves: each must pass without an error or a warning.

    python silent_failures.py

It writes nothing. The other side of each row is tested under `tests/tests/modules/pitfalls` and `tests/derive/ui/fail`.
"""

import warnings

import torch
from torch import nn


def layers_in_a_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

    assert not list(Net().parameters()) and not Net().state_dict()


def a_tensor_as_an_attribute():
    net = nn.Module()
    net.mean = torch.zeros(3)
    assert "mean" not in net.state_dict()
    assert net.to(torch.float64).mean.dtype == torch.float32


def a_repeated_layer():
    net = nn.Sequential(*[nn.Linear(2, 2)] * 3)
    assert net[0] is net[2] and len(list(net.parameters())) == 2


def a_load_that_fails_halfway():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    state = {key: torch.full_like(value, 7.0) for key, value in net.state_dict().items()}
    state["1.weight"] = torch.zeros(3, 3)
    try:
        net.load_state_dict(state)
        raise SystemExit("PyTorch loads another shape")
    except RuntimeError:
        # The error is not silent, but what it leaves is.
        assert (net[0].weight == 7).all()


def a_wrong_prefix():
    net = nn.Linear(2, 2)
    before = net.weight.clone()
    state = {f"module.{key}": value + 1 for key, value in net.state_dict().items()}
    net.load_state_dict(state, strict=False)
    assert torch.equal(before, net.weight)


def a_transposed_square_weight():
    net, source = nn.Linear(2, 2), nn.Linear(2, 2)
    state = {"weight": source.weight.detach().T.contiguous(), "bias": source.bias.detach()}
    assert str(net.load_state_dict(state)) == "<All keys matched successfully>"
    x = torch.randn(3, 2)
    assert not torch.allclose(net(x), source(x))


def a_hook_that_is_never_removed():
    net, calls = nn.Linear(2, 2), []

    def watch():
        net.register_forward_hook(lambda *_: calls.append(1))

    watch()
    net(torch.zeros(1, 2))
    assert calls == [1]


def an_optimizer_older_than_a_layer():
    net = nn.Sequential(nn.Linear(2, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    net[0] = nn.Linear(2, 2)
    before = net[0].weight.clone()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert torch.equal(before, net[0].weight)


def a_step_without_a_backward_pass():
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
    before = net.weight.clone()
    net(torch.ones(1, 2)).sum()
    optimizer.step()
    assert torch.equal(before, net.weight)


def a_gradient_that_is_not_cleared():
    net = nn.Linear(2, 2)
    for _ in range(2):
        net(torch.ones(1, 2)).sum().backward()
    assert (net.weight.grad == 2).all()


ROWS = [
    layers_in_a_list,
    a_tensor_as_an_attribute,
    a_repeated_layer,
    a_load_that_fails_halfway,
    a_wrong_prefix,
    a_transposed_square_weight,
    a_hook_that_is_never_removed,
    an_optimizer_older_than_a_layer,
    a_step_without_a_backward_pass,
    a_gradient_that_is_not_cleared,
]

if __name__ == "__main__":
    warnings.simplefilter("error")
    for row in ROWS:
        row()
        print(row.__name__)
    print(f"{len(ROWS)} of {len(ROWS)}, PyTorch {torch.__version__}")
