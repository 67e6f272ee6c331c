"""models/dcgan_generator, dcgan_discriminator and vae: the classes of PyTorch's examples."""

import torch

from common import random
from published import classes, move, record, save


def write():
    total = 0
    sizes = {"nz": 5, "ngf": 2, "ndf": 2, "nc": 1}
    scope = classes("examples/dcgan/main.py", sizes)
    for name, file, shape in [("Generator", "netG.pth", [2, 5, 1, 1]), ("Discriminator", "netD.pth", [2, 1, 64, 64])]:
        torch.manual_seed(0)
        model = move(scope[name](1))
        name = f"dcgan_{name.lower()}"
        save(name, model, sizes, file)
        total += record(name, model, [random(shape, 1)])

    # 784 pixels and 400 features become 15 and 8.
    torch.manual_seed(0)
    model = move(classes("examples/vae/main.py", {}, width=50)["VAE"]())
    save("vae", model, {"pixels": 15, "hidden": 8, "latent": 20}, "vae.pth")
    outputs = lambda model, x: torch.cat(model(x), 1)
    total += record("vae", model, [random([4, 1, 3, 5], 1, low=0.0, high=1.0)], modes=["eval"], call=outputs)
    return total
