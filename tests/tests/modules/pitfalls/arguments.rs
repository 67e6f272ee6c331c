//! Arguments that others disable are refused wherever PyTorch refuses them.

use module_core::{AttentionOptions, InterpolateMode, InterpolateOptions, Resize};
use module_nn::functional::{huber_loss, smooth_l1_loss, triplet_margin_loss};
use module_nn::prelude::*;
use module_tests::layers::{Arguments, find};
use serde_json::{Value, json};

/// Builds a layer from PyTorch's arguments and calls it with these tensors, in their order.
fn of(layer: &str, kwargs: Value, inputs: &[Tensor]) -> Result<()> {
    let positional: Vec<Value> = (0..inputs.len()).map(|i| json!({ "tensor": i })).collect();
    let arguments = Arguments {
        tensors: inputs,
        positional: &Value::Array(positional),
        named: &json!({}),
    };
    find(layer).build(&kwargs)?.run(&arguments).map(|_| ())
}

/// Refused, and the message names the argument.
#[track_caller]
fn refused<T>(outcome: Result<T>, argument: &str) {
    let Err(error) = outcome else {
        panic!("{argument} is taken");
    };
    assert!(!matches!(error.kind(), ErrorKind::Custom(_)), "{error}");
    assert!(error.to_string().contains(argument), "{error}");
}

#[test]
fn pitfall_54_an_argument_that_others_switch_off_is_an_error() {
    let random = |shape: &[usize]| Tensor::randn(shape, DType::F32).unwrap();
    let (image, x) = (random(&[1, 3, 8, 8]), random(&[2, 4, 8]));
    let probabilities = random(&[4, 3]).softmax(1).unwrap();
    let pair = [random(&[4, 3]), probabilities];
    let bags = Tensor::from([[0_i64, 1], [1, 2]]);
    let offsets = Tensor::from([0_i64, 1]);

    for class in [0, 1, 5] {
        refused(
            of("CrossEntropyLoss", json!({"ignore_index": class}), &pair),
            "ignore_index",
        );
    }
    of("CrossEntropyLoss", json!({"ignore_index": -1}), &pair).unwrap();
    let classes = [pair[0].clone(), Tensor::from([0_i64, 1, 2, 0])];
    of("CrossEntropyLoss", json!({"ignore_index": 1}), &classes).unwrap();

    let bag = |rest: Value| {
        let mut kwargs = json!({"num_embeddings": 3, "embedding_dim": 2});
        let rest = rest.as_object().unwrap().clone();
        kwargs.as_object_mut().unwrap().extend(rest);
        EmbeddingBagConfig::build(&serde_json::from_value(kwargs).unwrap())
    };
    let call_bag = |rest: Value, offsets: Option<&Tensor>, weights: Option<&Tensor>| {
        bag(rest)?.call((bags.clone(), offsets.cloned(), weights.cloned()))
    };
    let ones = bags.to_dtype(DType::F32).unwrap();
    refused(call_bag(json!({}), Some(&offsets), None), "offsets");
    for mode in ["max", "mean"] {
        let mode = json!({ "mode": mode });
        refused(call_bag(mode, None, Some(&ones)), "per_sample_weights");
    }
    let by_frequency = json!({"mode": "max", "scale_grad_by_freq": true});
    refused(call_bag(by_frequency, None, None), "scale_grad_by_freq");

    let images = std::slice::from_ref(&image);
    for mode in ["nearest", "nearest-exact"] {
        for corners in [true, false] {
            let kwargs = json!({"scale_factor": 2.0, "mode": mode, "align_corners": corners});
            refused(of("Upsample", kwargs, images), "align_corners");
        }
    }
    let kwargs = json!({"size": 4, "scale_factor": 2.0});
    refused(of("Upsample", kwargs, images), "scale_factor");
    let kwargs = json!({"size": 4, "recompute_scale_factor": true});
    refused(of("Upsample", kwargs, images), "recompute_scale_factor");
    let options = InterpolateOptions {
        resize: Resize::Size(vec![4, 4]),
        mode: InterpolateMode::Area,
        align_corners: true,
        antialias: false,
    };
    refused(image.interpolate(&options), "align_corners");

    let conv = |rest: (&str, Value)| {
        let mut kwargs =
            json!({"in_channels": 3, "out_channels": 3, "kernel_size": 3, "stride": 2});
        kwargs[rest.0] = rest.1;
        kwargs
    };
    refused(
        of("Conv2d", conv(("padding", json!("same"))), images),
        "stride",
    );
    let kwargs = conv(("output_padding", json!(2)));
    refused(of("ConvTranspose2d", kwargs, images), "output_padding");
    let mode = conv(("padding_mode", json!("reflect")));
    refused(of("ConvTranspose2d", mode, images), "padding_mode");

    let sizes = json!({"kernel_size": 2, "output_size": 3, "output_ratio": 0.5});
    refused(of("FractionalMaxPool2d", sizes, images), "output_");
    refused(
        of("FractionalMaxPool2d", json!({"kernel_size": 2}), images),
        "output_",
    );

    let mask = Tensor::ones([4, 4], DType::Bool).unwrap();
    let options = AttentionOptions::new().attn_mask(&mask).is_causal(true);
    refused(x.scaled_dot_product_attention(&x, &x, options), "is_causal");

    let gates = |layer: &str, rest: (&str, Value)| {
        let mut kwargs = json!({"input_size": 8, "hidden_size": 4});
        kwargs[rest.0] = rest.1;
        of(layer, kwargs, std::slice::from_ref(&x))
    };
    refused(gates("GRU", ("proj_size", json!(2))), "proj_size");
    refused(gates("LSTM", ("proj_size", json!(4))), "proj_size");
    for layer in ["LSTM", "GRU", "RNN"] {
        for name in ["num_layers", "hidden_size", "input_size"] {
            refused(gates(layer, (name, json!(0))), name);
        }
    }

    let (a, b) = (random(&[3]), random(&[3]));
    for delta in [0.0, -1.0] {
        refused(huber_loss(&a, &b, Default::default(), delta), "delta");
    }
    refused(smooth_l1_loss(&a, &b, Default::default(), -1.0), "beta");
    for margin in [0.0, -1.0] {
        let config = TripletMarginLossConfig::new().margin(margin);
        refused(triplet_margin_loss(&x, &x, &x, &config), "margin");
    }
    refused(x.celu(0.0), "alpha");
    refused(x.softshrink(-1.0), "lambd");
    refused(
        of("RReLU", json!({"lower": 1.0, "upper": 0.0}), images),
        "lower",
    );
    refused(of("Dropout", json!({"p": 2.0}), images), "p = 2");
    let pool = json!({"norm_type": 0.0, "kernel_size": 2});
    refused(of("LPPool2d", pool, images), "norm_type");
    let similarity = json!({"eps": -1.0});
    refused(of("CosineSimilarity", similarity, &[a, b]), "eps");
    let pool = json!({"kernel_size": 2, "divisor_override": 0});
    refused(of("AvgPool2d", pool, images), "divisor_override");
    let norm = json!({"num_features": 3, "eps": 0.0});
    refused(of("BatchNorm2d", norm.clone(), images), "eps");
    of("InstanceNorm2d", norm, images).unwrap();
}
