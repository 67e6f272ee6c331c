"""layers_lookup.safetensors: embeddings, and layers with two inputs: products, similarities, distances."""

import torch

from common import integers, random
from layer_family import Family, Input


def table(count, width, **kwargs):
    return {"num_embeddings": count, "embedding_dim": width, **kwargs}


def embedding(family):
    name, few = "Embedding", torch.tensor([[1, 0, 3], [3, 3, 4]])
    family.case(name, table(5, 3), [few])
    family.case(name, table(7, 2), [integers([4], 1, 0, 7)], seed=2)
    family.case(name, table(5, 3, padding_idx=3), [few])
    family.case(name, table(5, 3, padding_idx=-2), [few], mode="eval")
    family.case(name, table(5, 3, scale_grad_by_freq=True), [few])
    family.case(name, table(5, 3, scale_grad_by_freq=True, padding_idx=0), [few], mode="eval")
    family.case(name, table(5, 3, max_norm=1.0), [few], warmup=1)
    family.case(name, table(5, 3, max_norm=0.5, norm_type=1.0), [few], mode="eval")
    family.case(name, table(5, 3, max_norm=50.0), [few], label="no row is too long")
    family.case(name, table(5, 3), [torch.tensor(2)], label="no dimension")
    family.case(name, table(5, 3), [torch.zeros([0, 2], dtype=torch.int64)], label="empty")
    family.case(name, table(5, 3), [few.to(torch.int32)], label="int32")
    family.case(name, table(5, 3), [Input(few, "transposed:0,1")], dtypes=["f32"])
    family.case(name, table(5, 3), [Input(few, "strided:1")], dtypes=["f32"])
    family.halves(name, table(5, 3), [few])
    family.refuses(name, table(-5, 3), quotes=["-5"])
    family.refuses(name, table(0, 3), quotes=["num_embeddings = 0"], accepted=True)
    family.refuses(name, table(5, 0), quotes=["embedding_dim = 0"], accepted=True)
    family.refuses(name, table(3, 2, padding_idx=3), quotes=["padding_idx = 3", "num_embeddings = 3"])
    family.refuses(name, table(3, 2, padding_idx=-4), quotes=["padding_idx = -4", "num_embeddings = 3"])
    family.refuses(name, table(3, 2, sparse=True), quotes=["sparse = true"], accepted=True)
    family.refuses(name, table(5, 3), [torch.tensor([5])], quotes=["5"])
    family.refuses(name, table(5, 3), [torch.tensor([-1])], quotes=["-1"])
    family.refuses(name, table(5, 3), [[2]], quotes=["float32"])


def embedding_bag(family):
    name, grid = "EmbeddingBag", torch.tensor([[1, 0, 3], [3, 3, 4]])
    listed, offsets = torch.tensor([1, 4, 0, 3, 3, 2, 1]), torch.tensor([0, 3, 3, 5])
    ends = torch.tensor([0, 3, 3, 5, 7])
    for mode in ("sum", "mean", "max"):
        family.case(name, table(5, 3, mode=mode), [grid])
        family.case(name, table(5, 3, mode=mode), [listed, offsets], label="an empty bag")
        family.case(name, table(5, 3, mode=mode, padding_idx=3), [listed, offsets], mode="eval")
        family.case(name, table(5, 3, mode=mode, padding_idx=-4), [torch.tensor([[1, 1], [0, 1]])], label="a bag of padding")
        family.case(name, table(5, 3, mode=mode, include_last_offset=True), [listed, ends])
        family.case(name, table(5, 3, mode=mode, max_norm=1.0), [listed, offsets])
        family.case(name, table(5, 3, mode=mode), [listed[:0], offsets[:0]], label="no bag")
        family.case(name, table(5, 3, mode=mode), [listed[:0], torch.tensor([0, 0])], label="empty bags")
        if mode != "max":
            family.case(name, table(5, 3, mode=mode, scale_grad_by_freq=True), [listed, offsets])
    family.case(name, table(5, 3), [grid], seed=1, label="the mean when not told otherwise")
    family.case(name, table(5, 3, mode="max", norm_type=1.0, max_norm=0.5), [Input(grid, "transposed:0,1")], dtypes=["f32"])
    weights = Input([7])
    family.case(name, table(5, 3, mode="sum"), [listed, offsets, weights])
    family.case(name, table(5, 3, mode="sum"), [grid], named={"per_sample_weights": Input([2, 3])})
    family.case(name, table(5, 3, mode="sum", padding_idx=3), [listed], named={"per_sample_weights": weights, "offsets": offsets})
    family.case(name, table(5, 3, mode="sum", include_last_offset=True), [listed.to(torch.int32), ends.to(torch.int32), weights])
    family.halves(name, table(5, 3), [grid])
    family.refuses(name, table(5, 2, mode="median"), [grid], quotes=["median"])
    family.refuses(name, table(5, 2, sparse=True), quotes=["sparse = true"], accepted=True)
    family.refuses(name, table(5, 2, padding_idx=5), quotes=["padding_idx = 5"])
    family.refuses(name, table(5, 2), [grid, torch.tensor([0])], quotes=["offsets = [1]"])
    family.refuses(name, table(5, 2), [listed], quotes=["offsets"])
    family.refuses(name, table(5, 2), [listed, torch.tensor([1, 2])], quotes=["offsets", "1"])
    family.refuses(name, table(5, 2), [listed, torch.tensor([0, 9])], quotes=["offsets", "9", "7"])
    family.refuses(name, table(5, 2), [listed, torch.tensor([0, 3, 2])], quotes=["from 3 to 2"], accepted=True)
    family.refuses(name, table(5, 2), [listed, torch.tensor([[0, 3]])], quotes=["offsets = [1, 2]"])
    family.refuses(name, table(5, 2, include_last_offset=True), [listed, offsets[:0]], quotes=["offsets = [0]"])
    family.refuses(name, table(5, 2), [torch.tensor([[[1]]])], quotes=["[1, 1, 1]"])
    family.refuses(name, table(5, 3), [torch.tensor([[5]])], quotes=["5"])
    family.refuses(name, table(5, 2), [listed, offsets, weights], quotes=["per_sample_weights = [7]", "sum"])
    family.refuses(name, table(5, 2, mode="sum"), [listed, offsets, Input([6])], quotes=["[7]", "[6]"])
    family.refuses(name, table(5, 2, mode="max", scale_grad_by_freq=True), [grid], quotes=["scale_grad_by_freq = true"])


