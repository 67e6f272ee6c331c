"""Directories of published models: a small checkpoint written by its library, and its results.

`data/models/<name>/` has `config.json` and the weights, written by the library, and `<name>.safetensors` next to it:

    input, grad_output             of both modes; inputs of several tensors are input0, input1, ...
    <mode>/<dtype>/output          train or eval, f32 or f64
    <mode>/<dtype>/grad_input      unless the input is integers
    <mode>/<dtype>/grad/<key>      gradients of all trained parameters for `grad_output`; in f32 of the first mode
    <mode>/<dtype>/after/<key>     buffers after a pass in training

Originals that are in no package are read from clones in the folder `MODEL_SOURCES` (README.md).
"""

import ast
import copy
import io
import json
import os
import pathlib
import tokenize

import torch

from common import DATA, NAMES, random, write_safetensors

MODELS = DATA / "models"

# Set before each pass, for what is drawn in it.
SEED = 5


def source(path):
    """The text of a file of a clone."""
    folder = os.environ.get("MODEL_SOURCES")
    if folder is None:
        raise SystemExit("MODEL_SOURCES must name the folder with the clones that README.md lists")
    return (pathlib.Path(folder) / path).read_text()


def definitions(path, given, width=1):
    """Classes and functions of a script, made without running the rest of it; numbers from 64 on are divided by `width`."""
    tree = ast.parse(source(path))
    tree.body = [node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 64:
            node.value //= width
    scope = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, **given}
    exec(compile(tree, path, "exec"), scope)
    return scope


def save(name, model, config, file):
    """Writes a model of a script, whose configuration is no file there."""
    folder = MODELS / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config) + "\n")
    torch.save(model.state_dict(), folder / file)


def move(model, seed=7):
    """Moves what is constant or tiny, because ones and zeros hide mistakes; all weights are exact in f32."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if not value.is_floating_point():
                value.fill_(3)
            elif key.endswith("running_var"):
                value.copy_(torch.rand_like(value) + 0.5)
            elif value.dim() == 1 or value.std() < 1e-3:
                value.add_(torch.randn_like(value) * 0.1)
    return model


def record(name, model, inputs, modes=("train", "eval"), gradients=("train", "eval"), call=None):
    """Writes `expected.safetensors` for a model whose directory is written already."""
    call = call or (lambda model, *inputs: model(*inputs))
    tensors = {}
    many = len(inputs) > 1
    for i, x in enumerate(inputs):
        tensors[f"input{i}" if many else "input"] = x
    for mode in modes:
        for dtype in (torch.float32, torch.float64):
            net = copy.deepcopy(model).to(dtype).train(mode == "train")
            given = [x.detach().clone().to(dtype) if x.is_floating_point() else x for x in inputs]
            given[0].requires_grad_(given[0].is_floating_point())
            torch.manual_seed(SEED)
            output = call(net, *given)
            if "grad_output" not in tensors:
                tensors["grad_output"] = random(output.shape, 99).to(torch.float32)
            output.backward(tensors["grad_output"].to(dtype))
            at = f"{mode}/{NAMES[dtype]}"
            tensors[f"{at}/output"] = output
            if mode not in gradients or (mode != modes[0] and dtype == torch.float32):
                continue
            tensors[f"{at}/grad_input"] = given[0].grad
            trained = ((key, parameter) for key, parameter in net.named_parameters() if parameter.requires_grad)
            for key, parameter in trained:
                assert parameter.grad.any() and parameter.grad.isfinite().all(), key
                tensors[f"{at}/grad/{key}"] = parameter.grad
            if mode == "train":
                saved = net.state_dict()
                for key, buffer in net.named_buffers():
                    if key in saved:
                        tensors[f"{at}/after/{key}"] = buffer
    tensors = {key: value for key, value in tensors.items() if value is not None}
    write_safetensors(f"models/{name}.safetensors", tensors, {"model": name})
    size = sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file() and path.parent.name == name or path.stem == name)
    print(f"  {name}: {size} bytes")
    return len(tensors)


def count_definitions(text, names):
    """Lines of code of the classes and functions of these names."""
    nodes = {node.name: node for node in ast.parse(text).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    return sum(count_lines(ast.get_source_segment(text, nodes[name])) for name in names)


def count_lines(text):
    """Lines of code: without empty lines, comments and docstrings."""
    tree = ast.parse(text)
    documentation = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            documentation.update(range(body[0].lineno, body[0].end_lineno + 1))
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - documentation)
