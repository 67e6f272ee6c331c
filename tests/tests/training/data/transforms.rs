//! Image transforms match torchvision's, including random ones after `manual_seed`.

mod refused;

use module_nn::data::transforms::functional::{
    self as f, AffineOptions, InterpolationMode, PaddingMode, ResizeMode, RotateOptions,
};
use module_nn::data::transforms::{
    ColorJitterConfig, Compose, CutMix, GaussianBlur, GaussianBlurConfig, MixUp, Normalize,
    RandAugmentConfig, RandomAffineConfig, RandomCropConfig, RandomErasingConfig, RandomGrayscale,
    RandomHorizontalFlip, RandomResizedCropConfig, RandomRotationConfig, RandomVerticalFlip,
    Transform, cutmix, mixup,
};
use module_nn::data::{DataLoaderConfig, DatasetExt, TensorDataset};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn arg<T: DeserializeOwned>(args: &Value, name: &str) -> T {
    serde_json::from_value(args[name].clone()).unwrap_or_else(|e| panic!("{name} of {args}: {e}"))
}

/// Bytes are equal; floating-point numbers are close.
fn same(actual: &Tensor, expected: &Tensor) -> Result<(), String> {
    compare(
        actual,
        expected,
        match expected.dtype() {
            DType::U8 => Tolerance::EXACT,
            _ => Tolerance::CONTRACTION,
        },
    )
}

fn function(op: &str, args: &Value, x: &Tensor) -> Result<Tensor> {
    let factor = || arg::<f64>(args, "factor");
    match op {
        "horizontal_flip" => f::horizontal_flip(x),
        "vertical_flip" => f::vertical_flip(x),
        "crop" => f::crop(x, arg(args, "start"), arg(args, "size")),
        "center_crop" => f::center_crop(x, arg(args, "size")),
        "pad" => {
            let mode: PaddingMode = arg(args, "mode");
            f::pad(
                x,
                arg(args, "padding"),
                &arg::<Vec<f64>>(args, "fill"),
                mode,
            )
        }
        "resize" => f::resize(x, arg(args, "size"), arg::<ResizeMode>(args, "mode")),
        "resized_crop" => {
            let (start, of) = (arg(args, "start"), arg(args, "of"));
            f::resized_crop(x, start, of, arg(args, "size"), ResizeMode::Bilinear)
        }
        "rotate" => {
            let options = RotateOptions::new()
                .interpolation(arg::<InterpolationMode>(args, "mode"))
                .expand(arg::<bool>(args, "expand"))
                .center(arg::<Option<[f64; 2]>>(args, "center"))
                .fill(arg::<Vec<f64>>(args, "fill"));
            f::rotate(x, arg(args, "angle"), &options)
        }
        "affine" => {
            let options = AffineOptions::new()
                .angle(arg::<f64>(args, "angle"))
                .translate(arg::<[f64; 2]>(args, "translate"))
                .scale(arg::<f64>(args, "scale"))
                .shear(arg::<[f64; 2]>(args, "shear"))
                .interpolation(arg::<InterpolationMode>(args, "mode"))
                .center(arg::<Option<[f64; 2]>>(args, "center"))
                .fill(arg::<Vec<f64>>(args, "fill"));
            f::affine(x, &options)
        }
        "adjust_brightness" => f::adjust_brightness(x, factor()),
        "adjust_contrast" => f::adjust_contrast(x, factor()),
        "adjust_saturation" => f::adjust_saturation(x, factor()),
        "adjust_sharpness" => f::adjust_sharpness(x, factor()),
        "adjust_hue" => f::adjust_hue(x, factor()),
        "gaussian_blur" => f::gaussian_blur(x, arg(args, "kernel_size"), arg(args, "sigma")),
        "rgb_to_grayscale" => f::rgb_to_grayscale(x),
        "invert" => f::invert(x),
        "autocontrast" => f::autocontrast(x),
        "equalize" => f::equalize(x),
        "solarize" => f::solarize(x, arg(args, "threshold")),
        "posterize" => f::posterize(x, arg(args, "bits")),
        "to_dtype_scaled" => {
            let dtype = match arg::<String>(args, "dtype").as_str() {
                "u8" => DType::U8,
                "f32" => DType::F32,
                _ => DType::F64,
            };
            f::to_dtype_scaled(x, dtype)
        }
        "normalize" => {
            let (mean, std): (Vec<f64>, Vec<f64>) = (arg(args, "mean"), arg(args, "std"));
            f::normalize(x, &mean, &std)
        }
        _ => panic!("{op}"),
    }
}

/// All differences, so that one run shows them.
fn report(failures: Vec<String>, count: usize, least: usize) {
    assert!(count >= least, "{count} cases");
    assert!(
        failures.is_empty(),
        "{} of {count}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn functions_are_torchvisions() {
    let (case, tensors) = golden::load("image_transforms.safetensors");
    let cases = case["functions"].as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let (op, args) = (case["op"].as_str().unwrap(), &case["args"]);
        let input = case["in"].as_str().unwrap();
        let (x, expected) = (
            tensors.get(input).unwrap(),
            tensors.get(case["out"].as_str().unwrap()).unwrap(),
        );
        let result = match function(op, args, x) {
            Ok(actual) => same(&actual, expected),
            Err(error) => Err(error.to_string()),
        };
        if let Err(difference) = result {
            failures.push(format!("{op} {args} of {input}: {difference}"));
        }
    }
    report(failures, cases.len(), 400);
}

fn built<C: DeserializeOwned>(args: &Value) -> C {
    serde_json::from_value(args.clone()).unwrap()
}