def bilinear(family):
    def of(one, two, out, **kwargs):
        return {"in1_features": one, "in2_features": two, "out_features": out, **kwargs}

    name = "Bilinear"
    family.case(name, of(2, 3, 4), [[5, 2], [5, 3]])
    family.case(name, of(3, 2, 1, bias=False), [[4, 3], [4, 2]], seed=1)
    family.case(name, of(2, 3, 4), [[2], [3]], label="no batch")
    family.case(name, of(2, 3, 4), [[2, 5, 2], [2, 5, 3]], mode="eval")
    family.case(name, of(1, 1, 1), [[3, 1], [3, 1]])
    family.case(name, of(2, 3, 4), [[0, 2], [0, 3]], label="empty batch")
    family.case(name, of(2, 3, 4), [Input([5, 2], "transposed:0,1"), Input([5, 3], "strided:0")], dtypes=["f32"])
    family.halves(name, of(2, 3, 4), [[5, 2], [5, 3]])
    family.refuses(name, of(0, 3, 4), quotes=["in1_features = 0"])
    family.refuses(name, of(2, -3, 4), quotes=["-3"])
    family.refuses(name, of(2, 3, 0), quotes=["out_features = 0"], accepted=True)
    family.refuses(name, of(2, 3, 4), [[5, 2], [4, 3]], quotes=["[5, 2]", "[4, 3]"])
    family.refuses(name, of(2, 3, 4), [[5, 2], [1, 3]], quotes=["[5, 2]", "[1, 3]"])
    family.refuses(name, of(2, 3, 4), [[5, 2], [5, 2]], quotes=["[5, 2]", "3"])


