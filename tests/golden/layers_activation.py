"""layers_activation.safetensors: activations."""

import torch

from layer_family import Family

SPECIAL = torch.tensor([-1.5, -0.0, 0.0, 1e-30, 2.5, float("nan"), float("inf"), float("-inf")])


# Where PyTorch's kernels give NaN of an infinity, in the value or the slope.
FINITE = torch.tensor([-1.5, -0.0, 0.0, 1e-30, 2.5, float("nan"), 30.0, -30.0])
# Without NaN: whether its gradient passes through straight pieces depends on PyTorch's vector width.
NUMBERS = torch.tensor([-1.5, -0.0, 0.0, 1e-30, 2.5, float("inf"), float("-inf"), 0.75])
POINTS = torch.tensor([-20.0, -6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 20.0])

# Names, the arguments that each is run with, and what else it is given.
ELEMENTWISE = [
    ("ELU", [{}, {"alpha": 0.5}, {"alpha": -1.5}], SPECIAL),
    ("CELU", [{}, {"alpha": 0.5}, {"alpha": -1.5}], SPECIAL),
    ("SELU", [{}], SPECIAL),
    ("GELU", [{}, {"approximate": "none"}, {"approximate": "tanh"}], FINITE),
    ("Hardshrink", [{}, {"lambd": 1.0}, {"lambd": 0.0}, {"lambd": -0.5}], NUMBERS),
    ("Hardsigmoid", [{}], SPECIAL),
    ("Hardswish", [{}], SPECIAL),
    ("Hardtanh", [{}, {"min_val": -0.5, "max_val": 1.5}, {"min_val": 1.0, "max_val": 2.0}], NUMBERS),
    ("LeakyReLU", [{}, {"negative_slope": 0.25}, {"negative_slope": -2.0}], SPECIAL),
    ("LogSigmoid", [{}], SPECIAL),
    ("Mish", [{}], FINITE),
    ("ReLU6", [{}], NUMBERS),
    ("SiLU", [{}], FINITE),
    ("Sigmoid", [{}], SPECIAL),
    ("Softplus", [{}, {"beta": 2.0}, {"beta": 0.5, "threshold": 1.0}], SPECIAL),
    ("Softshrink", [{}, {"lambd": 1.0}, {"lambd": 0.0}], NUMBERS),
    ("Softsign", [{}], FINITE),
    ("Tanh", [{}], SPECIAL),
    ("Tanhshrink", [{}], SPECIAL),
    ("Threshold", [{"threshold": 0.5, "value": -2.0}, {"threshold": -1.0, "value": 0.0}], SPECIAL),
]


