"""event_files.safetensors: the output of PyTorch's SummaryWriter for the calls of tests/tests/training/logs/event_files.rs.

`case` is `{"events": [...]}`, each event as `{"step", "values": [...]}` of its summary, with the fields of a value that are
set. Buckets of histograms are the tensors `<event>.limits` and `<event>.counts`, the pixels of images `<event>.pixels` (H, W, C).
Inputs: `weights` and `wide` of the histograms, `gray`, `rgb` and `rgba` of the images.
"""

import glob
import io
import tempfile

import numpy
import PIL.Image
import torch
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from torch.utils.tensorboard import SummaryWriter

from common import random, write_safetensors


def inputs():
    wide = random((40,), 1001, torch.float64) * 10.0 ** torch.arange(-20, 20, dtype=torch.float64)
    # On an edge, on the outer ones, and beyond.
    wide[:4] = torch.tensor([0.0, 1e-12, 1.5e20, -1.25e20], dtype=torch.float64)
    return {
        "weights": random((50,), 1000),
        "wide": wide,
        "gray": random((1, 3, 4), 1002, low=-0.2, high=1.2),
        "rgb": torch.arange(3 * 2 * 5, dtype=torch.uint8).reshape(3, 2, 5) * 8,
        "rgba": random((4, 2, 2), 1003, low=0, high=1),
    }


def write_runs(directory, given):
    """The same calls, in the same order, as the test."""
    writer = SummaryWriter(directory, purge_step=3)
    writer.add_scalar("train/loss", 0.1, 0)
    writer.add_scalar("train/loss", float("nan"), 1)
    writer.add_scalar("ä", -1e-3, 2**40)
    writer.add_histogram("weights", given["weights"], 4)
    writer.add_histogram("wide", given["wide"], 4)
    writer.add_histogram("one", torch.tensor([0.0, 0.0]), 4)
    for name in ("gray", "rgb", "rgba"):
        writer.add_image(name, given[name], 5)
    writer.add_text("note", "a *text*,\nof two lines: ä", 6)
    writer.add_scalars("both/ways", {"up": 1.0, "down": -1.0}, 7)
    writer.add_hparams({"lr": 0.1, "depth": 3, "optimizer": "SGD"}, {"hparam/accuracy": 0.5, "hparam/loss": 2.0}, run_name="hp", global_step=0)
    writer.close()


def events(directory):
    """All events of all files below a directory, with the directory of each."""
    for path in sorted(glob.glob(f"{directory}/**/events.out.tfevents.*", recursive=True)):
        below = path[len(directory) + 1:].rpartition("/")[0]
        for record in RawEventFileLoader(path).Load():
            event = event_pb2.Event.FromString(record)
            # Where a run goes on PyTorch writes the version of the file a second time.
            if not (event.file_version and event.step > 0):
                yield below, event


def described(run, event, tensors, number):
    entry = {"run": run, "step": event.step, "values": []}
    if event.file_version:
        entry["file_version"] = event.file_version
    if event.HasField("session_log"):
        entry["session_log"] = event.session_log.status
    for value in event.summary.value:
        fields = {"tag": value.tag}
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            fields["simple_value"] = "nan" if value.simple_value != value.simple_value else value.simple_value
        elif kind == "histo":
            histo = value.histo
            fields["histo"] = [histo.min, histo.max, histo.num, histo.sum, histo.sum_squares]
            tensors[f"{number}.limits"] = torch.tensor(list(histo.bucket_limit), dtype=torch.float64)
            tensors[f"{number}.counts"] = torch.tensor(list(histo.bucket), dtype=torch.float64)
        elif kind == "image":
            image = value.image
            fields["image"] = [image.height, image.width, image.colorspace]
            pixels = numpy.array(PIL.Image.open(io.BytesIO(image.encoded_image_string)))
            tensors[f"{number}.pixels"] = torch.tensor(pixels)
        elif kind == "tensor":
            tensor = value.tensor
            fields["tensor"] = [tensor.dtype, [d.size for d in tensor.tensor_shape.dim], tensor.string_val[0].decode()]
        if value.HasField("metadata"):
            plugin = value.metadata.plugin_data
            fields["plugin"] = plugin.plugin_name
            if plugin.plugin_name == "hparams":
                data = plugin_data_pb2.HParamsPluginData.FromString(plugin.content)
                fields["hparams"] = {
                    "infos": [[i.name, i.type] for i in data.experiment.hparam_infos],
                    "metrics": [m.name.tag for m in data.experiment.metric_infos],
                    "start": {k: v.string_value or v.number_value for k, v in sorted(data.session_start_info.hparams.items())},
                    "end": data.session_end_info.status,
                }
        entry["values"].append(fields)
    return entry


def write():
    given = inputs()
    tensors = dict(given)
    with tempfile.TemporaryDirectory() as directory:
        write_runs(directory, given)
        recorded = [described(run, event, tensors, n) for n, (run, event) in enumerate(events(directory))]
    write_safetensors("event_files.safetensors", tensors, {"events": recorded})
    return len(recorded)
