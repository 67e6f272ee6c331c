//! Models of images, compared with their originals.

use module_examples::models::convnext::ConvNeXt;
use module_examples::models::dcgan::{Discriminator, Generator};
use module_examples::models::ddpm::UNet2DModel;
use module_examples::models::mobilenet_v3::MobileNetV3;
use module_examples::models::pretrained::{Pretrained, read_config, read_json};
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_examples::models::unet::UNet;
use module_examples::models::vae::{VAE, loss_function};
use module_examples::models::vision_transformer::VisionTransformer;
use module_nn::prelude::*;

use crate::compare::{BOUNDS, Bounds, DEEP, compare, compare_forward, directory};

#[test]
fn resnet_18_is_timms() {
    let model = ResNet::from_pretrained(directory("resnet18")).unwrap();
    compare_forward("resnet18", &model, &BOUNDS);
}

#[test]
fn resnet_50_is_timms() {
    let model = ResNet::from_pretrained(directory("resnet50")).unwrap();
    compare_forward("resnet50", &model, &DEEP);
}

#[test]
fn mobilenet_v3_is_torchvisions() {
    let model = MobileNetV3::from_pretrained(directory("mobilenet_v3")).unwrap();
    // PyTorch multiplies the gradient of hardsigmoid by one sixth rounded to F32, even in F64.
    let bounds = Bounds {
        f64: 1e-7,
        ..BOUNDS
    };
    compare_forward("mobilenet_v3", &model, &bounds);
}

#[test]
fn a_seed_gives_torchvisions_mobilenet_v3() {
    let config = read_config(directory("mobilenet_v3")).unwrap();
    let model = fork_rng(0, || MobileNetV3::new(&config)).unwrap();
    let first = StateDict::load(directory("mobilenet_v3_first.pth")).unwrap();
    assert!(model.state_dict().unwrap().equal(&first).unwrap());
}

#[test]
fn unsupported_options_of_vision_models_are_refused() {
    let text = std::fs::read_to_string(directory("ddpm/unet/config.json")).unwrap();
    let text = text.replace("\"silu\"", "\"gelu\"");
    let config = serde_json::from_str(&text).unwrap();
    let error = UNet2DModel::new(&config).map(drop).unwrap_err().to_string();
    assert!(
        error.contains(r#"act_fn = "gelu": this model has "silu" only"#),
        "{error}"
    );

    let unknown = ResNetConfig::new("resnet18d");
    let error = ResNet::new(&unknown).map(drop).unwrap_err().to_string();
    assert!(
        error.contains("resnet18d") && error.contains("resnet34"),
        "{error}"
    );
    let error = read_config::<ResNetConfig>(directory("vit_tiny"))
        .map(drop)
        .unwrap_err();
    assert!(
        error.to_string().contains("unknown field `img_size`"),
        "{error}"
    );
}

#[test]
fn convnext_is_timms() {
    let model = ConvNeXt::from_pretrained(directory("convnext_tiny")).unwrap();
    compare_forward("convnext_tiny", &model, &BOUNDS);
}

#[test]
fn vision_transformer_is_timms() {
    let model = VisionTransformer::from_pretrained(directory("vit_tiny")).unwrap();
    compare_forward("vit_tiny", &model, &BOUNDS);
}

#[test]
fn unet_is_milesials() {
    for name in ["unet", "unet_bilinear"] {
        let model = UNet::from_pretrained(directory(name)).unwrap();
        compare_forward(name, &model, &BOUNDS);
    }
}

#[test]
fn dcgan_is_the_examples() {
    let generator = Generator::from_pretrained(directory("dcgan_generator")).unwrap();
    compare_forward("dcgan_generator", &generator, &BOUNDS);
    let discriminator = Discriminator::from_pretrained(directory("dcgan_discriminator")).unwrap();
    compare_forward("dcgan_discriminator", &discriminator, &BOUNDS);
}

#[test]
fn vae_is_the_examples() {
    let model = VAE::from_pretrained(directory("vae")).unwrap();
    compare("vae", &model, &BOUNDS, |model, inputs| {
        let (images, mean, log_variance) = model.call(inputs[0].clone())?;
        Tensor::cat(&[images, mean, log_variance], 1)
    });
}

#[test]
fn the_loss_of_vae_is_the_examples() {
    let model = VAE::from_pretrained(directory("vae")).unwrap();
    model.to_dtype(DType::F64).unwrap();
    let recorded = StateDict::load(directory("vae.safetensors")).unwrap();
    let images = recorded.get("input").unwrap().to_dtype(DType::F64).unwrap();
    let outputs = fork_rng(5, || no_grad(|| model.call(images.clone()))).unwrap();
    let loss = loss_function(&outputs, &images).unwrap().item::<f64>();
    let expected: f64 = read_json(directory("vae_loss.json")).unwrap();
    assert!((loss.unwrap() / expected - 1.0).abs() < 1e-7);
}

#[test]
fn nothing_is_drawn_for_weights_that_are_read() {
    let next = |read: bool| {
        fork_rng(0, || {
            let model = read.then(|| UNet::from_pretrained(directory("unet")).unwrap());
            drop(model);
            Tensor::rand([4], DType::F32)
        })
    };
    let [without, with] = [false, true].map(|read| next(read).unwrap());
    assert!(with.equal(&without).unwrap());
}

#[test]
fn shards_are_read_and_a_file_too_many_is_refused() {
    let original = VisionTransformer::from_pretrained(directory("vit_tiny")).unwrap();
    let state = original.state_dict().unwrap();
    let dir = std::env::temp_dir().join(format!("vit-shards-{}", std::process::id()));
    state.save_sharded(&dir, 4096).unwrap();
    std::fs::copy(directory("vit_tiny/config.json"), dir.join("config.json")).unwrap();
    let model = VisionTransformer::from_pretrained(&dir).unwrap();
    assert!(model.state_dict().unwrap().equal(&state).unwrap());
    assert!(!model.is_training());

    // With two files, it is ambiguous which one is meant.
    std::fs::remove_file(dir.join("model.safetensors.index.json")).unwrap();
    assert!(VisionTransformer::from_pretrained(&dir).is_err());
    std::fs::remove_file(dir.join("config.json")).unwrap();
    let error = VisionTransformer::from_pretrained(&dir)
        .map(drop)
        .unwrap_err();
    assert!(error.to_string().contains("config.json"), "{error}");
    std::fs::remove_dir_all(dir).unwrap();
}
