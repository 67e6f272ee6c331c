//! Published models train without a finding of the audit, in small sizes and with their own initial weights.

use module_examples::models::bert::Bert;
use module_examples::models::clip::{CLIP, CLIPConfig};
use module_examples::models::convnext::ConvNeXt;
use module_examples::models::dcgan::{Discriminator, Generator};
use module_examples::models::ddpm::{DDPMScheduler, UNet2DModel};
use module_examples::models::gpt2::GPT2;
use module_examples::models::llama::Llama;
use module_examples::models::mobilenet_v3::MobileNetV3;
use module_examples::models::pretrained::{Pretrained, read_json};
use module_examples::models::resnet::ResNet;
use module_examples::models::t5::T5;
use module_examples::models::unet::UNet;
use module_examples::models::vae::{VAE, loss_function};
use module_examples::models::vision_transformer::VisionTransformer;
use module_examples::models::whisper::{LogMel, Whisper};
use module_examples::models::word_language_model::{RNNModel, RNNModelConfig};
use module_nn::audit::Audit;
use module_nn::functional::binary_cross_entropy;
use module_nn::optim::clip_grad_norm;
use module_nn::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::compare::directory;

/// The recorded configuration of a model, with some arguments changed.
fn config<C: DeserializeOwned>(name: &str, changes: Value) -> C {
    let mut config: Map<String, Value> = read_json(directory(name).join("config.json")).unwrap();
    config.extend(changes.as_object().unwrap().clone());
    serde_json::from_value(config.into()).unwrap()
}

/// Audits two training steps for each of five seeds, and expects no findings.
fn healthy_training<M: Module, S>(build: impl Fn() -> Result<(M, S)>)
where
    S: FnMut(&M) -> Result<Tensor>,
{
    for seed in 0..5 {
        let report = fork_rng(seed, || {
            let (model, mut step) = build()?;
            Audit::new(&model).run(|_| step(&model))
        });
        let report = report.unwrap();
        assert!(report.findings().is_empty(), "seed {seed}\n{report}");
    }
}

/// The same for training with AdamW.
fn healthy<M: Module>(build: impl Fn() -> Result<M>, loss: impl Fn(&M) -> Result<Tensor>) {
    healthy_training(|| {
        let model = build()?;
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        let loss = &loss;
        Ok((model, move |model: &M| {
            model.zero_grad();
            let loss = loss(model)?;
            loss.backward()?;
            optimizer.step(model)?;
            Ok(loss)
        }))
    });
}

fn images(shape: [usize; 4]) -> Result<Tensor> {
    Tensor::randn(shape, DType::F32)
}

/// The loss of a classifier with three classes on eight images.
fn classified<M: Forward<Tensor, Output = Tensor>>(model: &M, size: usize) -> Result<Tensor> {
    let logits = model.call(images([8, 3, size, size])?)?;
    let labels = Tensor::randint(0, 3, [8], DType::I64)?;
    CrossEntropyLoss::new().loss(&logits, &labels)
}

/// The loss of a language model that predicts the next token of four texts.
fn next_tokens<M: Forward<Tensor, Output = Tensor>>(model: &M) -> Result<Tensor> {
    let ids = Tensor::randint(0, 23, [4, 13], DType::I64)?;
    let logits = model.call(ids.narrow(1, 0..12)?)?;
    let next = ids.narrow(1, 1..13)?.reshape([-1])?;
    CrossEntropyLoss::new().loss(&logits.reshape([-1, 23])?, &next)
}

#[test]
fn resnets() {
    for name in ["resnet18", "resnet50"] {
        let args = json!({"channels": [8, 16, 16, 24], "num_classes": 3, "in_chans": 3});
        let config = config(name, json!({ "model_args": args }));
        healthy(|| ResNet::new(&config), |model| classified(model, 64));
    }
}

#[test]
fn mobilenet_v3() {
    // Wide enough for sixteen squeeze units: of eight, all can be inactive at the start, which happens in torchvision with
    // the recorded sizes and the first seed, and is a finding.
    let block = |input: usize, output: usize, use_hs: bool, stride: usize| {
        json!({
            "input_channels": input, "kernel": 3, "expanded_channels": 64, "out_channels": output,
            "use_se": true, "use_hs": use_hs, "stride": stride, "dilation": 1,
        })
    };
    let blocks = [
        block(16, 16, false, 2),
        block(16, 24, true, 2),
        block(24, 24, true, 1),
    ];
    let changes = json!({"inverted_residual_setting": blocks, "last_channel": 32});
    let config = config("mobilenet_v3", changes);
    healthy(|| MobileNetV3::new(&config), |model| classified(model, 32));
}

#[test]
fn convnext() {
    let args = json!({"depths": [1, 1, 2, 1], "dims": [8, 16, 16, 24], "num_classes": 3});
    let config = config("convnext_tiny", json!({ "model_args": args }));
    healthy(|| ConvNeXt::new(&config), |model| classified(model, 64));
}