def similarities(family):
    name = "CosineSimilarity"
    family.case(name, {}, [[4, 3], [4, 3]])
    family.case(name, {"dim": 0}, [[5], [5]])
    family.case(name, {"dim": -1, "eps": 0.5}, [[2, 3, 4], [2, 3, 4]], mode="eval")
    family.case(name, {"eps": 10.0}, [[4, 3], [4, 3]], label="every norm is raised")
    family.case(name, {}, [[3, 4], [2, 3, 1]], label="broadcast")
    family.case(name, {"dim": 2}, [[2, 1, 3], [4, 3]], label="broadcast")
    family.case(name, {}, [torch.zeros(2, 3), [2, 3]], label="a vector of zeros")
    family.case(name, {}, [[0, 3], [0, 3]], label="empty")
    family.case(name, {}, [Input([4, 3], "transposed:0,1"), Input([4, 3], "expanded:0")], dtypes=["f32"])
    family.halves(name, {}, [[4, 3], [4, 3]])
    family.refuses(name, {}, [[3], [3]], quotes=["1", "[3]"])
    family.refuses(name, {}, [[3, 4], [3, 5]], quotes=["[3, 4]", "[3, 5]"])
    family.refuses(name, {}, [torch.ones(2, 3).long(), torch.ones(2, 3).long()], quotes=["int64"])
    family.refuses(name, {"eps": -1.0}, [[3, 4], [3, 4]], quotes=["eps = -1"])

    name = "PairwiseDistance"
    family.case(name, {}, [[4, 3], [4, 3]])
    for p in (0.0, 1.0, 1.5, 3.0):
        family.case(name, {"p": p, "keepdim": True}, [[4, 3], [4, 3]], mode="eval", backward=p > 0.0)
    family.case(name, {"eps": 0.0}, [[2, 3, 4], [2, 3, 4]])
    family.case(name, {"eps": 0.1}, [[3], [3]], label="no batch")
    family.case(name, {"keepdim": True}, [[3, 4], [4]], label="broadcast")
    family.case(name, {}, [random([2, 3], 4), random([2, 3], 4)], label="equal vectors are apart by eps")
    family.case(name, {}, [[0, 4], [0, 4]], label="empty")
    family.case(name, {}, [Input([4, 3], "transposed:0,1"), Input([4, 3], "strided:1")], dtypes=["f32"])
    family.halves(name, {}, [[4, 3], [4, 3]])
    family.refuses(name, {}, [[3, 4], [3, 5]], quotes=["[3, 4]", "[3, 5]"])
    family.refuses(name, {"norm": 1}, quotes=["norm"])
    family.refuses(name, {"p": "two"}, quotes=["two"], accepted=True)
    family.refuses(name, {"p": 2.0}, [torch.ones(2, 3).long(), torch.ones(2, 3).long()], quotes=["int64"], accepted=True)


def adaptive(family):
    def of(size, classes, cutoffs, **kwargs):
        return {"in_features": size, "n_classes": classes, "cutoffs": cutoffs, **kwargs}

    name = "AdaptiveLogSoftmaxWithLoss"
    target = torch.tensor([0, 11, 5, 9, 3, 2])
    for mode in ("train", "eval"):
        family.case(name, of(16, 12, [4, 8]), [[6, 16], target], mode=mode)
        family.case(name, of(9, 12, [4, 8], div_value=2.0, head_bias=True), [[6, 9], target], mode=mode)
    family.case(name, of(16, 12, [10], div_value=1.5), [[6, 16], target])
    family.case(name, of(16, 12, [1, 2, 11], div_value=2.0), [[6, 16], target], seed=1, label="a cluster of one")
    family.case(name, of(16, 12, [1, 2, 8], div_value=2.0), [[6, 16], target], seed=1)
    family.case(name, of(16, 12, [4, 8]), [[6, 16], target % 4], label="the shortlist alone")
    family.case(name, of(16, 12, [4, 8]), [[16], torch.tensor(9)], label="no batch")
    family.case(name, of(16, 12, [4, 8]), [[0, 16], target[:0]], label="empty batch: NaN")
    family.case(name, of(16, 12, [4, 8]), [Input([6, 16], "transposed:0,1"), target], dtypes=["f32"])
    family.refuses(name, of(16, 12, []), quotes=["cutoffs = []"])
    family.refuses(name, of(16, 12, [8, 4]), quotes=["cutoffs = [8, 4]"])
    family.refuses(name, of(16, 12, [4, 4]), quotes=["cutoffs = [4, 4]"])
    family.refuses(name, of(16, 12, [0, 4]), quotes=["cutoffs = [0, 4]"])
    family.refuses(name, of(16, 12, [4, 12]), quotes=["cutoffs = [4, 12]", "12"])
    family.refuses(name, of(16, 12, [-4, 8]), quotes=["-4"])
    family.refuses(name, of(8, 12, [4, 8]), quotes=["div_value = 4", "8"], accepted=True)
    family.refuses(name, of(16, 12, [4, 8]), [[6, 16], target + 1], quotes=["12"])
    family.refuses(name, of(16, 12, [4, 8]), [[6, 16], target - 1], quotes=["-1"])
    family.refuses(name, of(16, 12, [4, 8]), [[5, 16], target], quotes=["[5, 16]", "[6]"])
    family.refuses(name, of(16, 12, [4, 8]), [[6, 15], target], quotes=["[6, 15]", "16"])
    family.refuses(name, of(16, 12, [4, 8]), [[6, 2, 16], target.reshape(3, 2)], quotes=["[6, 2, 16]", "[3, 2]"])


def write():
    family = Family("lookup")
    for part in (embedding, embedding_bag, bilinear, similarities, adaptive):
        part(family)
    return family.write()
