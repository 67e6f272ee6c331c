//! Published models from `module_examples`: images of 64 by 64 in evaluation mode, and text for GPT-2.

use module_examples::models::convnext::{ConvNeXt, ConvNeXtConfig};
use module_examples::models::gpt2::{GPT2, GPT2Config};
use module_examples::models::mobilenet_v3::{
    InvertedResidualConfig, MobileNetV3, MobileNetV3Config,
};
use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_examples::models::unet::{UNet, UNetConfig};
use module_examples::models::vision_transformer::{VisionTransformer, VisionTransformerConfig};
use module_nn::prelude::*;

use super::row::{Rows, randn, work};

/// A forward pass of eight images.
fn images<M>(rows: &mut Rows, name: &str, build: impl FnOnce() -> Result<M> + 'static)
where
    M: Module + Forward<Tensor, Output = Tensor>,
{
    let name = format!("{name}, batch 8 of 64x64, inference");
    rows.add(name, move || {
        let (net, x) = (build()?, randn(&[8, 3, 64, 64])?);
        net.eval();
        work(move || no_grad(|| net.call(x.clone())).map(drop))
    });
}

/// torchvision's `mobilenet_v3_small`.
fn mobilenet_v3_small() -> Result<MobileNetV3> {
    let block = |(input, kernel, expanded, out, use_se, use_hs, stride)| InvertedResidualConfig {
        input_channels: input,
        kernel,
        expanded_channels: expanded,
        out_channels: out,
        use_se,
        use_hs,
        stride,
        dilation: 1,
    };
    let blocks = [
        (16, 3, 16, 16, true, false, 2),
        (16, 3, 72, 24, false, false, 2),
        (24, 3, 88, 24, false, false, 1),
        (24, 5, 96, 40, true, true, 2),
        (40, 5, 240, 40, true, true, 1),
        (40, 5, 240, 40, true, true, 1),
        (40, 5, 120, 48, true, true, 1),
        (48, 5, 144, 48, true, true, 1),
        (48, 5, 288, 96, true, true, 2),
        (96, 5, 576, 96, true, true, 1),
        (96, 5, 576, 96, true, true, 1),
    ];
    MobileNetV3::new(&MobileNetV3Config {
        inverted_residual_setting: blocks.into_iter().map(block).collect(),
        last_channel: 1024,
        num_classes: 1000,
        dropout: 0.2,
    })
}

fn vit_tiny() -> Result<VisionTransformer> {
    let mut config = VisionTransformerConfig::new("vit_tiny_patch16_224");
    config.model_args.img_size = Some(64.into());
    VisionTransformer::new(&config)
}

/// The published sizes, 124 million parameters.
fn gpt2() -> Result<GPT2> {
    let model = GPT2::new(&GPT2Config::default())?;
    model.eval();
    Ok(model)
}

fn tokens(count: usize) -> Result<Tensor> {
    Tensor::randint(0, 50257, [1, count], DType::I64)
}

pub(crate) fn add(rows: &mut Rows) {
    images(rows, "ResNet-50", || {
        ResNet::new(&ResNetConfig::new("resnet50"))
    });
    images(rows, "MobileNetV3-Small", mobilenet_v3_small);
    images(rows, "ConvNeXt-T", || {
        ConvNeXt::new(&ConvNeXtConfig::new("convnext_tiny"))
    });
    images(rows, "ViT-Ti/16", vit_tiny);
    images(rows, "U-Net of width 64", || {
        UNet::new(&UNetConfig {
            n_channels: 3,
            n_classes: 2,
            bilinear: false,
            width: 64,
        })
    });
    rows.add("GPT-2, prefill of 128 tokens", || {
        let (model, ids) = (gpt2()?, tokens(128)?);
        work(move || no_grad(|| model.call((ids.clone(), Vec::new()))).map(drop))
    });
    rows.add("GPT-2, 16 tokens after 48, with a cache", || {
        let (model, prompt, next) = (gpt2()?, tokens(48)?, tokens(1)?);
        let (_, caches) = no_grad(|| model.call((prompt, Vec::new())))?;
        work(move || {
            no_grad(|| {
                let mut caches = caches.clone();
                for _ in 0..16 {
                    (_, caches) = model.call((next.clone(), caches))?;
                }
                Ok(())
            })
        })
    });
}