#[test]
fn vision_transformer() {
    let config = config("vit_tiny", json!({}));
    healthy(
        || VisionTransformer::new(&config),
        |model| classified(model, 12),
    );
}

#[test]
fn unet() {
    for name in ["unet", "unet_bilinear"] {
        let config = config(name, json!({"width": 4}));
        healthy(
            || UNet::new(&config),
            |model| {
                let logits = model.call(images([2, 3, 32, 32])?)?;
                let classes = Tensor::randint(0, 2, [2, 32, 32], DType::I64)?;
                CrossEntropyLoss::new().loss(&logits, &classes)
            },
        );
    }
}

/// Two networks that train against each other.
#[derive(Module)]
struct Gan {
    generator: Generator,
    discriminator: Discriminator,
}

#[test]
fn dcgan() {
    let config = config("dcgan_generator", json!({"nz": 10, "ngf": 4, "ndf": 4}));
    healthy_training(|| {
        let model = Gan {
            generator: Generator::new(&config)?,
            discriminator: Discriminator::new(&config)?,
        };
        let adam = AdamConfig::new(2e-4).betas((0.5, 0.999));
        let mut of_generator = adam.build(&model.generator)?;
        let mut of_discriminator = adam.build(&model.discriminator)?;
        Ok((model, move |model: &Gan| {
            let Gan {
                generator,
                discriminator,
            } = model;
            let judge = |x: Tensor, label: f64| {
                let real = discriminator.call(x)?;
                let label = real.detach().full_like(label)?;
                binary_cross_entropy(&real, &label, None, Reduction::Mean)
            };
            let drawn = generator.call(images([8, 10, 1, 1])?)?;
            discriminator.zero_grad();
            judge(images([8, 1, 64, 64])?.tanh()?, 1.0)?.backward()?;
            judge(drawn.detach(), 0.0)?.backward()?;
            of_discriminator.step(discriminator)?;
            generator.zero_grad();
            let loss = judge(drawn, 1.0)?;
            loss.backward()?;
            of_generator.step(generator)?;
            Ok(loss)
        }))
    });
}

#[test]
fn vae() {
    let config = config("vae", json!({"pixels": 64, "hidden": 32, "latent": 8}));
    healthy(
        || VAE::new(&config),
        |model| {
            let x = Tensor::rand([16, 64], DType::F32)?;
            loss_function(&model.call(x.clone())?, &x)
        },
    );
}

#[test]
fn ddpm() {
    let scheduler = DDPMScheduler::from_pretrained(directory("ddpm").join("scheduler")).unwrap();
    for name in ["ddpm/unet", "ddpm_options/unet"] {
        let config = config(name, json!({}));
        healthy(
            || UNet2DModel::new(&config),
            |model| {
                let (images, noise) = (images([4, 1, 8, 8])?, images([4, 1, 8, 8])?);
                let steps = Tensor::randint(0, 1000, [4], DType::I64)?;
                let mut noised = Vec::new();
                for (i, step) in steps.to_vec::<i64>()?.into_iter().enumerate() {
                    let [image, noise] = [&images, &noise].map(|x| x.narrow(0, i..i + 1));
                    noised.push(scheduler.add_noise(&image?, &noise?, step as usize)?);
                }
                let predicted = model.call((Tensor::cat(&noised, 0)?, steps))?;
                MSELoss::new().loss(&predicted, &noise)
            },
        );
    }
}

#[test]
fn gpt2() {
    for name in ["gpt2", "gpt2_options"] {
        let config = config(name, json!({"initializer_range": 0.02}));
        healthy(|| GPT2::new(&config), next_tokens);
    }
}

#[test]
fn llama_mistral_and_qwen3() {
    for name in ["llama", "mistral", "qwen3"] {
        let config = config(name, json!({"initializer_range": 0.02}));
        healthy(|| Llama::new(&config), next_tokens);
    }
}

/// Classifies texts by the pooler's output for their first token.
#[derive(Module)]
struct BertClassifier {
    bert: Bert,
    dropout: Dropout,
    classifier: Linear,
}

impl Forward<(Tensor, Tensor, Tensor)> for BertClassifier {
    type Output = Tensor;

