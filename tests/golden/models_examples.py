"""models/dcgan_generator, dcgan_discriminator and vae: the classes of PyTorch's examples, and the loss of the last (vae_loss.json)."""

import json

import torch

from common import random
from published import MODELS, SEED, definitions, move, record, save


def write():
    total = 0
    sizes = {"nz": 5, "ngf": 2, "ndf": 2, "nc": 1}
    scope = definitions("examples/dcgan/main.py", sizes)
    for name, file, shape in [("Generator", "netG.pth", [2, 5, 1, 1]), ("Discriminator", "netD.pth", [2, 1, 64, 64])]:
        torch.manual_seed(0)
        model = move(scope[name](1))
        name = f"dcgan_{name.lower()}"
        save(name, model, sizes, file)
        total += record(name, model, [random(shape, 1)])

    # 784 pixels and 400 features become 15 and 8.
    torch.manual_seed(0)
    scope = definitions("examples/vae/main.py", {}, width=50)
    model = move(scope["VAE"]())
    save("vae", model, {"pixels": 15, "hidden": 8, "latent": 20}, "vae.pth")
    outputs = lambda model, x: torch.cat(model(x), 1)
    images = random([4, 1, 3, 5], 1, low=0.0, high=1.0)
    total += record("vae", model, [images], modes=["eval"], call=outputs)
    images = images.double()
    torch.manual_seed(SEED)
    reconstructions, mu, logvar = model.double().eval()(images)
    loss = scope["loss_function"](reconstructions, images, mu, logvar).item()
    (MODELS / "vae_loss.json").write_text(json.dumps(loss) + "\n")
    return total + 1