def elementwise(family):
    for name, every, special in ELEMENTWISE:
        for kwargs in every:
            # PyTorch's slope of Hardsigmoid is a sixth in f32, in f64 too.
            for dtype in ("f32", "f64"):
                options = {"dtypes": [dtype], "backward": name != "Hardsigmoid" or dtype == "f32"}
                family.case(name, kwargs, [[3, 7]], mode="eval" if kwargs else "train", **options)
                family.case(name, kwargs, [POINTS], label="at the bends and beyond", **options)
                family.case(name, kwargs, [special], label="zeros and what is large", **options)
            family.case(name, kwargs, [SPECIAL[5:6]], label="NaN", backward=False)
        family.case(name, every[0], [torch.tensor(-0.5)], label="no dimension", backward=name != "Hardsigmoid")
        family.case(name, every[0], [[0, 3]], label="empty")
        family.layouts(name, every[0], [4, 3], "transposed:0,1", "strided:1", "expanded:0")
        family.halves(name, every[0], [[3, 7]])
        if name not in ("ReLU6", "Hardtanh", "Threshold", "Hardshrink", "Softshrink", "Sigmoid", "Tanh", "Softsign", "Tanhshrink"):
            family.refuses(name, every[0], [torch.tensor([1, 2])], quotes=["int64"])
        elif name != "Threshold":
            accepted = name not in ("Hardshrink", "Softshrink")
            family.refuses(name, every[0], [torch.tensor([1, 2])], quotes=["int64"], accepted=accepted)
    family.refuses("Threshold", ELEMENTWISE[-1][1][0], [torch.tensor([True])], quotes=["bool"])
    # PyTorch looks at numbers only where it computes with them.
    for name, argument in (("ELU", "alpha"), ("Hardshrink", "lambd"), ("LeakyReLU", "negative_slope"), ("Softplus", "beta")):
        family.refuses(name, {argument: "one"}, quotes=["one"], accepted=True)
    family.refuses("CELU", {"alpha": 0.0}, [[3]], quotes=["alpha = 0"])
    family.refuses("GELU", {"approximate": "sin"}, [[3]], quotes=["sin"])
    family.refuses("Hardtanh", {"min_val": 1.0, "max_val": -1.0}, quotes=["min_val = 1", "max_val = -1"])
    family.refuses("Hardtanh", {"min_val": 1.0, "max_val": 1.0}, quotes=["min_val = 1", "max_val = 1"])
    family.refuses("Softshrink", {"lambd": -0.5}, [[3]], quotes=["lambd = -0.5"])
    family.refuses("Threshold", {"threshold": 0.5}, quotes=["value"])
    family.refuses("Threshold", {"threshold": 0.5, "value": "one"}, quotes=["one"], accepted=True)
    family.refuses("SELU", {"alpha": 1.0}, quotes=["alpha"])


def rrelu(family):
    for mode in ("train", "eval"):
        family.case("RReLU", {}, [[3, 7]], mode=mode, seed=3)
        family.case("RReLU", {"lower": 0.3, "upper": 0.7}, [[5, 9]], mode=mode, seed=4)
        family.case("RReLU", {"lower": 0.25, "upper": 0.25}, [[5]], mode=mode)
        family.case("RReLU", {"lower": -1.0, "upper": 2.0}, [SPECIAL], mode=mode, seed=1)
        family.case("RReLU", {}, [torch.tensor(-0.5)], mode=mode)
    family.case("RReLU", {}, [[0, 3]], mode="train")
    family.layouts("RReLU", {}, [4, 3], "transposed:0,1", "strided:1", "expanded:0", mode="train", seed=2)
    family.case("RReLU", {}, [[3, 7]], dtypes=["bf16"], mode="train", seed=3)
    family.refuses("RReLU", {"lower": 0.5, "upper": 0.1}, [[3]], quotes=["lower = 0.5", "upper = 0.1"])
    family.refuses("RReLU", {}, [torch.tensor([1, 2])], quotes=["int64"])


def prelu(family):
    family.case("PReLU", {}, [[3, 7]])
    family.case("PReLU", {"num_parameters": 3}, [[2, 3, 4]])
    family.case("PReLU", {"num_parameters": 3, "init": 0.5}, [[2, 3]], perturbed=False)
    family.case("PReLU", {"num_parameters": 2, "init": -1.0}, [[2, 2, 1, 3]], mode="eval")
    family.case("PReLU", {"init": 1.5}, [[2, 3, 2]])
    family.case("PReLU", {}, [SPECIAL], backward=False)
    family.case("PReLU", {}, [torch.tensor(-0.5)], label="no dimension")
    family.case("PReLU", {"num_parameters": 3}, [[0, 3, 4]], label="empty")
    family.layouts("PReLU", {"num_parameters": 3}, [2, 3, 4], "transposed:1,2", "strided:1", "expanded:0")
    family.halves("PReLU", {"num_parameters": 3}, [[2, 3]])
    family.refuses("PReLU", {"num_parameters": 3}, [[2, 4]], quotes=["[2, 4]", "[3]"])
    family.refuses("PReLU", {"num_parameters": 3}, [[3]], quotes=["[3]", "1"])
    family.refuses("PReLU", {"num_parameters": 3}, [torch.tensor(1.0)], quotes=["[]", "[3]"])
    family.refuses("PReLU", {"num_parameters": 0}, quotes=["num_parameters = 0"], accepted=True)


