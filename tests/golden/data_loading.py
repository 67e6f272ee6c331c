"""data_loading.json: the orders of torch.utils.data from seeds."""

import itertools

import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)

from common import write_json

CASES = []


def record(kind, args, epochs, **more):
    CASES.append({"kind": kind, "args": args, "epochs": epochs, **more})


def after(generator=None):
    """What is drawn next, which says where the generator was left."""
    return torch.randint(1 << 20, (2,), generator=generator).tolist()


def sampled(kind, args, make, seed):
    """Two epochs of a sampler, from the default generator and from one of its own."""
    torch.manual_seed(seed)
    sampler = make(None)
    epochs = [list(sampler) for _ in range(2)]
    record(kind, args | {"seed": seed, "own": False}, epochs, after=after())
    generator = torch.Generator().manual_seed(seed)
    sampler = make(generator)
    epochs = [list(sampler) for _ in range(2)]
    record(kind, args | {"seed": seed, "own": True}, epochs, after=after(generator))


def refused(kind, args, make):
    try:
        make()
    except (ValueError, AssertionError) as error:
        record(kind, args, None, torch=str(error).split("\n")[0])
    else:
        raise AssertionError(f"{kind} takes {args}")


def splits():
    cases = [(10, [3, 7]), (10, [0.75, 0.25]), (7, [0.3, 0.3, 0.4]), (11, [0.1] * 10), (23, [0.5, 0.2, 0.2, 0.1]), (3, [0.0, 1.0]),
             (4, [0, 4, 0]), (100, [0.9, 0.1]), (17, [0.34, 0.33, 0.33])]
    for seed, (length, lengths) in enumerate(cases):
        generator = torch.Generator().manual_seed(seed)
        parts = random_split(range(length), lengths, generator=generator)
        record("random_split", {"len": length, "lengths": lengths, "seed": seed}, [list(part.indices) for part in parts],
               after=after(generator))
    for length, lengths in [(10, [3, 8]), (10, [0.5, 0.6]), (10, [1.5, -0.5])]:
        refused("random_split", {"len": length, "lengths": lengths, "seed": 0}, lambda: random_split(range(length), lengths))


def samplers():
    for seed, (length, replacement, num_samples) in enumerate(itertools.product([1, 5, 40], [False, True], [None, 3, 32, 80])):
        args = {"len": length, "replacement": replacement, "num_samples": num_samples}
        sampled("random", args, lambda g: RandomSampler(range(length), replacement, num_samples, g), seed)
    for seed, indices in enumerate([[], [4], [3, 1, 4, 1, 5, 9, 2, 6]]):
        sampled("subset_random", {"indices": indices}, lambda g: SubsetRandomSampler(indices, g), seed)
    weights = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6, 0.0]
    for seed, (num_samples, replacement) in enumerate([(1, True), (5, True), (50, True), (1, False), (4, False), (6, False)]):
        args = {"weights": weights, "num_samples": num_samples, "replacement": replacement}
        sampled("weighted_random", args, lambda g: WeightedRandomSampler(weights, num_samples, replacement, g), seed)
    for length, size, drop_last in itertools.product([0, 1, 6, 7], [1, 3, 7, 8], [False, True]):
        batches = BatchSampler(range(length), size, drop_last)
        record("batch", {"len": length, "batch_size": size, "drop_last": drop_last}, list(batches), count=len(batches))
    refused("random", {"len": 0, "replacement": False, "num_samples": None}, lambda: RandomSampler(range(0)))
    refused("batch", {"len": 3, "batch_size": 0, "drop_last": False}, lambda: BatchSampler(range(3), 0, False))


def distributed():
    for length, replicas, shuffle, drop_last in itertools.product([0, 1, 7, 12], [1, 3, 5], [False, True], [False, True]):
        for rank in range(replicas):
            sampler = DistributedSampler(range(length), replicas, rank, shuffle, seed=length, drop_last=drop_last)
            epochs = []
            for epoch in (0, 1, 5):
                sampler.set_epoch(epoch)
                epochs.append(list(sampler))
            record("distributed", {"len": length, "num_replicas": replicas, "rank": rank, "shuffle": shuffle, "seed": length,
                                   "drop_last": drop_last}, epochs, count=len(sampler))
    refused("distributed", {"len": 5, "num_replicas": 2, "rank": 2, "shuffle": True, "seed": 0, "drop_last": False},
            lambda: DistributedSampler(range(5), 2, 2))


def loaders():
    """Epochs of batches, from the default generator and from one of its own."""
    for seed, (length, size, drop_last, shuffle) in enumerate(itertools.product([1, 10, 33], [1, 4], [False, True], [False, True])):
        for own in (False, True):
            torch.manual_seed(seed)
            generator = torch.Generator().manual_seed(seed) if own else None
            loader = DataLoader(torch.arange(length), size, shuffle, drop_last=drop_last, generator=generator)
            epochs = [[batch.tolist() for batch in loader] for _ in range(2)]
            args = {"len": length, "batch_size": size, "drop_last": drop_last, "shuffle": shuffle, "seed": seed, "own": own}
            record("loader", args, epochs, count=len(loader), after=after(generator))
    refused("loader", {"len": 0, "batch_size": 1, "drop_last": False, "shuffle": True, "seed": 0, "own": False},
            lambda: DataLoader(range(0), shuffle=True))


def datasets():
    """Rows of tensors, and samples of several data sets."""
    rows = TensorDataset(torch.arange(6).reshape(3, 2), torch.arange(3) * 10)
    x, y = default_collate([rows[i] for i in (2, 0)])
    record("tensor_dataset", {"indices": [2, 0]}, [x.tolist(), y.tolist()])
    joined = ConcatDataset([range(3), range(0), Subset(range(10), [9, 7])])
    record("concat", {}, [joined[i] for i in range(len(joined))])


def write():
    CASES.clear()
    splits()
    samplers()
    distributed()
    loaders()
    datasets()
    write_json("data_loading.json", CASES)
    return len(CASES)
