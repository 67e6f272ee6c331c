"""lbfgs.safetensors: six steps of LBFGS on a small network.

`case` is `{"cases": [{"kwargs", "dtype", "losses", "func_evals"}]}`: the loss that each step returned. `x`, `y` and
`init.<key>` (f64) are those of all cases, cast to their dtypes; `<n>/end.<key>` are the parameters of case n at the end.
Of a case with `saved`, `<n>/saved.<key>` are those after so many steps, and `torch_optimizers/lbfgs_<n>.pt` is `optimizer.state_dict()` then.
"""

import torch

from common import DATA, DTYPES, random, write_safetensors

CASES = [
    dict(lr=0.5),
    dict(lr=0.3, max_iter=7, history_size=3),
    dict(lr=1.0, line_search_fn="strong_wolfe"),
    dict(lr=1.0, line_search_fn="strong_wolfe", max_iter=8, max_eval=11, history_size=4),
    dict(lr=30.0, line_search_fn="strong_wolfe", max_iter=5, tolerance_change=1e-3),
    dict(lr=0.05, max_iter=4, tolerance_grad=1e-2),
]


def write():
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
    return len(cases)
