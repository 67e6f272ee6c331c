//! Normalizations, attention and classification losses: their gradients, the kernels compared with the composed operations,
//! and accuracy for numbers far from zero.

mod formulas;

use super::*;
use crate::ops::{attention::AttentionOptions, normalize};
use crate::{CrossEntropyOptions, NllLossOptions, Reduction, backend};

pub(super) fn check_all() {
    norms();
    attentions();
    losses();
    check("logsumexp", &[&[2, 3, 4]], |x| {
        x[0].logsumexp_keepdim([0, 2])
    });
    check("softmax", &[&[2, 3, 2]], |x| x[0].softmax(1));
    check("log_softmax", &[&[2, 3, 2]], |x| x[0].log_softmax(0));
    for f in [Tensor::softmax, Tensor::log_softmax] {
        check("softmax of nothing", &[&[0, 3]], |x| f(&x[0], 1));
    }
}

// A large eps keeps the curvature small where elements are equal.
const EPS: f64 = 0.3;

fn norms() {
    for (shape, last) in [
        (&[2, 3, 4][..], 1),
        (&[2, 3, 4], 2),
        (&[3, 1], 1),
        (&[0, 3], 1),
        (&[5], 1),
    ] {
        let normal = &shape[shape.len() - last..];
        check("layer_norm", &[shape], |x| {
            x[0].layer_norm(normal, None, None, EPS)
        });
        check("layer_norm", &[shape, normal, normal], |x| {
            x[0].layer_norm(normal, Some(&x[1]), Some(&x[2]), EPS)
        });
        check("rms_norm", &[shape, normal], |x| {
            x[0].rms_norm(normal, Some(&x[1]), Some(EPS))
        });
    }
    check("layer_norm", &[&[2, 3], &[3]], |x| {
        x[0].layer_norm([3], None, Some(&x[1]), EPS)
    });
    for shape in [&[2, 4, 3][..], &[2, 4], &[1, 4, 2, 2], &[0, 4, 2]] {
        check("group_norm", &[shape, &[4], &[4]], |x| {
            x[0].group_norm(2, Some(&x[1]), Some(&x[2]), EPS)
        });
    }
    for shape in [&[2, 2, 3][..], &[4, 2], &[2, 3, 1, 2], &[0, 2, 2]] {
        let channels = &shape[1..2];
        let (mean, var) = (numbers(channels, 5), numbers(channels, 6).abs().unwrap());
        if shape.len() > 2 {
            check("instance_norm", &[shape, channels, channels], |x| {
                x[0].instance_norm(None, Some(&x[1]), Some(&x[2]), EPS)
            });
        }
        check("instance_norm", &[shape, channels], |x| {
            x[0].instance_norm(Some((&mean, &var)), Some(&x[1]), None, EPS)
        });
        check("batch_norm", &[shape, channels, channels], |x| {
            Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), EPS)?.0)
        });
        check("batch_norm", &[shape, channels, channels], |x| {
            x[0].batch_norm(&mean, &var, Some(&x[1]), Some(&x[2]), EPS)
        });
        // Statistics may have a gradient of their own.
        check("batch_norm", &[shape, channels, channels], |x| {
            x[0].batch_norm(&x[1], &x[2].abs()?, None, None, EPS)
        });
    }
}

fn attentions() {
    let plain = AttentionOptions::default();
    fn attend(x: &[Tensor], options: AttentionOptions<'_>) -> Result<Tensor> {
        x[0].scaled_dot_product_attention(&x[1], &x[2], options)
    }
    let name = "scaled_dot_product_attention";
    let qkv: &[&[usize]] = &[&[2, 3, 2], &[2, 4, 2], &[2, 4, 3]];
    check(name, qkv, |x| attend(x, plain));
    let causal = plain.is_causal(true).scale(0.7);
    check(name, qkv, |x| attend(x, causal));
    check(name, &[&[3, 2], &[2, 2], &[2, 1]], |x| attend(x, causal));
    check(name, &[&[2, 1, 2, 2], &[3, 3, 2], &[1, 3, 2]], |x| {
        attend(x, plain)
    });
    check(name, &[&[2, 0, 2], &[2, 2, 2], &[2, 2, 2]], |x| {
        attend(x, plain)
    });
    check(name, &[&[1, 2, 2], &[1, 0, 2], &[1, 0, 2]], |x| {
        attend(x, plain)
    });
    let gqa = plain.enable_gqa(true);
    check(name, &[&[1, 4, 2, 2], &[1, 2, 3, 2], &[1, 2, 3, 2]], |x| {
        attend(x, gqa)
    });
    let mask = Tensor::from([[true, false, true, true], [false; 4], [true; 4]]);
    let masked = plain.attn_mask(&mask);
    check(name, qkv, |x| attend(x, masked));
    check(
        "attention with a mask",
        &[qkv[0], qkv[1], qkv[2], &[3, 4]],
        |x| {
            let attn_mask = Some(&x[3]);
            attend(x, plain.attn_mask(attn_mask))
        },
    );
    check(
        "attention with dropout",
        &[&[2, 2], &[3, 2], &[3, 2]],
        |x| {
            let dropout_p = 0.4;
            fork_rng(3, || attend(x, plain.dropout_p(dropout_p)))
        },
    );
}

