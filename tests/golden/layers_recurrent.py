"""layers_recurrent.safetensors: recurrent layers and cells."""

from layer_family import Family, Input, Packed

INPUT, HIDDEN = 3, 2


def sizes(**kwargs):
    return {"input_size": INPUT, "hidden_size": HIDDEN, **kwargs}


def states(layer, kwargs, batch):
    """Shapes of the first states; a tuple for an LSTM. Without a batch if there is none."""
    passes = kwargs.get("num_layers", 1) * (2 if kwargs.get("bidirectional") else 1)
    shape = [passes] + ([] if batch is None else [batch])
    if layer == "LSTM":
        return [Input(shape + [kwargs.get("proj_size") or HIDDEN]), Input(shape + [HIDDEN])]
    return Input(shape + [HIDDEN])


def layers(family):
    for layer in ("RNN", "LSTM", "GRU"):

        def case(inputs, first=None, given="", label="", mode="train", seed=0, dtypes=("f32", "f64"), **kwargs):
            arguments = sizes(**kwargs)
            inputs = [inputs] + ([states(layer, arguments, first)] if given else [])
            family.case(layer, arguments, inputs, mode=mode, seed=seed, dtypes=dtypes, label=label)

        case([4, 3, INPUT])
        case([4, 3, INPUT], 3, given="first states")
        case([3, 4, INPUT], batch_first=True, bias=False)
        case([4, INPUT], label="without a batch")
        case([4, INPUT], None, given="first states", bidirectional=True, label="without a batch")
        case([4, 3, INPUT], 3, given="first states", num_layers=2, bidirectional=True)
        case([1, 1, INPUT], num_layers=2, bias=False, mode="eval")
        case([2, 3, INPUT], num_layers=3, dropout=0.4, seed=3)
        case([2, 3, INPUT], num_layers=2, dropout=0.4, bidirectional=True, batch_first=True, seed=4)
        case([2, 3, INPUT], num_layers=2, dropout=0.4, mode="eval")
        case(Input([4, 3, INPUT], "transposed:0,1"), dtypes=("f32",))
        case([4, 0, INPUT], bidirectional=True, label="an empty batch")
        case([3, 2, INPUT], dtypes=("f16", "bf16"))
        case(Packed([5, 3, INPUT], [5, 2, 1]))
        case(Packed([4, 4, INPUT], [2, 4, 1, 2], enforce_sorted=False), 4, given="first states", bidirectional=True)
        case(Packed([4, 3, INPUT], [3, 4, 1], enforce_sorted=False), num_layers=2, dropout=0.3, bidirectional=True,
             seed=5)
        case(Packed([4, 3, INPUT], [3, 3, 3]), 3, given="first states", batch_first=True, label="a step is never seen")
    for kwargs in ({"nonlinearity": "relu"}, {"nonlinearity": "relu", "bidirectional": True, "num_layers": 2}):
        family.case("RNN", sizes(**kwargs), [[4, 3, INPUT]])
    for kwargs in ({}, {"bidirectional": True, "num_layers": 2}, {"bias": False, "num_layers": 2, "dropout": 0.5}):
        kwargs = {"input_size": INPUT, "hidden_size": 3, "proj_size": 2, **kwargs}
        family.case("LSTM", kwargs, [[4, 3, INPUT]], seed=1)
        family.case("LSTM", kwargs, [Packed([4, 3, INPUT], [4, 2, 1])], seed=1)


