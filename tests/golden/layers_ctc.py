"""layers_ctc.safetensors: connectionist temporal classification."""

import torch

from layer_family import Family, Input

NAME = "CTCLoss"


def write():
    family = Family("ctc", modes=("train", "eval"))

    def probabilities(*shape):
        return Input(list(shape), log_softmax=True)

    def both(inputs, label="", dtypes=("f32", "f64"), **kwargs):
        family.case(NAME, kwargs, inputs, dtypes=dtypes, label=label)

    padded = torch.tensor([[1, 2, 3], [2, 2, 0], [3, 0, 0]])
    joined = torch.tensor([1, 2, 3, 2, 2, 3])
    times, letters = torch.tensor([7, 5, 6]), torch.tensor([3, 2, 1])
    for reduction in ("none", "mean", "sum"):
        both([probabilities(7, 3, 4), padded, times, letters], reduction=reduction)
        both([probabilities(7, 3, 4), joined, times, letters], reduction=reduction, label="one after the other")
    both([probabilities(7, 3, 4), padded - 1, times, letters - letters], label="no letters", blank=3)
    both([probabilities(7, 3, 4), torch.tensor([[0, 1, 2], [1, 1, 3], [2, 3, 3]]), times, letters], blank=3)
    both([probabilities(12, 1, 6), torch.tensor([[1, 1, 2, 2, 5]]), torch.tensor([12]), torch.tensor([5])],
         label="letters twice")
    both([probabilities(6, 4), torch.tensor([1, 3]), torch.tensor(6), torch.tensor(2)], label="no batch dimension")
    both([probabilities(6, 4), torch.tensor([1, 3]), torch.tensor(5), torch.tensor(2)], label="no batch dimension",
         reduction="none")
    short = [probabilities(2, 2, 3), torch.tensor([[1, 1], [1, 2]]), torch.tensor([2, 2]), torch.tensor([2, 2])]
    for reduction in ("none", "mean"):
        both(short, zero_infinity=True, reduction=reduction, label="the first has no path")
    family.case(NAME, {"reduction": "none"}, short, backward=False, label="the first has no path: infinity")
    both([probabilities(40, 2, 5), torch.tensor([[1, 2, 3, 4, 4, 3, 2, 1, 1, 2], [4, 1, 4, 1, 0, 0, 0, 0, 0, 0]]),
          torch.tensor([40, 31]), torch.tensor([10, 4])])
    given = [[7, 3, 4], padded, times, letters]

    def refuses(place, value, *quotes, **kwargs):
        inputs = list(given)
        inputs[place] = value
        family.refuses(NAME, kwargs, inputs, quotes=quotes)

    refuses(1, torch.tensor([[1, 2, 3], [2, 2, 0]]), "[2, 3]")
    refuses(2, torch.tensor([8, 5, 6]), "input_lengths = 8", "7")
    refuses(3, torch.tensor([4, 2, 1]), "[3, 3]")
    refuses(1, torch.tensor([1, 2, 3, 2, 2]), "[5]")
    refuses(2, torch.tensor([7, 5]), "[2]", "[3]")
    refuses(0, [7], "[7]")
    none = torch.zeros(0, dtype=torch.int64)
    family.refuses(NAME, {}, [[7, 0, 4], none.reshape(0, 3), none, none], quotes=["[7, 0, 4]"], label="empty batch")
    family.refuses(NAME, {"reduction": "average"}, given, quotes=["average"])
    family.refuses(NAME, {"blank": 4}, given, quotes=["blank = 4"])
    for letter in (4, -1):
        wrong = padded.clone()
        wrong[0, 1] = letter
        family.refuses(NAME, {}, [given[0], wrong, times, letters], quotes=[f"targets = {letter}"], accepted=True)
    wrong = padded.clone()
    wrong[0, 1] = 0
    family.refuses(NAME, {}, [given[0], wrong, times, letters], quotes=["targets = 0"], accepted=True, label="the blank")
    return family.write()
