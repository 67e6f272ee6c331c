"""Normalizations and recurrent layers."""

import torch

from .call import Call


def plain(call):
    """The call, if no elements are repeated: their deviations, and the sums of gradients that cancel, are rounding errors."""
    return None if any(x.is_expanded for x in call.operands()) else call


def norm(draw):
    dtype, op = draw.float(), draw.pick(["layer_norm", "group_norm", "batch_norm", "rms_norm"])
    name = f"nn.functional.{op}"
    if op in ("layer_norm", "rms_norm"):
        shape = draw.shape(least=1, empty=False)
        x, weight = draw.tensor(shape, dtype), draw.tensor(shape[-1:], dtype)
        more = [1e-5] if op == "rms_norm" else [draw.tensor(shape[-1:], dtype)]
        return plain(Call(name, [x, shape[-1:], weight, *more], out="difference", gin="difference"))
    groups = draw.pick([1, 2, 4])
    channels = groups * draw.pick([1, 2, 8])
    longest = 5 if draw.small else 12
    shape = [draw.pick([2, 3]), channels, *(draw.between(2, longest) for _ in range(draw.between(1, 2)))]
    x, weight, bias = draw.tensor(shape, dtype), draw.tensor([channels], dtype), draw.tensor([channels], dtype)
    args = [x, groups, weight, bias] if op == "group_norm" else [x, None, None, weight, bias, True]
    return plain(Call(name, args, out="difference", gin="difference"))


def weights(draw, layer, dtype, sizes):
    """The weights of a recurrent layer by PyTorch's names."""
    hidden, gates = sizes["hidden_size"], {"LSTM": 4, "GRU": 3, "RNN": 1}[layer]
    state = sizes.get("proj_size", 0) or hidden
    directions = ["", "_reverse"] if sizes["bidirectional"] else [""]
    made = {}
    for number in range(sizes["num_layers"]):
        seen = sizes["input_size"] if number == 0 else state * len(directions)
        for direction in directions:
            shapes = {"weight_ih": [gates * hidden, seen], "weight_hh": [gates * hidden, state]}
            if sizes["bias"]:
                shapes |= {"bias_ih": [gates * hidden], "bias_hh": [gates * hidden]}
            if "proj_size" in sizes:
                shapes["weight_hr"] = [state, hidden]
            for name, shape in shapes.items():
                values = lambda base: torch.tensor(draw.state.uniform(-1, 1, size=base) / hidden**0.5)
                made[f"{name}_l{number}{direction}"] = draw.tensor(shape, dtype, plain=True, values=values)
    return made


def recurrent(draw):
    layer, dtype = draw.pick(["LSTM", "GRU", "RNN"]), draw.pick(["f32", "f32", "f32", "f64"])
    hidden = draw.pick([1, 3, 8, 16, 17] if draw.small else [1, 3, 8, 16, 20, 33, 64, 100])
    sizes = {"input_size": draw.pick([1, 5, 9] if draw.small else [1, 5, 16, 33]), "hidden_size": hidden,
             "num_layers": draw.pick([1, 1, 2]), "bias": draw.chance(0.8), "batch_first": draw.chance(0.5),
             "bidirectional": draw.chance(0.3)}
    if layer == "LSTM" and draw.chance(0.2) and hidden > 2:
        sizes["proj_size"] = draw.between(1, hidden - 1)
    steps, batch = draw.pick([1, 2, 5] if draw.small else [1, 2, 5, 12]), draw.pick([1, 2, 3, 8, 9, 17])
    x = draw.tensor([*([batch, steps] if sizes["batch_first"] else [steps, batch]), sizes["input_size"]], dtype)
    # The slope of a saturated gate is a difference of almost equal numbers.
    return Call(f"nn.{layer}", [x, weights(draw, layer, dtype, sizes)], sizes, gin="difference")