def glu(family):
    family.case("GLU", {}, [[3, 6]])
    family.case("GLU", {"dim": 0}, [[4, 3]])
    family.case("GLU", {"dim": 1}, [[2, 4, 3]], mode="eval")
    family.case("GLU", {"dim": -2}, [[2, 4, 3]])
    family.case("GLU", {}, [[2]])
    family.case("GLU", {}, [[0, 4]], label="empty")
    family.layouts("GLU", {}, [4, 6], "transposed:0,1", "strided:1")
    family.halves("GLU", {}, [[3, 6]])
    family.refuses("GLU", {"dim": 0.5}, quotes=["0.5"], accepted=True)
    family.refuses("GLU", {}, [[2, 3]], quotes=["dimension -1", "[2, 3]"])
    family.refuses("GLU", {"dim": 3}, [[2, 4]], quotes=["3", "[2, 4]"])
    family.refuses("GLU", {}, [torch.tensor(1.0)], quotes=["[]"])


def softmaxes(family):
    large = torch.tensor([[1000.0, 1001.0, -5.0], [0.0, -1000.0, 3.0], [5.0, 5.0, float("-inf")]])
    for name in ("Softmax", "Softmin", "LogSoftmax"):
        family.case(name, {"dim": 1}, [[3, 5]])
        family.case(name, {"dim": -2}, [[2, 3, 4]], mode="eval")
        family.case(name, {"dim": 0}, [[4]])
        for shape in ([], [4], [3, 4], [2, 3, 2], [2, 3, 2, 2]):
            values = torch.tensor(0.5) if shape == [] else shape
            family.case(name, {}, [values], label="PyTorch's own choice of a dimension")
        family.case(name, {"dim": -1}, [large if name != "Softmin" else -large], backward=False, label="far apart")
        family.case(name, {"dim": 1}, [[0, 5]], label="empty")
        family.layouts(name, {"dim": 0}, [4, 3], "transposed:0,1", "strided:1", "expanded:0")
        family.halves(name, {"dim": 1}, [[3, 5]])
        family.refuses(name, {"dim": 2}, [[3, 5]], quotes=["2", "[3, 5]"])
        family.refuses(name, {"dim": 0}, [torch.tensor([1, 2])], quotes=["int64"])
        family.refuses(name, {"dim": 0.5}, quotes=["0.5"], accepted=name == "Softmin")
    family.case("Softmax2d", {}, [[2, 3, 2, 2]])
    family.case("Softmax2d", {}, [[3, 2, 2]], mode="eval", label="no batch")
    family.case("Softmax2d", {}, [[1, 5, 3, 1]])
    family.case("Softmax2d", {}, [[3, 1, 1, 7]], label="one channel")
    family.case("Softmax2d", {}, [[0, 3, 2, 2]], label="empty")
    family.layouts("Softmax2d", {}, [2, 3, 4, 2], "transposed:1,3")
    family.halves("Softmax2d", {}, [[2, 3, 2, 2]])
    family.refuses("Softmax2d", {}, [[2, 3]], quotes=["[2, 3]"])
    family.refuses("Softmax2d", {"dim": 1}, quotes=["dim"])


def write():
    family = Family("activation", modes=("train", "eval"))
    family.case("ReLU", {}, [[3, 5]])
    family.case("ReLU", {}, [SPECIAL], label="zeros, NaN and infinities")
    family.case("ReLU", {}, [torch.tensor(-0.5)], label="no dimension")
    family.case("ReLU", {}, [[2, 3, 1, 5]])
    family.case("ReLU", {}, [[0, 3]], label="empty")
    family.layouts("ReLU", {}, [4, 3], "transposed:0,1", "strided:1")
    family.halves("ReLU", {}, [SPECIAL])
    family.refuses("ReLU", {}, [torch.tensor([True])], quotes=["bool"])
    for part in (elementwise, rrelu, prelu, glu, softmaxes):
        part(family)
    return family.write()