fn losses() {
    let weight = Tensor::from([0.5_f64, 2.0, 1.25]);
    let matrix = Tensor::from([2_i64, -1, 0, 1]);
    let image = Tensor::from([[0_i64, 2], [1, -1]]);
    for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
        for (label_smoothing, weight) in [
            (0.0, None),
            (0.3, None),
            (0.0, Some(&weight)),
            (0.3, Some(&weight)),
        ] {
            let options = CrossEntropyOptions::new()
                .weight(weight)
                .ignore_index(-1)
                .reduction(reduction)
                .label_smoothing(label_smoothing);
            check("cross_entropy", &[&[4, 3]], |x| {
                x[0].cross_entropy(&matrix, options)
            });
            check("cross_entropy", &[&[2, 3, 2]], |x| {
                x[0].cross_entropy(&image, options)
            });
            let target = numbers([2, 3], 4).softmax(1).unwrap();
            check("cross_entropy", &[&[2, 3]], |x| {
                x[0].cross_entropy(&target, options)
            });
        }
        let nll = NllLossOptions::new()
            .weight(&weight)
            .ignore_index(-1)
            .reduction(reduction);
        check("nll_loss", &[&[2, 3, 2]], |x| x[0].nll_loss(&image, nll));
        // Weights may have a gradient of their own.
        check("cross_entropy by weights", &[&[4, 3], &[3]], |x| {
            let (square, ignore_index) = (x[1].mul(&x[1])?, -1);
            let weight = Some(&square);
            let options = CrossEntropyOptions::new()
                .weight(weight)
                .ignore_index(ignore_index)
                .reduction(reduction)
                .label_smoothing(0.2);
            x[0].cross_entropy(&matrix, options)
        });
    }
    check("cross_entropy", &[&[3]], |x| {
        x[0].cross_entropy(&Tensor::from(1_i64), CrossEntropyOptions::default())
    });
}

/// The gradients by the kernels and those by the formulas.
#[track_caller]
pub(super) fn agree(shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let inputs = shapes.iter().enumerate();
    let leaves: Vec<Tensor> = inputs
        .map(|(i, &shape)| numbers(shape, i).with_grad().unwrap())
        .collect();
    let wanted: Vec<&Tensor> = leaves.iter().collect();
    let of = |create_graph: bool| {
        let y = f(&leaves).unwrap();
        let grad = numbers(y.shape(), 9);
        let options = BackwardOptions::new().create_graph(create_graph);
        grad_with(&[&y], &[&grad], &wanted, options).unwrap()
    };
    for (kernel, formula) in of(false).into_iter().zip(of(true)) {
        let (kernel, formula) = (kernel.unwrap(), formula.unwrap());
        assert_eq!(kernel.shape(), formula.shape());
        close(&kernel, &formula, 1e-12);
    }
}

#[track_caller]
pub(super) fn close(a: &Tensor, b: &Tensor, limit: f64) {
    for (a, b) in a
        .to_vec::<f64>()
        .unwrap()
        .into_iter()
        .zip(b.to_vec::<f64>().unwrap())
    {
        assert!((a - b).abs() <= limit * b.abs().max(1.0), "{a} and {b}");
    }
}

#[test]
fn a_start_far_from_the_rest_does_not_spoil_the_variance() {
    // The first elements are not representative of the mean.
    let value = |i: usize| if i < 40 { 1000.0 } else { (i % 5) as f64 / 4.0 };
    let values = (0..900).map(value).collect();
    let exact = Tensor::from_vec::<f64>(values, [1, 900]).unwrap();
    let mean = exact.mean(..).unwrap();
    let var = exact.var(.., 0.0).unwrap().item::<f64>().unwrap();
    let y = exact.to_dtype(DType::F32).unwrap();
    let y = y.layer_norm([900], None, None, 0.0).unwrap();
    let expected = exact.sub(&mean).unwrap().div(var.sqrt()).unwrap();
    close(&y.to_dtype(DType::F64).unwrap(), &expected, 1e-6);
}

