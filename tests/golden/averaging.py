"""averaging.safetensors: averages of a model's values, `update_bn`, `functional_call` and the counts of early stopping.

`case` is `{"averages", "keys", "update_bn", "stopping"}`; README.md says which tensors belong to each.
"""

import torch
from torch.func import functional_call
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

from common import DTYPES, random, write_safetensors

STEPS = 20
RECORDED = [1, 2, 7, 20]


class Net(torch.nn.Module):
    """A tied weight, a frozen one, a batch normalization, and buffers of each kind."""

    def __init__(self, dtype, flag):
        super().__init__()

        def parameter(shape, seed):
            return torch.nn.Parameter(random(shape, seed, dtype, -1.0, 1.0))

        self.w1 = parameter([3, 4], 500)
        self.frozen = parameter([4], 501)
        self.frozen.requires_grad = False
        self.norm = torch.nn.BatchNorm1d(4, dtype=dtype)
        self.w2 = parameter([4, 4], 502)
        self.tied = self.w2
        self.register_buffer("count", torch.tensor(5))
        self.register_buffer("scale", torch.tensor([1.0, 2.0], dtype=dtype), persistent=False)
        if flag:
            self.register_buffer("flag", torch.tensor([False, True]))

    def forward(self, x):
        self.count += 3
        self.scale *= 1.125
        if hasattr(self, "flag"):
            self.flag.logical_not_()
        x = self.norm(x @ self.w1 + self.frozen).relu()
        return x @ self.w2 @ self.tied


def warmup(decay, gamma=1.0, power=2 / 3, least=0.0):
    """The decay of timm's ModelEmaV3, given how many updates there were."""

    def average(averaged, values, n):
        now = max(min(1 - (1 + n.item() / gamma) ** -power, decay), least)
        return get_ema_multi_avg_fn(now)(averaged, values, n)

    return average


KINDS = {
    "swa": dict(),
    "ema 0.9": dict(multi_avg_fn=get_ema_multi_avg_fn(0.9)),
    "ema 0.3": dict(multi_avg_fn=get_ema_multi_avg_fn(0.3)),
    "ema warm": dict(multi_avg_fn=warmup(0.8)),
    "ema slow": dict(multi_avg_fn=warmup(0.8, gamma=4.0, power=1.0, least=0.25)),
}


def averages(tensors):
    cases, keys = [], None
    for dtype in ("f32", "f64", "bf16"):
        for flag in (False, True):
            net = Net(DTYPES[dtype], flag)
            named = {
                (kind, use_buffers): AveragedModel(net, use_buffers=use_buffers, **kwargs)
                for kind, kwargs in KINDS.items()
                for use_buffers in (False, True)
                # PyTorch cannot subtract booleans.
                if not (flag and kind == "swa" and use_buffers)
            }
            optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
            for step in range(1, STEPS + 1):
                optimizer.zero_grad()
                net(random([6, 3], 600 + step, DTYPES[dtype])).square().mean().backward()
                optimizer.step()
                for name, value in list(net.named_parameters()) + list(net.named_buffers()):
                    tensors[f"{dtype}/{flag}/{step}/{name}"] = value.detach().clone()
                for (kind, use_buffers), averaged in named.items():
                    averaged.update_parameters(net)
                    if step in RECORDED:
                        prefix = f"{dtype}/{flag}/{kind}/{use_buffers}/{step}"
                        values = list(averaged.module.named_parameters()) + list(averaged.module.named_buffers())
                        for name, value in values:
                            tensors[f"{prefix}/{name}"] = value.detach().clone()
            for (kind, use_buffers), averaged in named.items():
                cases.append({"dtype": dtype, "flag": flag, "kind": kind, "use_buffers": use_buffers})
                assert averaged.n_averaged.item() == STEPS
            if flag:
                keys = list(averaged.state_dict())
    return cases, keys


