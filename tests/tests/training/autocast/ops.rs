//! Every operation of the lists, and some that are in no list.

use module_nn::functional as F;
use module_nn::functional::KLDivReduction;
use module_nn::functional::Reduction::Mean;
use module_nn::prelude::*;
use module_nn::{
    AttentionOptions, AvgPoolOptions, CTCLossConfig, CdistMode, ConvOptions, ConvTransposeOptions,
    CrossEntropyOptions, GridSampleOptions, NllLossOptions, PadMode, PoolOptions,
    QuantileInterpolation, linalg,
};
use module_tests::golden::{self, Tolerance, compare};

use super::{compare_rounded, dtype};

fn classes() -> Tensor {
    Tensor::from([0_i64, 2, 1])
}

fn signs() -> Tensor {
    Tensor::from([1_i64, -1, 1])
}

fn run(op: &str, x: &[Tensor]) -> Result<Tensor> {
    let a = &x[0];
    let b = x.get(1).unwrap_or(a);
    let c = x.get(2).unwrap_or(b);
    let by = QuantileInterpolation::Linear;
    match op {
        "matmul" | "matmul_batched" | "matmul_vector" => a.matmul(b),
        "dot" => a.dot(b),
        "outer" => a.outer(b),
        "addmm" => a.addmm(b, c, 1.0, 1.0),
        "addmv" => a.addmv(b, c, 1.0, 1.0),
        "baddbmm" => a.baddbmm(b, c, 1.0, 1.0),
        "addbmm" => a.addbmm(b, c, 1.0, 1.0),
        "einsum" => Tensor::einsum("ij,jk->ik", &[a, b]),
        "einsum_outer" => Tensor::einsum("i,j->ij", &[a, b]),
        "tensordot" => a.tensordot(b, 1),
        "linear" => a.linear(b, Some(c)),
        "bilinear" => F::bilinear(a, b, c, Some(&x[3])),
        "conv1d" => a.conv1d(b, ConvOptions::new()),
        "conv2d" => a.conv2d(b, ConvOptions::new()),
        "conv3d" => a.conv3d(b, ConvOptions::new()),
        "conv_transpose1d" => a.conv_transpose1d(b, ConvTransposeOptions::new()),
        "conv_transpose2d" => a.conv_transpose2d(b, ConvTransposeOptions::new()),
        "prelu" => a.prelu(b),
        "scaled_dot_product_attention" => {
            a.scaled_dot_product_attention(b, c, AttentionOptions::new())
        }
        "avg_pool2d" => a.avg_pool2d(AvgPoolOptions::new([2, 2])),
        "avg_pool3d" => a.avg_pool3d(AvgPoolOptions::new([2, 2, 2])),
        "adaptive_avg_pool3d" => a.adaptive_avg_pool3d(2),
        "adaptive_max_pool3d" => a.adaptive_max_pool3d(2),
        "max_pool2d" => a.max_pool2d(PoolOptions::new([2, 2])),
        "max_pool3d" => a.max_pool3d(PoolOptions::new([2, 2, 2])),
        "max_pool3d_with_indices" => Ok(a.max_pool3d_with_indices(PoolOptions::new([2, 2, 2]))?.0),
        "reflection_pad2d" => a.pad([1; 4], PadMode::Reflect),
        "reflection_pad3d" => a.pad([1; 6], PadMode::Reflect),
        "replication_pad3d" => a.pad([1; 6], PadMode::Replicate),
        "circular_pad" => a.pad([1; 2], PadMode::Circular),
        "grid_sample" => a.grid_sample(b, GridSampleOptions::new()),
        "prod" => a.prod(..),
        "prod_dim" => a.prod(1),
        "sum" => a.sum(..),
        "quantile" => a.quantile(0.3, .., by),
        "nanquantile" => a.nanquantile(0.3, .., by),
        "cdist" => a.cdist(b, 2.0, CdistMode::default()),
        "pairwise_distance" => F::pairwise_distance(a, b, 2.0, 1e-6),
        "cosine_similarity" => F::cosine_similarity(a, b, 1, 1e-8),
        "softmax" => a.softmax(1),
        "gelu" => a.gelu(Default::default()),
        "layer_norm" => a.layer_norm([4], None, None, 1e-5),
        "cat" => Tensor::cat(&[a, b], 0),
        "stack" => Tensor::stack(&[a, b], 0),
        "index_copy" => a.index_copy(0, &Tensor::from([1_i64, 0]), b),
        "add" => a.add(b),
        "sub" => a.sub(b),
        "mul" => a.mul(b),
        "div" => a.div(b),
        "maximum" => a.maximum(b),
        "where" => a.gt(b)?.where_(a, b),
        _ => loss(op, [a, b, c]),
    }
}