#[test]
fn numbers_far_from_zero_are_normalized_as_near_it() {
    // One part in a thousand of noise: in f32 the mean itself is rounded by more than the result.
    let noise = numbers([3, 500], 1);
    let far = noise.add(1e4).unwrap().to_dtype(DType::F32).unwrap();
    let exact = far.to_dtype(DType::F64).unwrap();
    let same = |f: &dyn Fn(&Tensor) -> Tensor, grad: bool| {
        let leaves = [far.with_grad().unwrap(), exact.with_grad().unwrap()];
        let [a, b] = leaves.each_ref().map(f);
        close(&a.to_dtype(DType::F64).unwrap(), &b, 2e-6);
        if grad {
            for y in [&a, &b] {
                let grad = numbers(y.shape(), 4).to_dtype(y.dtype()).unwrap();
                y.backward_with(&grad, BackwardOptions::default()).unwrap();
            }
            let [a, b] = leaves.map(|leaf| leaf.grad().unwrap().to_dtype(DType::F64).unwrap());
            close(&a, &b, 2e-6);
        }
    };
    same(&|x| x.layer_norm([500], None, None, 1e-5).unwrap(), true);
    same(&|x| x.group_norm(5, None, None, 1e-5).unwrap(), true);
    same(&|x| x.batch_norm_train(None, None, 1e-5).unwrap().0, false);
    same(
        &|x| x.t().unwrap().batch_norm_train(None, None, 1e-5).unwrap().0,
        true,
    );
    let planes = |x: &Tensor| x.unsqueeze(0).unwrap();
    same(
        &|x| planes(x).batch_norm_train(None, None, 1e-5).unwrap().0,
        true,
    );
    let target = Tensor::from([1_i64, 499, 7]);
    same(
        &|x| x.cross_entropy(&target, Default::default()).unwrap(),
        true,
    );
}

#[test]
fn an_empty_batch_has_no_statistics() {
    let x = Tensor::zeros([0, 3, 2], DType::F16).unwrap();
    let (y, mean, var) = x.batch_norm_train(None, None, 1e-5).unwrap();
    assert_eq!(y.shape().to_string(), "[0, 3, 2]");
    assert_eq!(mean.to_vec::<f32>().unwrap(), [0.0; 3]);
    assert_eq!(var.to_vec::<f32>().unwrap(), [0.0; 3]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let x = numbers([2, 3], 0);
    let message = |result: Result<Tensor>| result.unwrap_err().to_string();
    let weight = numbers([2], 0);
    assert_eq!(
        message(x.layer_norm([2], None, None, 1e-5)),
        "layer_norm: normalized_shape = [2]: must be one or more of the last sizes of [2, 3]"
    );
    assert_eq!(
        message(x.layer_norm([3], Some(&weight), None, 1e-5)),
        "layer_norm: expected a weight [3], got shape [2]"
    );
    assert_eq!(
        message(x.group_norm(2, None, None, 1e-5)),
        "group_norm: num_groups = 2: must divide the 3 channels of [2, 3]"
    );
    assert_eq!(
        message(x.cross_entropy(&Tensor::from([0_i64, 3]), Default::default())),
        "cross_entropy: target = 3: must be a class below 3"
    );
    assert_eq!(
        message(x.nll_loss(&Tensor::from([0_i64, -7]), Default::default())),
        "nll_loss: target = -7: must be a class below 3"
    );
    let mask = Tensor::from([[true, false], [true, true]]);
    let both = AttentionOptions::new().attn_mask(&mask).is_causal(true);
    assert_eq!(
        message(x.scaled_dot_product_attention(&x, &x, both)),
        "scaled_dot_product_attention: is_causal = true: cannot be combined with `attn_mask`; join both in the mask"
    );
    let masked = |mask: &Tensor| {
        let options = AttentionOptions::new().attn_mask(mask);
        message(x.scaled_dot_product_attention(&x, &x, options))
    };
    assert_eq!(
        masked(&Tensor::from([1_i64, 0])),
        "scaled_dot_product_attention: attn_mask = int64: must be of booleans, true where a key may be attended to \
         (`mask.ne(0)?`), or of numbers that are added to the scores, in the dtype of the query"
    );
    assert_eq!(
        masked(&Tensor::from([true, false, true])),
        "scaled_dot_product_attention: attn_mask = [3]: must broadcast to the shape of the scores, [2, 2]"
    );
}