def statistics(tensors):
    """What update_bn leaves, and what a pass in training does to it afterwards."""
    cases = []
    models = {
        "vectors": lambda: [
            torch.nn.Linear(3, 4),
            torch.nn.BatchNorm1d(4, momentum=0.3),
            torch.nn.ReLU(),
            torch.nn.Linear(4, 5),
            torch.nn.BatchNorm1d(5, momentum=None),
        ],
        "images": lambda: [torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)],
    }
    for name, layers in models.items():
        for dtype in ("f32", "f64"):
            torch.manual_seed(3)
            model = torch.nn.Sequential(*layers()).to(DTYPES[dtype])
            shape = [3] if name == "vectors" else [1, 5, 5]
            prefix = f"bn/{name}/{dtype}"
            for key, value in model.state_dict().items():
                tensors[f"{prefix}/first/{key}"] = value.clone()
            batches = [random([size] + shape, 700 + size, DTYPES[dtype]) for size in (8, 5, 3, 7)]
            model(batches[0])
            for i, batch in enumerate(batches):
                tensors[f"{prefix}/batch/{i}"] = batch
            # The last one is what follows.
            update_bn(batches[:-1], model)
            for key, value in model.named_buffers():
                tensors[f"{prefix}/updated/{key}"] = value.clone()
            model(batches[-1])
            for key, value in model.named_buffers():
                tensors[f"{prefix}/after/{key}"] = value.clone()
            cases.append({"model": name, "dtype": dtype})
    return cases


def meta(tensors):
    """Two steps of gradient descent, differentiated (MAML)."""
    for dtype in ("f32", "f64"):
        net = Net(DTYPES[dtype], False)
        names = [name for name, _ in net.named_parameters()]
        own = {name: value.detach().clone().requires_grad_() for name, value in net.named_parameters()}
        buffers = {name: value.clone() for name, value in net.named_buffers()}
        support, query = (random([6, 3], seed, DTYPES[dtype]) for seed in (800, 801))
        tensors[f"meta/{dtype}/support"], tensors[f"meta/{dtype}/query"] = support, query
        params = own
        for _ in range(2):
            loss = functional_call(net, (params, buffers), (support,)).square().mean()
            grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            params = {name: value - 0.05 * grad for (name, value), grad in zip(params.items(), grads)}
        loss = functional_call(net, (params, buffers), (query,)).square().mean()
        loss.backward()
        tensors[f"meta/{dtype}/loss"] = loss.detach()
        for name in names:
            tensors[f"meta/{dtype}/step/{name}"] = params[name].detach()
            tensors[f"meta/{dtype}/grad/{name}"] = own[name].grad
        for name, value in buffers.items():
            tensors[f"meta/{dtype}/buffer/{name}"] = value.detach()
        for name, value in list(net.named_parameters()) + list(net.named_buffers()):
            tensors[f"meta/{dtype}/own/{name}"] = value.detach()


STOPPING = [dict(mode="min", min_delta=0.0), dict(mode="max", min_delta=0.0), dict(mode="min", min_delta=0.05), dict(mode="max", min_delta=0.02)]


def stopping(tensors):
    """ReduceLROnPlateau counts epochs without a better metric, too."""
    for i, case in enumerate(STOPPING):
        metrics = random([60], 900 + i, torch.float64, 0.0, 1.0)
        falls = torch.exp(-torch.arange(60, dtype=torch.float64) / 20) + 0.2 * metrics
        metrics = 1 - falls if case["mode"] == "max" else falls
        metrics[::11] = float("nan")
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, mode=case["mode"], threshold=case["min_delta"], threshold_mode="abs", patience=1000)
        rows = []
        for metric in metrics.tolist():
            schedule.step(metric)
            rows.append([schedule.best, float(schedule.num_bad_epochs)])
        tensors[f"stopping/{i}/metrics"] = metrics
        tensors[f"stopping/{i}/counts"] = torch.tensor(rows, dtype=torch.float64)
    return STOPPING


def write():
    tensors = {}
    cases, keys = averages(tensors)
    norms = statistics(tensors)
    meta(tensors)
    write_safetensors(
        "averaging.safetensors", tensors,
        {"averages": cases, "keys": keys, "update_bn": norms, "stopping": stopping(tensors)})
    return len(cases) + len(norms) + 2 + len(STOPPING)
