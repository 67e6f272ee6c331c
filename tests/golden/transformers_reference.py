"""Layers of Hugging Face's transformers under the names of this library."""

from transformers.pytorch_utils import Conv1D


class TransposedLinear(Conv1D):
    def __init__(self, in_features, out_features):
        assert in_features > 0 and out_features > 0
        super().__init__(out_features, in_features)
