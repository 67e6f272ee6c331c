"""autocast.safetensors, scaled_runs.json: operations, layers and training in mixed precision.

The case of the safetensors file is `{"ops": [...], "layers": [...], "runs": [...]}`. Each operation is recorded inside of autocast
to bf16 and to f16, from inputs of f32 and of half precision: `op`, `lower`, `inputs` (dtypes), `output` (dtype), `policy`.
`<n>/x.<i>`, `<n>/y` and `<n>/grad.<i>` (`none` if there is none) are its inputs, its output and the gradients for the sum of
the output. Layers are recorded with `layer/<n>/state.<key>`, `x`, `y.<i>`, `grad.x` and `grad.<key>`, for the sum of all outputs.

scaled_runs.json has one training by autocast to bf16, and one to f16 with a gradient scaler whose first scale overflows: the loss,
the scale and whether the step was made, for each step. Their initial values are in the safetensors file, `run/<n>/…`.
"""

import torch
import torch.nn.functional as F

from common import NAMES, random, integers, write_json, write_safetensors

LOWER = {"bf16": torch.bfloat16, "f16": torch.float16}


def index(*shape):
    return torch.zeros(shape, dtype=torch.int64)


CLASSES = torch.tensor([0, 2, 1])
SIGNS = torch.tensor([1, -1, 1])
# name: (policy, function, shapes of the inputs)
OPS = {
    "matmul": ("lower", torch.matmul, [[3, 4], [4, 5]]),
    "matmul_batched": ("lower", torch.matmul, [[2, 3, 4], [2, 4, 5]]),
    "matmul_vector": ("lower", torch.matmul, [[3, 4], [4]]),
    "dot": ("none", torch.dot, [[4], [4]]),
    "outer": ("none", torch.outer, [[3], [4]]),
    "addmm": ("lower", torch.addmm, [[3, 5], [3, 4], [4, 5]]),
    "addmv": ("none", torch.addmv, [[3], [3, 4], [4]]),
    "baddbmm": ("lower", torch.baddbmm, [[2, 3, 5], [2, 3, 4], [2, 4, 5]]),
    "addbmm": ("lower", torch.addbmm, [[3, 5], [2, 3, 4], [2, 4, 5]]),
    "einsum": ("lower", lambda a, b: torch.einsum("ij,jk->ik", a, b), [[3, 4], [4, 5]]),
    "einsum_outer": ("none", lambda a, b: torch.einsum("i,j->ij", a, b), [[3], [4]]),
    "tensordot": ("lower", lambda a, b: torch.tensordot(a, b, 1), [[3, 4], [4, 5]]),
    "linear": ("lower", F.linear, [[3, 4], [5, 4], [5]]),
    "bilinear": ("lower", F.bilinear, [[3, 4], [3, 2], [5, 4, 2], [5]]),
    "conv1d": ("lower", F.conv1d, [[2, 3, 7], [4, 3, 3]]),
    "conv2d": ("lower", F.conv2d, [[2, 3, 5, 5], [4, 3, 3, 3]]),
    "conv3d": ("lower", F.conv3d, [[1, 2, 4, 4, 4], [2, 2, 3, 3, 3]]),
    "conv_transpose1d": ("lower", F.conv_transpose1d, [[2, 3, 5], [3, 2, 3]]),
    "conv_transpose2d": ("lower", F.conv_transpose2d, [[1, 3, 4, 4], [3, 2, 3, 3]]),
    "prelu": ("lower", F.prelu, [[3, 4], [4]]),
    "scaled_dot_product_attention": ("lower", F.scaled_dot_product_attention, [[2, 3, 4], [2, 5, 4], [2, 5, 4]]),
    "avg_pool2d": ("none", lambda x: F.avg_pool2d(x, 2), [[1, 2, 4, 4]]),
    "avg_pool3d": ("f32", lambda x: F.avg_pool3d(x, 2), [[1, 2, 4, 4, 4]]),
    "adaptive_avg_pool3d": ("f32", lambda x: F.adaptive_avg_pool3d(x, 2), [[1, 2, 4, 4, 4]]),
    "adaptive_max_pool3d": ("f32", lambda x: F.adaptive_max_pool3d(x, 2), [[1, 2, 4, 4, 4]]),
    "max_pool2d": ("none", lambda x: F.max_pool2d(x, 2), [[1, 2, 4, 4]]),
    "max_pool3d": ("f32", lambda x: F.max_pool3d(x, 2), [[1, 2, 4, 4, 4]]),
    "max_pool3d_with_indices": ("none", lambda x: F.max_pool3d(x, 2, return_indices=True)[0], [[1, 2, 4, 4, 4]]),
    "reflection_pad2d": ("f32", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), [[1, 2, 3, 3]]),
    "reflection_pad3d": ("none", lambda x: F.pad(x, (1,) * 6, mode="reflect"), [[1, 2, 3, 3, 3]]),
    "replication_pad3d": ("f32", lambda x: F.pad(x, (1,) * 6, mode="replicate"), [[1, 2, 3, 3, 3]]),
    "circular_pad": ("none", lambda x: F.pad(x, (1, 1), mode="circular"), [[1, 2, 3]]),
    "grid_sample": ("f32", lambda x, g: F.grid_sample(x, g, align_corners=False), [[1, 2, 4, 4], [1, 3, 3, 2]]),
    "prod": ("f32", torch.prod, [[3, 4]]),
    "prod_dim": ("f32", lambda x: x.prod(1), [[3, 4]]),
    "sum": ("none", torch.sum, [[3, 4]]),
    "quantile": ("f32", lambda x: x.quantile(0.3), [[7]]),
    "nanquantile": ("f32", lambda x: x.nanquantile(0.3), [[7]]),
    "cdist": ("f32", torch.cdist, [[3, 4], [5, 4]]),
    "pairwise_distance": ("none", F.pairwise_distance, [[3, 4], [3, 4]]),
    "cosine_similarity": ("none", F.cosine_similarity, [[3, 4], [3, 4]]),
    "softmax": ("none", lambda x: x.softmax(1), [[3, 4]]),
    "gelu": ("none", F.gelu, [[3, 4]]),
    "layer_norm": ("none", lambda x: F.layer_norm(x, [4]), [[3, 4]]),
    "cat": ("none", lambda a, b: torch.cat([a, b]), [[3, 4], [2, 4]]),
    "stack": ("none", lambda a, b: torch.stack([a, b]), [[3, 4], [3, 4]]),
    "index_copy": ("none", lambda a, b: a.index_copy(0, torch.tensor([1, 0]), b), [[3, 4], [2, 4]]),
    "add": ("none", torch.add, [[3, 4], [4]]),
    "sub": ("none", torch.sub, [[3, 4], [4]]),
    "mul": ("none", torch.mul, [[3, 4], [4]]),
    "div": ("none", torch.div, [[3, 4], [4]]),
    "maximum": ("none", torch.maximum, [[3, 4], [4]]),
    "where": ("none", lambda a, b: torch.where(a > b, a, b), [[3, 4], [4]]),
    "mse_loss": ("f32", F.mse_loss, [[3, 4], [3, 4]]),
    "l1_loss": ("f32", F.l1_loss, [[3, 4], [3, 4]]),
    "smooth_l1_loss": ("f32", F.smooth_l1_loss, [[3, 4], [3, 4]]),
    "huber_loss": ("f32", F.huber_loss, [[3, 4], [3, 4]]),
    "binary_cross_entropy": ("f32", lambda a, b: F.binary_cross_entropy(a.sigmoid(), b.sigmoid()), [[3, 4], [3, 4]]),
    "binary_cross_entropy_with_logits": ("f32", lambda a, b: F.binary_cross_entropy_with_logits(a, b.sigmoid()), [[3, 4], [3, 4]]),
    "soft_margin_loss": ("f32", lambda a: F.soft_margin_loss(a, SIGNS), [[3]]),
    "multilabel_soft_margin_loss": ("none", lambda a, b: F.multilabel_soft_margin_loss(a, b), [[3, 4], [3, 4]]),
    "cross_entropy": ("f32", lambda x: F.cross_entropy(x, CLASSES), [[3, 4]]),
    "nll_loss": ("f32", lambda x: F.nll_loss(x, CLASSES), [[3, 4]]),
    "kl_div": ("f32", lambda a, b: F.kl_div(a, b.sigmoid()), [[3, 4], [3, 4]]),
    "poisson_nll_loss": ("f32", F.poisson_nll_loss, [[3, 4], [3, 4]]),
    # Its logarithm is rounded to the dtype of the variance.
    "gaussian_nll_loss": ("lower", lambda a, b, c: F.gaussian_nll_loss(a, b, c.abs() + 1), [[3, 4], [3, 4], [3, 4]]),
    "cosine_embedding_loss": ("f32", lambda a, b: F.cosine_embedding_loss(a, b, SIGNS), [[3, 4], [3, 4]]),
    "hinge_embedding_loss": ("f32", lambda a: F.hinge_embedding_loss(a, SIGNS), [[3]]),
    "margin_ranking_loss": ("f32", lambda a, b: F.margin_ranking_loss(a, b, SIGNS), [[3], [3]]),
    "multi_margin_loss": ("f32", lambda a: F.multi_margin_loss(a, CLASSES), [[3, 4]]),
    "multilabel_margin_loss": ("f32", lambda a: F.multilabel_margin_loss(a, torch.tensor([[3, 0, -1, 1]])), [[1, 4]]),
    "triplet_margin_loss": ("f32", F.triplet_margin_loss, [[3, 4], [3, 4], [3, 4]]),
    # After a softmax that is rounded.
    "ctc_loss": ("lower", lambda x: F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2])), [[4, 1, 3]]),
    "linear_cross_entropy": ("lower", lambda x, w: F.linear_cross_entropy(x, w, CLASSES), [[3, 4], [5, 4]]),
    "qr": ("f32", lambda x: torch.linalg.qr(x)[1], [[4, 3]]),
    "inv": ("f32", lambda x: torch.linalg.inv(x + 5 * torch.eye(3)), [[3, 3]]),
}
# What takes two dtypes, f32 first: how the wider one is taken.
MIXED = ["cat", "stack", "index_copy", "add", "sub", "mul", "div", "maximum", "where", "mse_loss", "matmul", "kl_div", "gaussian_nll_loss"]


