"""lbfgs.safetensors, lbfgs_runs.safetensors: steps of LBFGS, six on a small network and a hundred on softmax regression.

`case` is `{"cases": [{"kwargs", "dtype", "losses", "func_evals"}]}`: the loss that each step returned. `x`, `y` and
`init.<key>` (f64) are those of all cases, cast to their dtypes; `<n>/end.<key>` are the parameters of case n at the end.
For a case with `saved`, `<n>/saved.<key>` are those after that many steps, and `torch_optimizers/lbfgs_<n>.pt` is `optimizer.state_dict()` then.

On the network rounding errors grow from step to step. The loss of the hundred steps, cross-entropy with weight decay, is strongly
convex, which makes runs converge again. In `lbfgs_runs`, `case` is `{"cases": [{"kwargs", "dtype", "losses", "func_evals"}], "recorded"}`, and
`<n>/after.<key>` (of a `Linear`) are the parameters of case n after the steps `recorded`, in the first dimension; they begin with `<key>`.
With the bias before the weight, with every weight an ulp larger at the start, or with the samples in another order, PyTorch's own
parameters after all of these steps differ by at most 2.9e-14 (f64) and 7.6e-6 (f32) of the largest in their tensor. The `ONLY_F64` cases reach the minimum,
where rounding in f32 hides the differences that the steps compare: there PyTorch is off by up to 1e-3, and counts different evaluations.
"""

import torch

from common import DATA, DTYPES, integers, random, write_safetensors

CASES = [
    dict(lr=0.5),
    dict(lr=0.3, max_iter=7, history_size=3),
    dict(lr=1.0, line_search_fn="strong_wolfe"),
    dict(lr=1.0, line_search_fn="strong_wolfe", max_iter=8, max_eval=11, history_size=4),
    dict(lr=30.0, line_search_fn="strong_wolfe", max_iter=5, tolerance_change=1e-3),
    dict(lr=0.05, max_iter=4, tolerance_grad=1e-2),
]

RUNS = [
    dict(lr=0.1, max_iter=1),
    dict(lr=0.1, max_iter=1, history_size=3),
    dict(lr=0.03, max_iter=2, history_size=1),
    dict(lr=0.2, max_iter=1, history_size=8),
    dict(lr=0.1, max_iter=1, maximize=True),
    dict(lr=0.01, max_iter=1, line_search_fn="strong_wolfe"),
    dict(lr=0.01, max_iter=1, history_size=2, line_search_fn="strong_wolfe"),
]
ONLY_F64 = [
    dict(lr=1.0),
    dict(lr=0.5, max_iter=1, line_search_fn="strong_wolfe"),
    dict(lr=0.1, max_iter=1, history_size=4, line_search_fn="strong_wolfe"),
    dict(lr=0.3, max_iter=4, line_search_fn="strong_wolfe"),
]
RECORDED = [1, 2, 5, 10, 20, 57, 100]


def write_runs():
    tensors = {"x": random([24, 6], 520, torch.float64), "weight": random([3, 6], 521, torch.float64)}
    tensors |= {"bias": random([3], 522, torch.float64), "y": integers([24], 523, 0, 3)}
    cases = []
    for kwargs in RUNS + ONLY_F64:
        for dtype in ("f64", "f32"):
            if dtype == "f32" and kwargs in ONLY_F64:
                continue
            x, *params = (tensors[name].to(DTYPES[dtype]) for name in ("x", "weight", "bias"))
            params = [p.clone().requires_grad_() for p in params]
            opt = torch.optim.LBFGS(params, **kwargs)

            def closure():
                opt.zero_grad()
                loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(x, *params), tensors["y"])
                loss = loss + 0.3 * (params[0].square().sum() + params[1].square().sum())
                loss = loss * (-1 if kwargs.get("maximize") else 1)
                loss.backward()
                return loss

            losses, after = [], []
            for step in range(RECORDED[-1]):
                losses.append(opt.step(closure).item())
                if step + 1 in RECORDED:
                    after.append([p.detach().clone() for p in params])
            for name, values in zip(("weight", "bias"), zip(*after)):
                tensors[f"{len(cases)}/after.{name}"] = torch.stack(values)
            evals = opt.state[params[0]]["func_evals"]
            cases.append({"kwargs": kwargs, "dtype": dtype, "losses": losses, "func_evals": evals})
    write_safetensors("lbfgs_runs.safetensors", tensors, {"cases": cases, "recorded": RECORDED})
    return len(cases)


def write():
    (DATA / "torch_optimizers").mkdir(exist_ok=True)
    tensors = {"x": random([12, 3], 500, torch.float64), "y": random([12, 2], 501, torch.float64)}
    shapes = {"0.weight": [8, 3], "0.bias": [8], "2.weight": [2, 8], "2.bias": [2]}
    for i, (key, shape) in enumerate(shapes.items()):
        tensors[f"init.{key}"] = random(shape, 510 + i, torch.float64) * 0.5
    cases = []
    for maximize in (False, True):
        for kwargs in CASES[: 1 if maximize else None]:
            for dtype in ("f64", "f32"):
                kind = DTYPES[dtype]
                if dtype == "f32":
                    # Few iterations: rounding errors grow from one to the next.
                    kwargs = {**kwargs, "max_iter": 4}
                model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)).to(kind)
                model.load_state_dict({key: tensors[f"init.{key}"].to(kind) for key in shapes})
                opt = torch.optim.LBFGS(model.parameters(), maximize=maximize, **kwargs)
                x, y = tensors["x"].to(kind), tensors["y"].to(kind)

                def closure():
                    opt.zero_grad()
                    loss = torch.nn.functional.mse_loss(model(x), y) * (-1 if maximize else 1)
                    loss.backward()
                    return loss

                steps = 6 if dtype == "f64" else 1
                number, saved = len(cases), 3 if dtype == "f64" else None
                losses = []
                for step in range(steps):
                    losses.append(opt.step(closure).item())
                    if step + 1 == saved:
                        torch.save(opt.state_dict(), DATA / "torch_optimizers" / f"lbfgs_{number}.pt")
                        for key, p in model.named_parameters():
                            tensors[f"{number}/saved.{key}"] = p.detach().clone()
                for key, p in model.named_parameters():
                    tensors[f"{len(cases)}/end.{key}"] = p.detach().clone()
                state = opt.state[next(model.parameters())]
                named = {**kwargs, **({"maximize": True} if maximize else {})}
                cases.append(
                    {"kwargs": named, "dtype": dtype, "losses": losses, "func_evals": state["func_evals"], "saved": saved}
                )
    write_safetensors("lbfgs.safetensors", tensors, {"cases": cases})
    return len(cases) + write_runs()
