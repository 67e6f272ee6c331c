"""Read event files written by the tests, using TensorBoard's own reader, and compare them with PyTorch's.

    EVENT_FILES="$PWD/events" cargo test -p module-tests --test training event_files
    python check_event_files.py events

Every value must be there and be equal; bits of sums and compressed images may differ.
"""

import pathlib
import sys
import tempfile

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from event_files import described, events, inputs, write_runs

directory = sys.argv[1]


def read(directory):
    tensors = {}
    entries = [described(run, event, tensors, n) for n, (run, event) in enumerate(events(directory))]
    return entries, tensors


with tempfile.TemporaryDirectory() as expected_directory:
    write_runs(expected_directory, inputs())
    expected, expected_tensors = read(expected_directory)
found, found_tensors = read(directory)
assert len(found) == len(expected), (len(found), len(expected))
for ours, theirs in zip(found, expected):
    ours, theirs = (dict(e, values=[dict(v) for v in e["values"]]) for e in (ours, theirs))
    for a, b in zip(ours["values"], theirs["values"]):
        histos = torch.tensor([a.pop("histo", []), b.pop("histo", [])], dtype=torch.float64)
        assert torch.allclose(histos[0], histos[1], rtol=1e-12, atol=0), (a, histos)
    assert ours == theirs, (ours, theirs)
assert [t.tolist() for t in found_tensors.values()] == [t.tolist() for t in expected_tensors.values()]

accumulator = EventAccumulator(directory, size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
accumulator.Reload()
tags = accumulator.Tags()
print({kind: tags[kind] for kind in ("scalars", "histograms", "images", "tensors")})
assert [e.step for e in accumulator.Scalars("ä")] == [2**40]
assert set(tags["images"]) == {"gray", "rgb", "rgba"}
assert set(tags["histograms"]) == {"weights", "wide", "one"}

runs = EventAccumulator(str(pathlib.Path(directory) / "hp"))
runs.Reload()
content = runs.PluginTagToContent("hparams")["_hparams_/session_start_info"]
start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
print({name: value for name, value in sorted((k, str(v).strip()) for k, v in start.hparams.items())})
print(f"{len(found)} events are PyTorch's")