def cells(family):
    for cell in ("RNNCell", "LSTMCell", "GRUCell"):
        def first(*shape):
            return [list(shape)] * 2 if cell == "LSTMCell" else list(shape)

        def state(*shape):
            return [Input(list(shape)), Input(list(shape))] if cell == "LSTMCell" else Input(list(shape))

        family.case(cell, sizes(), [[4, INPUT]])
        family.case(cell, sizes(), [[4, INPUT], state(4, HIDDEN)])
        family.case(cell, sizes(bias=False), [[4, INPUT], state(4, HIDDEN)], mode="eval")
        family.case(cell, sizes(), [[INPUT], state(HIDDEN)], label="without a batch")
        family.case(cell, sizes(), [[INPUT]], label="without a batch or a state")
        family.case(cell, {"input_size": 1, "hidden_size": 5}, [[1, 1], state(1, 5)])
        family.case(cell, sizes(), [[0, INPUT]], label="an empty batch")
        family.layouts(cell, sizes(), [4, INPUT], "transposed:0,1", "narrowed:0")
        family.refuses(cell, sizes(hidden_size=-1), quotes=["-1"])
        family.refuses(cell, sizes(input_size=0), quotes=["input_size = 0"], accepted=True)
        family.refuses(cell, sizes(hidden_size=0), quotes=["hidden_size = 0"], accepted=True)
        family.refuses(cell, sizes(), [[4, 5]], quotes=["input_size = 3", "[4, 5]"])
        family.refuses(cell, sizes(), [[2, 2, INPUT]], quotes=["[2, 2, 3]"])
        family.refuses(cell, sizes(), [[4, INPUT], state(3, HIDDEN)], quotes=["[4, 2]", "[3, 2]"])
        family.refuses(cell, sizes(), [[4, INPUT], state(4, 5)], quotes=["[4, 2]", "[4, 5]"])
    for options in ({}, {"bias": False}):
        family.case("RNNCell", sizes(nonlinearity="relu", **options), [[4, INPUT], [4, HIDDEN]])
    family.refuses("RNNCell", sizes(nonlinearity="gelu"), [[4, INPUT]], quotes=["gelu"])


def refusals(family):
    for layer in ("RNN", "LSTM", "GRU"):

        def refuses(kwargs, *inputs, quotes, accepted=False):
            family.refuses(layer, sizes(**kwargs), list(inputs) or None, quotes=quotes, accepted=accepted)

        for name in ("input_size", "hidden_size", "num_layers"):
            refuses({name: 0}, quotes=[f"{name} = 0"])
        refuses({"num_layers": -1}, quotes=["-1"])
        refuses({"dropout": 1.5}, quotes=["dropout = 1.5"])
        refuses({"dropout": -0.1}, quotes=["dropout = -0.1"])
        refuses({}, [4, 3, 5], quotes=["input_size = 3", "[4, 3, 5]"])
        refuses({}, [3], quotes=["[3]"])
        refuses({}, [2, 2, 2, INPUT], quotes=["[2, 2, 2, 3]"])
        refuses({}, [0, 2, INPUT], quotes=["[0, 2, 3]"])
        pair = (lambda *shape: [Input(list(shape)), Input(list(shape))]) if layer == "LSTM" else (
            lambda *shape: Input(list(shape)))
        refuses({}, [4, 3, INPUT], pair(1, 2, HIDDEN), quotes=["[1, 3, 2]", "[1, 2, 2]"])
        refuses({"num_layers": 2}, [4, 3, INPUT], pair(1, 3, HIDDEN), quotes=["[2, 3, 2]", "[1, 3, 2]"])
        refuses({}, [4, 3, INPUT], pair(1, HIDDEN), quotes=["[1, 2]"])
        refuses({}, [4, INPUT], pair(1, 3, HIDDEN), quotes=["[1, 3, 2]"])
        refuses({}, Packed([4, 2, 5], [4, 2]), quotes=["input_size = 3", "5"])
        refuses({}, Packed([4, 2, INPUT], [4, 2]), pair(1, 3, HIDDEN), quotes=["[1, 2, 2]", "[1, 3, 2]"])
    for proj_size in (2, 3):
        family.refuses("LSTM", sizes(proj_size=proj_size), quotes=[f"proj_size = {proj_size}", "hidden_size = 2"])
    family.refuses("LSTM", sizes(proj_size=-1), quotes=["-1"])
    family.refuses("RNN", sizes(nonlinearity="gelu"), quotes=["gelu"])
    family.refuses("GRU", sizes(proj_size=1), quotes=["proj_size"])


def write():
    family = Family("recurrent")
    layers(family)
    cells(family)
    refusals(family)
    return family.write()
