"""models/ddpm, a pipeline of diffusers, with its scheduler's results (ddpm_steps), and a model with other options."""

import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

from common import integers, random, write_safetensors
from published import MODELS, SEED, move, record

# The second is arranged as google/ddpm-cifar10-32 is.
CASES = [
    ("ddpm", {
        "layers_per_block": 1,
        "down_block_types": ["DownBlock2D", "AttnDownBlock2D"],
        "up_block_types": ["AttnUpBlock2D", "UpBlock2D"],
        "block_out_channels": [4, 8],
        "attention_head_dim": 4,
        "norm_num_groups": 2,
    }),
    ("ddpm_options", {
        "layers_per_block": 2,
        "down_block_types": ["AttnDownBlock2D", "DownBlock2D", "DownBlock2D"],
        "up_block_types": ["UpBlock2D", "AttnUpBlock2D", "UpBlock2D"],
        "block_out_channels": [4, 4, 8],
        "attention_head_dim": None,
        "norm_num_groups": 2,
        "norm_eps": 1e-6,
        "downsample_padding": 0,
        "flip_sin_to_cos": False,
        "freq_shift": 1,
        "center_input_sample": True,
        "add_attention": False,
        "time_embedding_dim": 6,
    }),
]


def write():
    total = 0
    for name, options in CASES:
        torch.manual_seed(0)
        model = move(UNet2DModel(sample_size=8, in_channels=1, out_channels=1, **options))
        DDPMPipeline(model, DDPMScheduler()).save_pretrained(MODELS / name)
        inputs = [random([2, 1, 8, 8], 1), integers([2], 2, 0, 1000)]
        call = lambda model, x, steps: model(x, steps).sample
        total += record(name, model, inputs, modes=["eval"], call=call)
        if name == "ddpm":
            write_steps(model)
    return total


def write_steps(model):
    scheduler = DDPMScheduler()
    images, noise, fresh = [random([2, 1, 8, 8], seed) for seed in (11, 12, 13)]
    noised = [0, 1, 500, 999]
    tensors = {"images": images, "noise": noise, "fresh": fresh, "noised_steps": torch.tensor(noised)}
    for i, step in enumerate(noised):
        tensors[f"noised/{i}"] = scheduler.add_noise(images, noise, torch.tensor([step]))
    import diffusers.schedulers.scheduling_ddpm as module

    draw = module.randn_tensor
    module.randn_tensor = lambda *args, **kwargs: fresh
    for name, count in [("few", 7), ("all", 1000)]:
        scheduler.set_timesteps(count)
        steps = scheduler.timesteps.tolist()
        for i, step in enumerate([steps[0], steps[1], steps[-2], 0]):
            tensors[f"{name}/{i}"] = scheduler.step(noise, step, images).prev_sample
    module.randn_tensor = draw

    scheduler.set_timesteps(7)
    tensors["few_steps"] = scheduler.timesteps.clone()
    torch.manual_seed(SEED)
    x = torch.randn([2, 1, 8, 8])
    model.eval()
    with torch.no_grad():
        for step in scheduler.timesteps:
            x = scheduler.step(model(x, step).sample, step, x).prev_sample
    tensors["drawn"] = x
    write_safetensors("models/ddpm_steps.safetensors", tensors, {"model": "ddpm"})
