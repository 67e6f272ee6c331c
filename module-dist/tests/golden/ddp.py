"""Records what PyTorch's DistributedDataParallel does: two processes with gloo train two small networks on the digits.

    python ddp.py

writes `ddp.safetensors`: for each network its initial state, the loss of each step and process, and the final state of
process 0. Needs torch, numpy and safetensors.
"""

import os
import pathlib
import tempfile
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch import nn

HERE = pathlib.Path(__file__).parent
DIGITS = HERE / "../../../examples/data/digits.csv"
RANKS, STEPS, BATCH = 2, 40, 16


def networks():
    torch.manual_seed(3)
    plain = nn.Sequential(nn.Linear(64, 24), nn.Tanh(), nn.Linear(24, 10))
    # Its running statistics are those of process 0 from step to step.
    normed = nn.Sequential(nn.Linear(64, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 10))
    return {"plain": plain, "normed": normed}


def batch(step, rank):
    """Rows of the data set, which the test counts in the same way."""
    rows = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)
    at = (np.arange(BATCH) + (step * RANKS + rank) * BATCH) % len(rows)
    return torch.from_numpy(rows[at, :64] / 16), torch.from_numpy(rows[at, 64].astype(np.int64))


def run(rank, file):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=RANKS)
    recorded = {}
    for name, network in networks().items():
        for key, value in network.state_dict().items():
            recorded[f"{name}.before.{key}"] = value.clone()
        ddp = nn.parallel.DistributedDataParallel(network)
        optimizer = torch.optim.SGD(ddp.parameters(), lr=0.2, momentum=0.9)
        losses = torch.zeros(STEPS, RANKS)
        for step in range(STEPS):
            images, labels = batch(step, rank)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(ddp(images), labels)
            loss.backward()
            optimizer.step()
            losses[step, rank] = loss.item()
        dist.all_reduce(losses)
        recorded[f"{name}.losses"] = losses
        for key, value in network.state_dict().items():
            recorded[f"{name}.after.{key}"] = value.clone()
    if rank == 0:
        save_file(recorded, HERE / "ddp.safetensors")
    # Process 0 holds the store, and must end last.
    dist.barrier()
    if rank == 0:
        time.sleep(1)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as directory:
        mp.spawn(run, args=(os.path.join(directory, "store"),), nprocs=RANKS)