def record_ops(tensors, cases):
    for lower, dtype in LOWER.items():
        for name, (policy, f, shapes) in OPS.items():
            kinds = ["f32", "half"] + (["mixed", "mixed_back"] if name in MIXED else [])
            for kind in kinds:
                xs = []
                for i, shape in enumerate(shapes):
                    half = kind == "half" or (kind == "mixed" and i > 0) or (kind == "mixed_back" and i == 0)
                    x = random(shape, 900 + i, torch.float32).to(dtype if half else torch.float32)
                    xs.append(x.requires_grad_())
                with torch.autocast("cpu", dtype=dtype):
                    y = f(*xs)
                n = len(cases)
                y.float().sum().backward()
                for i, x in enumerate(xs):
                    tensors[f"{n}/x.{i}"] = x.detach()
                    if x.grad is not None:
                        tensors[f"{n}/grad.{i}"] = x.grad
                tensors[f"{n}/y"] = y.detach()
                cases.append({"op": name, "lower": lower, "inputs": [NAMES[x.dtype] for x in xs], "output": NAMES[y.dtype], "policy": policy})


def flat(out):
    if isinstance(out, torch.Tensor):
        return [out]
    return [y for part in out if part is not None for y in flat(part)]


class Norms(torch.nn.Module):
    """A convolution in half precision, normalized by parameters in f32."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.batch = torch.nn.BatchNorm2d(4)
        self.group = torch.nn.GroupNorm(2, 4)
        self.layer = torch.nn.LayerNorm([4, 4])

    def forward(self, x):
        return self.layer(self.group(self.batch(self.conv(x))))


def layers():
    nn = torch.nn
    return [
        ("Linear", nn.Linear(4, 5), [3, 4], {}),
        ("Conv2d", nn.Conv2d(3, 4, 3), [2, 3, 5, 5], {}),
        ("ConvTranspose2d", nn.ConvTranspose2d(3, 4, 3), [2, 3, 4, 4], {}),
        ("Bilinear", nn.PReLU(4), [3, 4], {}),
        ("Norms", Norms(), [2, 3, 6, 6], {}),
        ("LSTM", nn.LSTM(4, 3, 2, bidirectional=True), [5, 2, 4], {"bf16_only": True}),
        ("LSTM_proj", nn.LSTM(4, 3, proj_size=2), [5, 2, 4], {}),
        ("GRU", nn.GRU(4, 3, 2, bidirectional=True), [5, 2, 4], {}),
        ("RNN", nn.RNN(4, 3), [5, 2, 4], {}),
        ("LSTMCell", nn.LSTMCell(4, 3), [2, 4], {}),
        ("GRUCell", nn.GRUCell(4, 3), [2, 4], {}),
        ("MultiheadAttention", nn.MultiheadAttention(4, 2), [5, 2, 4], {}),
        ("MultiheadAttention_weights", nn.MultiheadAttention(4, 2), [5, 2, 4], {}),
        ("TransformerEncoderLayer", nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), [5, 2, 4], {}),
        ("Softmax", nn.Sequential(nn.Linear(4, 5), nn.Softmax(-1)), [3, 4], {}),
    ]


def call(name, layer, x):
    if name.startswith("MultiheadAttention"):
        weights = name.endswith("weights")
        mask = torch.triu(torch.full((5, 5), -1.5), 1) if weights else None
        return layer(x, x, x, need_weights=weights, attn_mask=mask)
    return layer(x)


def record_layers(tensors, cases):
    for lower, dtype in LOWER.items():
        torch.manual_seed(3)
        for name, layer, shape, options in layers():
            if name == "Bilinear":
                name = "PReLU"
            if lower == "f16" and options:
                continue
            n = f"layer/{len(cases)}"
            for key, value in layer.state_dict().items():
                tensors[f"{n}/state.{key}"] = value.clone()
            x = random(shape, 77).requires_grad_()
            with torch.autocast("cpu", dtype=dtype):
                out = flat(call(name, layer, x))
            sum(y.float().sum() if i == 0 else (y.float() * 0.5).sum() for i, y in enumerate(out)).backward()
            tensors[f"{n}/x"], tensors[f"{n}/grad.x"] = x.detach(), x.grad
            for i, y in enumerate(out):
                tensors[f"{n}/y.{i}"] = y.detach()
            for key, p in layer.named_parameters():
                if p.grad is not None:
                    tensors[f"{n}/grad.{key}"] = p.grad
            for key, value in layer.named_buffers():
                tensors[f"{n}/after.{key}"] = value.clone()
            cases.append({"layer": name, "lower": lower, "outputs": [NAMES[y.dtype] for y in out]})


def record_cache(tensors):
    """A weight used twice, whose gradients 256 and 1 have no sum in bf16."""
    weight = torch.ones(1, 1, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = F.linear(torch.tensor([[256.0]]), weight) + F.linear(torch.tensor([[1.0]]), weight)
    y.float().sum().backward()
    tensors["cache/grad"] = weight.grad
    # Two backward passes of one scope.
    weight.grad = None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for x in (256.0, 1.0):
            F.linear(torch.tensor([[x]]), weight).float().sum().backward()
    tensors["cache/grad.passes"] = weight.grad


def record_accumulation(tensors):
    """Gradients of an epoch of ten rows by steps of four micro-batches of two: the second step has one."""
    torch.manual_seed(9)
    layer = torch.nn.Linear(3, 2)
    x, y = random([10, 3], 51), random([10, 2], 52)
    tensors["sums/x"], tensors["sums/y"] = x, y
    for key, value in layer.state_dict().items():
        tensors[f"sums/state.{key}"] = value
    for step, rows in enumerate((slice(0, 8), slice(8, 10))):
        layer.zero_grad()
        F.mse_loss(layer(x[rows]), y[rows]).backward()
        for key, p in layer.named_parameters():
            tensors[f"sums/{step}.{key}"] = p.grad.clone()


def run(net, x, y, lower, lr, momentum, scaler):
    optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=momentum)
    steps = []
    for step in range(20):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=LOWER[lower]):
            loss = F.cross_entropy(net(x), y)
        before = next(net.parameters()).detach().clone()
        scale = scaler.get_scale() if scaler else 1.0
        if scaler:
            scaler.scale(loss).backward()
            if step % 2:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        moved = not torch.equal(before, next(net.parameters()))
        steps.append({"loss": loss.item(), "scale": scale, "moved": moved})
    return steps


def record_runs(tensors):
    nn, runs = torch.nn, []
    for n, lower in enumerate(("bf16", "f16", "bf16", "f16")):
        torch.manual_seed(20 + n)
        if n < 2:
            net, x = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)), random([32, 6], 61)
        else:
            net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4))
            x = random([16, 2, 6, 6], 62)
        y = integers([x.shape[0]], 63, 0, 4)
        tensors[f"run/{n}/x"], tensors[f"run/{n}/y"] = x, y
        for key, value in net.state_dict().items():
            tensors[f"run/{n}/state.{key}"] = value.clone()
        scaler = None
        if lower == "f16":
            scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=4)
        runs.append({"lower": lower, "steps": run(net, x, y, lower, 0.1 if n < 2 else 0.01, 0.9, scaler), "state": scaler.state_dict() if scaler else {}})
    return runs


def write():
    tensors, ops, layer_cases = {}, [], []
    record_ops(tensors, ops)
    record_layers(tensors, layer_cases)
    record_cache(tensors)
    record_accumulation(tensors)
    runs = record_runs(tensors)
    write_safetensors("autocast.safetensors", tensors, {"ops": ops, "layers": layer_cases})
    write_json("scaled_runs.json", runs)
    return len(ops) + len(layer_cases) + len(runs)