fn transform(op: &str, args: &Value) -> Box<dyn Transform> {
    let p = || args["p"].as_f64();
    let boxed = |result: Result<Box<dyn Transform>>| result.unwrap();
    match op {
        "RandomHorizontalFlip" => Box::new(RandomHorizontalFlip::new()),
        "RandomVerticalFlip" => {
            Box::new(RandomVerticalFlip::with_probability(p().unwrap()).unwrap())
        }
        "RandomGrayscale" => Box::new(RandomGrayscale::with_probability(p().unwrap()).unwrap()),
        "RandomCrop" => boxed(
            built::<RandomCropConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "RandomResizedCrop" => boxed(
            built::<RandomResizedCropConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "RandomRotation" => boxed(
            built::<RandomRotationConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "RandomAffine" => boxed(
            built::<RandomAffineConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "GaussianBlur" => boxed(
            built::<GaussianBlurConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "ColorJitter" => boxed(
            built::<ColorJitterConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "RandomErasing" => boxed(
            built::<RandomErasingConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "RandAugment" => boxed(
            built::<RandAugmentConfig>(args)
                .build()
                .map(|t| Box::new(t) as _),
        ),
        "Compose" => {
            let brightness = ColorJitterConfig::new().brightness([0.7, 1.3]);
            let chain = Compose::new()
                .push(
                    RandomCropConfig::new([12, 12])
                        .padding([4; 4])
                        .build()
                        .unwrap(),
                )
                .push(RandomHorizontalFlip::new())
                .push(RandAugmentConfig::new().build().unwrap())
                .push(brightness.build().unwrap())
                .push(|x: &Tensor| f::to_dtype_scaled(x, DType::F32))
                .push(Normalize::new([0.5; 3], [0.25; 3]).unwrap())
                .push(RandomErasingConfig::new().build().unwrap());
            Box::new(chain)
        }
        _ => panic!("{op}"),
    }
}

/// The next draw of the default generator.
fn after() -> Value {
    let drawn = Tensor::randint(0, 1 << 20, [2], DType::I64).unwrap();
    json!(drawn.to_vec::<i64>().unwrap())
}

#[test]
fn random_transforms_are_torchvisions_from_seeds() {
    let (case, tensors) = golden::load("image_transforms_random.safetensors");
    let cases = case["random"].as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let (op, args) = (case["op"].as_str().unwrap(), &case["args"]);
        let input = case["in"].as_str().unwrap();
        let (x, expected) = (
            tensors.get(input).unwrap(),
            tensors.get(case["out"].as_str().unwrap()).unwrap(),
        );
        let transform = transform(op, args);
        let (result, after) = fork_rng(case["seed"].as_u64().unwrap(), || {
            let result = transform.apply(x).map_err(|error| error.to_string());
            (result.and_then(|actual| same(&actual, expected)), after())
        });
        let drawn = match after == case["after"] {
            true => Ok(()),
            false => Err("the generator was left elsewhere".to_owned()),
        };
        if let Err(difference) = result.and(drawn) {
            failures.push(format!(
                "{op} {args} of {input}, seed {}: {difference}",
                case["seed"]
            ));
        }
    }
    report(failures, cases.len(), 150);
}

#[test]
fn batches_are_mixed_as_torchvision_mixes_them() {
    let (case, tensors) = golden::load("image_transforms_random.safetensors");
    let (images, labels) = (
        tensors.get("mix.images").unwrap(),
        tensors.get("mix.labels").unwrap(),
    );
    let cases = case["mixes"].as_array().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        let alpha = case["alpha"].as_f64().unwrap();
        let ((x, y), after) = fork_rng(case["seed"].as_u64().unwrap(), || {
            let mixed = match case["op"].as_str().unwrap() {
                "MixUp" => MixUp::new(alpha, 5).unwrap().apply(images, labels),
                _ => CutMix::new(alpha, 5).unwrap().apply(images, labels),
            };
            (mixed.unwrap(), after())
        });
        let expected = |key: &str| tensors.get(case[key].as_str().unwrap()).unwrap();
        let result = same(&x, expected("images")).and(same(&y, expected("labels")));
        if after != case["after"] || result.is_err() {
            failures.push(format!(
                "{} {alpha} {}: {result:?}",
                case["op"], case["seed"]
            ));
        }
    }
    report(failures, cases.len(), 24);
}

/// Augmentation in a loader depends on the epoch and the batch, never on the workers.
#[test]
fn augmentation_does_not_depend_on_the_workers() {
    let epochs = |workers: usize| -> Vec<Vec<u8>> {
        let augment = transform("RandAugment", &json!({}));
        let images = Tensor::arange(0, 12 * 3 * 6 * 6, DType::I64)
            .unwrap()
            .remainder(251)
            .unwrap();
        let images = images
            .to_dtype(DType::U8)
            .unwrap()
            .reshape([12, 3, 6, 6])
            .unwrap();
        let dataset = TensorDataset::new(images)
            .unwrap()
            .map(move |x| augment.apply(&x));
        let config = DataLoaderConfig::new().batch_size(5).shuffle(true).seed(3);
        let loader = config.num_workers(workers).build(dataset).unwrap();
        let batches = (0..2).flat_map(|_| loader.iter().collect::<Vec<_>>());
        batches.map(|x| x.unwrap().to_vec().unwrap()).collect()
    };
    let alone = epochs(0);
    assert_eq!((alone.len(), &alone), (6, &epochs(3)));
    assert_ne!(alone[0], alone[3]);
}