fn loss(op: &str, [a, b, c]: [&Tensor; 3]) -> Result<Tensor> {
    match op {
        "mse_loss" => F::mse_loss(a, b, Mean),
        "l1_loss" => F::l1_loss(a, b, Mean),
        "smooth_l1_loss" => F::smooth_l1_loss(a, b, Mean, 1.0),
        "huber_loss" => F::huber_loss(a, b, Mean, 1.0),
        "binary_cross_entropy" => F::binary_cross_entropy(&a.sigmoid()?, &b.sigmoid()?, None, Mean),
        "binary_cross_entropy_with_logits" => {
            F::binary_cross_entropy_with_logits(a, &b.sigmoid()?, None, Mean, None)
        }
        "soft_margin_loss" => F::soft_margin_loss(a, &signs(), Mean),
        "multilabel_soft_margin_loss" => F::multilabel_soft_margin_loss(a, b, None, Mean),
        "cross_entropy" => a.cross_entropy(&classes(), CrossEntropyOptions::new()),
        "nll_loss" => a.nll_loss(&classes(), NllLossOptions::new()),
        "kl_div" => F::kl_div(a, &b.sigmoid()?, KLDivReduction::Mean),
        "poisson_nll_loss" => F::poisson_nll_loss(a, b, &PoissonNLLLossConfig::new()),
        "gaussian_nll_loss" => {
            F::gaussian_nll_loss(a, b, &c.abs()?.add(1.0)?, &GaussianNLLLossConfig::new())
        }
        "cosine_embedding_loss" => F::cosine_embedding_loss(a, b, &signs(), 0.0, Mean),
        "hinge_embedding_loss" => F::hinge_embedding_loss(a, &signs(), 1.0, Mean),
        "margin_ranking_loss" => F::margin_ranking_loss(a, b, &signs(), 0.0, Mean),
        "multi_margin_loss" => F::multi_margin_loss(a, &classes(), 1, 1.0, None, Mean),
        "multilabel_margin_loss" => {
            F::multilabel_margin_loss(a, &Tensor::from([[3_i64, 0, -1, 1]]), Mean)
        }
        "triplet_margin_loss" => F::triplet_margin_loss(a, b, c, &TripletMarginLossConfig::new()),
        "ctc_loss" => {
            let targets = Tensor::from([[1_i64, 2]]);
            F::ctc_loss(
                &a.log_softmax(-1)?,
                &targets,
                [4],
                [2],
                &CTCLossConfig::new(),
            )
        }
        "linear_cross_entropy" => F::linear_cross_entropy(a, b, &classes(), Default::default()),
        "qr" => Ok(linalg::qr(a, linalg::QrMode::Reduced)?.1),
        "inv" => linalg::inv(&a.add(&Tensor::eye(3, 3, DType::F32)?.mul(5.0)?)?),
        other => panic!("an unknown operation: {other}"),
    }
}

#[test]
fn operations_compute_in_the_dtypes_and_with_the_numbers_of_pytorch() {
    let (case, tensors) = golden::load("autocast.safetensors");
    let cases = case["ops"].as_array().expect("operations");
    assert!(cases.len() > 300);
    let mut wrong = Vec::new();
    for (n, case) in cases.iter().enumerate() {
        let op = case["op"].as_str().expect("a name");
        let lower = dtype(&case["lower"]);
        let count = case["inputs"].as_array().expect("inputs").len();
        let input = |i: usize| tensors.get(&format!("{n}/x.{i}")).expect("an input");
        let x: Vec<Tensor> = (0..count).map(|i| input(i).with_grad().unwrap()).collect();
        let y = match autocast(lower, || run(op, &x)) {
            Ok(y) => y,
            Err(error) => {
                wrong.push(format!("{case}: {error}"));
                continue;
            }
        };
        let fits = |actual: &Tensor, expected: &Tensor| match case["policy"] == "lower" {
            true => compare_rounded(actual, expected, lower),
            // The gradient of a normalization for a sum is 0, except for rounding.
            false if op == "layer_norm" => compare(actual, expected, Tolerance::DIFFERENCE),
            false => compare(actual, expected, Tolerance::CONTRACTION),
        };
        let mut check = |what: String, actual: Option<&Tensor>, expected: Option<&Tensor>| match (
            actual, expected,
        ) {
            (None, None) => {}
            (Some(actual), Some(expected)) => {
                if let Err(text) = fits(actual, expected) {
                    wrong.push(format!("{case}: {what}: {text}"));
                }
            }
            _ => wrong.push(format!("{case}: {what}: one side has none")),
        };
        check("y".to_owned(), Some(&y), tensors.get(&format!("{n}/y")));
        y.to_dtype(DType::F32)
            .unwrap()
            .sum(..)
            .unwrap()
            .backward()
            .unwrap();
        for (i, x) in x.iter().enumerate() {
            let expected = tensors.get(&format!("{n}/grad.{i}"));
            check(format!("gradient {i}"), x.grad().as_ref(), expected);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_is_neither_half_nor_single_precision_stays_as_it_is() -> Result<()> {
    autocast(DType::BF16, || {
        let x = Tensor::from([[1.0_f64, 2.0], [3.0, 4.0]]);
        assert_eq!(x.matmul(&x)?.dtype(), DType::F64);
        assert_eq!(x.prod(..)?.dtype(), DType::F64);
        assert_eq!(x.add(&x.to_dtype(DType::BF16)?)?.dtype(), DType::F64);
        let x = Tensor::from([[1_i64, 2], [3, 4]]);
        assert_eq!(x.matmul(&x)?.dtype(), DType::I64);
        assert_eq!(x.prod(..)?.dtype(), DType::I64);
        let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).to_dtype(DType::F16)?;
        assert_eq!(x.matmul(&x)?.dtype(), DType::BF16);
        Ok(())
    })
}
