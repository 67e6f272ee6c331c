//! One rule for all integers used as indices, classes or lengths, in every operation.
#![allow(clippy::panic, clippy::unwrap_used)]

use module_core::{Integers, ScatterReduce};
use module_nn::functional::{
    EmbeddingBagOptions, LinearCrossEntropyArguments, Reduction, embedding_bag,
    linear_cross_entropy, multilabel_margin_loss,
};
use module_nn::prelude::*;

/// An operation on integers.
type Operation = Box<dyn Fn(&Tensor) -> Result<Tensor>>;

/// Each with integers that it accepts, and their meaning.
fn operations() -> Vec<(&'static str, Tensor, Integers, Operation)> {
    use Integers::{Classes, Indices, Lengths};
    let x = || Tensor::from([[0.5_f32, -1.0, 2.0], [1.5, 0.25, -3.0]]);
    let row = || Tensor::from([[7.0_f32, 8.0, 9.0], [4.0, 5.0, 6.0]]);
    let pairs = Tensor::from([[1_i64, 0, 1], [0, 1, 0]]);
    let list = Tensor::from([1_i64, 0]);
    let adaptive = || fork_rng(0, || AdaptiveLogSoftmaxWithLoss::new(8, 4, vec![2])).unwrap();
    let features = fork_rng(1, || Tensor::randn([2, 8], DType::F32)).unwrap();
    let adaptive = adaptive();
    vec![
        (
            "take_along_dim",
            pairs.clone(),
            Indices,
            Box::new(move |index| x().take_along_dim(index, 0)),
        ),
        (
            "index_fill",
            list.clone(),
            Indices,
            Box::new(move |index| x().index_fill(1, index, 3.0)),
        ),
        (
            "index_copy",
            list.clone(),
            Indices,
            Box::new(move |index| x().index_copy(0, index, &row())),
        ),
        (
            "scatter_reduce",
            pairs.clone(),
            Indices,
            Box::new(move |index| x().scatter_reduce(0, index, &row(), ScatterReduce::Amax)),
        ),
        (
            "scatter_reduce_exclude_self",
            pairs,
            Indices,
            Box::new(move |index| {
                x().scatter_reduce_exclude_self(0, index, &row(), ScatterReduce::Sum)
            }),
        ),
        (
            "max_unpool1d",
            Tensor::from([[1_i64, 2, 5], [0, 3, 4]]),
            Indices,
            Box::new(move |index| x().max_unpool(index, [6])),
        ),
        (
            "embedding_bag, offsets",
            Tensor::from([0_i64, 2]),
            Lengths,
            Box::new(move |offsets| {
                let options = EmbeddingBagOptions::new().offsets(Some(offsets));
                embedding_bag(&Tensor::from([1_i64, 0, 1]), &x(), options)
            }),
        ),
        (
            "AdaptiveLogSoftmaxWithLoss",
            Tensor::from([3_i64, 1]),
            Classes,
            Box::new(move |target| Ok(adaptive.call((features.clone(), target.clone()))?.0)),
        ),
        (
            "multilabel_margin_loss",
            Tensor::from([[2_i64, 0, 1], [1, 2, 0]]),
            // Classes up to the first -1, which bytes cannot represent.
            Indices,
            Box::new(move |target| multilabel_margin_loss(&x(), target, Reduction::None)),
        ),
        (
            "linear_cross_entropy",
            list,
            Classes,
            Box::new(move |target| {
                linear_cross_entropy(&x(), &row(), target, LinearCrossEntropyArguments::default())
            }),
        ),
    ]
}

#[test]
fn one_rule_for_all_indices() {
    for (name, given, of, operation) in operations() {
        let expected = operation(&given).unwrap();
        for dtype in [DType::I32, DType::U8, DType::Bool, DType::I16, DType::F32] {
            let given = given.to_dtype(dtype).unwrap();
            let is_taken = dtype == DType::I32 || (dtype == DType::U8 && of != Integers::Indices);
            match operation(&given) {
                Ok(out) if is_taken => {
                    assert!(out.equal(&expected).unwrap(), "{name}, {dtype}");
                }
                Err(error) if !is_taken => {
                    let ErrorKind::DType(DTypeError::Unsupported {
                        dtype: found,
                        needs,
                        ..
                    }) = error.kind()
                    else {
                        panic!("{name}, {dtype}: {error}");
                    };
                    assert_eq!(*found, dtype, "{name}");
                    assert!(needs.contains("int64"), "{name}: {error}");
                }
                Ok(out) => panic!("{name} takes {dtype}: {out}"),
                Err(error) => panic!("{name} refuses {dtype}: {error}"),
            }
        }
    }
}