    fn forward(&self, input: (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        let (_, pooled) = self.bert.call(input)?;
        self.classifier.call(self.dropout.call(pooled)?)
    }
}

#[test]
fn bert() {
    let config = config("bert", json!({"initializer_range": 0.02}));
    healthy(
        || {
            Ok(BertClassifier {
                bert: Bert::new(&config)?,
                dropout: Dropout::new(0.1)?,
                classifier: Linear::new(12, 3)?,
            })
        },
        |model| {
            let ids = Tensor::randint(1, 23, [8, 10], DType::I64)?;
            // The last tokens of half of the texts are padding, and the second half of each is its second segment.
            let places = Tensor::arange(0, 10, DType::I64)?.expand([8, 10])?;
            let kinds = places.ge(5_i64)?.to_dtype(DType::I64)?;
            let lengths = Tensor::from_vec(vec![10_i64, 7, 10, 7, 10, 7, 10, 7], [8, 1])?;
            let mask = places.lt(&lengths)?.to_dtype(DType::I64)?;
            let logits = model.call((ids.mul(&mask)?, kinds, mask))?;
            let labels = Tensor::randint(0, 3, [8], DType::I64)?;
            CrossEntropyLoss::new().loss(&logits, &labels)
        },
    );
}

/// Labels for four texts of this many tokens; those after the end of each text are excluded from the loss.
fn labels(length: usize, words: i64) -> Result<Tensor> {
    let lengths = Tensor::from_vec(vec![length as i64, 5, 7, 4], [4, 1])?;
    let is_behind = Tensor::arange(0, length as i64, DType::I64)?.ge(&lengths)?;
    Tensor::randint(1, words, [4, length], DType::I64)?.masked_fill(&is_behind, -100_i64)
}

/// The loss of logits `(4, L, words)`.
fn loss_of_labels(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    CrossEntropyLoss::new().loss(&logits.flatten(0, 1)?, &labels.flatten(0, 1)?)
}

#[test]
fn t5() {
    for name in ["t5", "t5_gated"] {
        let config = config(name, json!({}));
        healthy(
            || T5::new(&config),
            |model| {
                let lengths = Tensor::from_vec(vec![10_i64, 7, 10, 4], [4, 1])?;
                let mask = Tensor::arange(0, 10, DType::I64)?.lt(&lengths)?;
                let mask = mask.to_dtype(DType::I64)?;
                let ids = Tensor::randint(2, 23, [4, 10], DType::I64)?.mul(&mask)?;
                let labels = labels(9, 23)?;
                let logits = model.call((ids, mask, model.shift_right(&labels)?))?;
                loss_of_labels(&logits, &labels)
            },
        );
    }
}

#[test]
fn clip() {
    // The shape of an image, and the id that ends a text.
    for (name, image, end) in [("clip", [3, 12, 12], 22), ("clip_masked", [1, 10, 10], 19)] {
        let mut config: CLIPConfig = config(name, json!({}));
        // With eleven pixels, as recorded, the last pixel is in no patch of five, as in transformers, and that is a
        // finding.
        config.vision_config.image_size = Some(image[2]);
        healthy(
            || CLIP::new(&config),
            |model| {
                let [channels, height, width] = image;
                let ids = Tensor::randint(0, 18, [8, 7], DType::I64)?;
                let ids = Tensor::cat(&[ids, Tensor::full([8, 1], end, DType::I64)?], 1)?;
                let images = images([8, channels, height, width])?;
                let (of_images, of_texts) = model.call((ids, images, None))?;
                let own = Tensor::arange(0, 8, DType::I64)?;
                let of_images = CrossEntropyLoss::new().loss(&of_images, &own)?;
                let of_texts = CrossEntropyLoss::new().loss(&of_texts, &own)?;
                of_images.add(&of_texts)?.div(2.0)
            },
        );
    }
}

#[test]
fn whisper() {
    for name in ["whisper", "whisper_options"] {
        let config = config(name, json!({"init_std": 0.02}));
        let front = LogMel::from_pretrained(directory(name)).unwrap();
        healthy(
            || Whisper::new(&config),
            |model| {
                // Four sounds of one second each.
                let features = front.call(Tensor::randn([4, 16000], DType::F32)?)?;
                let labels = labels(8, 18)?;
                let start = Tensor::full([4, 1], 19_i64, DType::I64)?;
                let shifted = Tensor::cat(&[start, labels.narrow(1, 0..7)?], 1)?;
                let shifted = shifted.masked_fill(&shifted.eq(-100)?, 18_i64)?;
                loss_of_labels(&model.call((features, shifted))?, &labels)
            },
        );
    }
}

#[test]
fn recurrent_language_models() {
    for name in ["rnn_lstm", "rnn_gru", "rnn_relu"] {
        let sizes = json!({"ntoken": 23, "ninp": 16, "nhid": 16});
        let config: RNNModelConfig = config(name, sizes);
        healthy_training(|| {
            let model = RNNModel::new(&config)?;
            let mut optimizer = SGD::new(&model, 1.0)?;
            let mut hidden = model.init_hidden(6)?;
            Ok((model, move |model: &RNNModel| {
                // The states are passed from one window of the text to the next, but gradients are not.
                let text = Tensor::randint(0, 23, [9, 6], DType::I64)?;
                let given = (text.narrow(0, 0..8)?, hidden.detach());
                let output;
                (output, hidden) = model.call(given)?;
                let next = text.narrow(0, 1..9)?.flatten(0, 1)?;
                let loss = NLLLoss::new().loss(&output, &next)?;
                model.zero_grad();
                loss.backward()?;
                clip_grad_norm(model, 0.25)?;
                optimizer.step(model)?;
                Ok(loss)
            }))
        });
    }
}
