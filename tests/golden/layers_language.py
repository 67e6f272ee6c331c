"""layers_language.safetensors: layers for language models that torch.nn does not have, compared with
Hugging Face's transformers."""

from layer_family import Family, Input


def transposed(i, o, **kwargs):
    return {"in_features": i, "out_features": o, **kwargs}


def write():
    family = Family("language", modes=("train", "eval"))
    name = "TransposedLinear"
    for kwargs, shape in (
        (transposed(3, 2), [5, 3]),
        (transposed(7, 5), [3, 7]),
        (transposed(4, 3), [4]),
        (transposed(5, 3), [2, 3, 5]),
        (transposed(11, 13), [7, 11]),
        (transposed(1, 1), [2, 1]),
    ):
        family.case(name, kwargs, [shape])
    family.case(name, transposed(6, 4), [Input([3, 6], "strided:1")], dtypes=["f32"])
    family.case(name, transposed(3, 2), [[0, 3]], label="empty batch")
    family.halves(name, transposed(5, 3), [[4, 5]])
    family.refuses(name, transposed(3, -2), quotes=["-2"])
    family.refuses(name, transposed(0, 2), quotes=["in_features = 0"])
    family.refuses(name, transposed(3, 2), [[5, 4]], quotes=["[5, 4]", "3"])
    return family.write()
