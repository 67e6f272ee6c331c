"""models/rnn_lstm, rnn_gru, rnn_relu: the RNNModel of PyTorch's example, and windows of a text through which its states
are carried (<name>_windows)."""

import copy

import torch
from torch import nn

from common import integers, write_safetensors
from published import SEED, definitions, move, record, save

WORDS = 11

CASES = {
    "rnn_lstm": {"rnn_type": "LSTM", "ntoken": WORDS, "ninp": 6, "nhid": 6, "nlayers": 2, "dropout": 0.3, "tie_weights": True},
    "rnn_gru": {"rnn_type": "GRU", "ntoken": WORDS, "ninp": 5, "nhid": 7, "nlayers": 2, "dropout": 0.2, "tie_weights": False},
    "rnn_relu": {"rnn_type": "RNN_RELU", "ntoken": WORDS, "ninp": 4, "nhid": 6, "nlayers": 1, "dropout": 0.0, "tie_weights": False},
}

# Each position of two texts in three windows.
LENGTH, TEXTS, WINDOW = 16, 2, 6


def flat(output, hidden):
    hidden = hidden if isinstance(hidden, tuple) else (hidden,)
    return torch.cat([output.flatten()] + [state.flatten() for state in hidden])


def whole(model, words):
    return flat(*model(words, model.init_hidden(words.size(1))))


def write_windows(name, model):
    """Training as the example does it: the states go on from window to window, gradients do not."""
    text = integers([LENGTH, TEXTS], 3, 0, WORDS)
    tensors = {"text": text}
    for dtype, key in ((torch.float32, "f32"), (torch.float64, "f64")):
        net = copy.deepcopy(model).to(dtype).train()
        hidden = net.init_hidden(TEXTS)
        torch.manual_seed(SEED)
        for i, start in enumerate(range(0, LENGTH - 1, WINDOW)):
            end = min(start + WINDOW, LENGTH - 1)
            hidden = tuple(state.detach() for state in hidden) if isinstance(hidden, tuple) else hidden.detach()
            net.zero_grad()
            output, hidden = net(text[start:end], hidden)
            loss = nn.NLLLoss()(output, text[start + 1 : end + 1].view(-1))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.25)
            with torch.no_grad():
                for parameter in net.parameters():
                    parameter.add_(parameter.grad, alpha=-2.0)
            tensors |= {f"{key}/{i}/loss": loss, f"{key}/{i}/norm": norm, f"{key}/{i}/output": flat(output, hidden)}
        tensors |= {f"{key}/trained/{path}": parameter for path, parameter in net.named_parameters()}
    write_safetensors(f"models/{name}_windows.safetensors", tensors, {"model": name})
    return 1


def write():
    total = 0
    scope = definitions("examples/word_language_model/model.py", {})
    for name, config in CASES.items():
        torch.manual_seed(0)
        model = move(scope["RNNModel"](**config))
        save(name, model, config, "model.pt")
        modes = ("train", "eval") if config["dropout"] else ["eval"]
        total += record(name, model, [integers([4, 3], 1, 0, WORDS)], modes=modes, call=whole)
        total += write_windows(name, model)
    return total
