//! Tensors as indices, reductions by index, cumulative values, quantiles.

use super::*;
use crate::{
    AutogradError, ErrorKind, IndexItem, MeshIndexing, QuantileInterpolation, ScatterReduce, Unique,
};

pub(super) fn check_all() {
    let (rows, columns) = (Tensor::from([2_i64, 0, -1]), Tensor::from([[1_i64], [-2]]));
    check("index by tensors", &[&[3, 4, 2]], |x| {
        x[0].i((&rows, .., &Tensor::from([0_i64, 1, 0])))?.exp()
    });
    let mask = Tensor::from([[true, false], [true, true], [false, false]]);
    check("index_put", &[&[3, 4], &[2, 1]], |x| {
        let y = x[0].index_put_accumulate((0, &columns), &x[1])?;
        y.index_put((1.., &Tensor::from([3_i64])), &x[1])?.square()
    });
    check("masked_scatter", &[&[2], &[2, 2]], |x| {
        x[0].masked_scatter(&mask, &x[1])?.square()
    });
    check("index_fill", &[&[3, 2], &[]], |x| {
        x[0].index_fill(0, &rows, &x[1])?.square()
    });
    check("index_copy", &[&[3, 2], &[2, 2]], |x| {
        x[0].index_copy(0, &Tensor::from([2_i64, 0]), &x[1])?
            .square()
    });
    let index = Tensor::from([[0_i64, 2, 1], [0, 0, 1]]);
    let pair = [numbers([3, 3], 0), numbers([2, 3], 1)];
    for reduce in [
        ScatterReduce::Sum,
        ScatterReduce::Prod,
        ScatterReduce::Mean,
        ScatterReduce::Amax,
        ScatterReduce::Amin,
    ] {
        // If elements are equal, extremes have a kink.
        check_layouts(&format!("{reduce:?}"), &pair, &["expanded"], &|x| {
            x[0].scatter_reduce(0, &index, &x[1], reduce)?.square()
        });
        check_layouts(&format!("{reduce:?}"), &pair, &["expanded"], &|x| {
            x[0].scatter_reduce_exclude_self(0, &index, &x[1], reduce)?
                .square()
        });
    }
    check("repeat_interleave", &[&[3, 2]], |x| {
        x[0].repeat_interleave(&Tensor::from([1_i64, 0, 2]), 0)?
            .square()
    });
    check("meshgrid", &[&[2], &[3]], |x| {
        let grid = Tensor::meshgrid(&[&x[0], &x[1]], MeshIndexing::Xy)?;
        grid[0].mul(&grid[1])
    });
    for shape in [&[3, 4][..], &[0, 4], &[]] {
        let x = [numbers(shape, 2)];
        check_layouts("cummax", &x, &["expanded"], &|x| x[0].cummax(0)?.0.square());
        check_layouts("cummin", &x, &["expanded"], &|x| {
            x[0].cummin(-1)?.0.square()
        });
    }
    check_unary("logcumsumexp", |x| x.logcumsumexp(0)?.square());
    for interpolation in [
        QuantileInterpolation::Linear,
        QuantileInterpolation::Midpoint,
    ] {
        check("quantile", &[&[3, 4]], |x| {
            x[0].quantile_keepdim(0.4, 1, interpolation)?.square()
        });
    }
    check_unary("nan_to_num", |x| x.nan_to_num(None, None, None)?.square());
    for shapes in [[&[2, 3][..], &[3]], [&[], &[2]], [&[0, 2], &[2]]] {
        check("logaddexp", &shapes, |x| x[0].logaddexp(&x[1])?.square());
        check("logaddexp2", &shapes, |x| x[0].logaddexp2(&x[1])?.square());
        check("xlogy", &shapes, |x| {
            x[0].xlogy(x[1].square()?.add(0.5)?)?.square()
        });
    }
}

#[test]
fn the_second_derivatives_of_products_with_one_zero_are_exact() {
    let x = Tensor::from([2.0_f64, 0.0, -1.5]);
    let source = Tensor::from([0.0_f64, 3.0, 1.25, -0.5]);
    let index = Tensor::from([0_i64, 0, 1, 2]);
    let f = |x: &[Tensor]| x[0].scatter_reduce(0, &index, &x[1], ScatterReduce::Prod);
    gradcheck(f, &[x.clone(), source.clone()]).unwrap();
    gradgradcheck(f, &[x.clone(), source]).unwrap();
    let several = Tensor::from([0.0_f64, 0.0, 1.25, -0.5]);
    gradcheck(f, &[x.clone(), several.clone()]).unwrap();
    let error = gradgradcheck(f, &[x, several]).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Autograd(AutogradError::NoGradient { .. })
        ),
        "{error}"
    );
}

#[test]
fn distinct_elements_and_draws_have_no_gradient_to_follow() {
    let x = Tensor::from([1.0_f32, 2.0, 1.0]).with_grad().unwrap();
    let Unique {
        values, inverse, ..
    } = x.unique(..).unwrap();
    assert_eq!(inverse.to_vec::<i64>().unwrap(), [0, 1, 0]);
    let error = values.sum(..).unwrap().backward().unwrap_err();
    let expected = "backward: `unique` has no gradient; use `detach` before it if none is wanted";
    assert_eq!(error.to_string(), expected);
    assert!(!x.multinomial(2).unwrap().requires_grad());
    // The weights of a count do have one.
    let positions = Tensor::from([1_i64, 0, 1]);
    let counted = positions.bincount(Some(&x), 0).unwrap();
    let slopes = Tensor::from([3.0_f32, 5.0]);
    counted
        .mul(&slopes)
        .unwrap()
        .sum(..)
        .unwrap()
        .backward()
        .unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [5.0, 3.0, 5.0]);
}

#[test]
fn half_precision_draws_fold_as_wide_ones() {
    let x = numbers([5], 3).to_dtype(DType::F16).unwrap();
    let index = Tensor::from([0_i64, 0, 0, 1, 1]);
    let wide = |x: &Tensor| x.to_dtype(DType::F32).unwrap();
    let fold = |x: &Tensor| {
        x.scatter_reduce_exclude_self(0, &index, x, ScatterReduce::Prod)
            .unwrap()
    };
    let expected = fold(&wide(&x)).to_dtype(DType::F16).unwrap();
    assert!(fold(&x).equal(&expected).unwrap());
}

#[test]
fn errors_of_indices_quote_the_request() {
    let x = numbers([2, 3], 0);
    let list = |values: Vec<i64>| Tensor::from(values);
    let message = |result: Result<Tensor>| result.unwrap_err().to_string();
    let (two, row) = (list(vec![0, 1]), list(vec![0, 1, 2]));
    let cases = [
        (
            x.i((.., &list(vec![0, 3]))),
            "index: index 3 is out of range for size 3",
        ),
        (
            x.i(list(vec![-3])),
            "index: index -3 is out of range for size 2",
        ),
        (
            x.i((&two, &row)),
            "index: shapes [2] and [3] cannot be broadcast together",
        ),
        (
            x.i(Tensor::from([true, false, true])),
            "index: [2, 3] and [3] do not fit: a mask has the sizes of the dimensions from 0 on",
        ),
        (
            x.i(numbers([2], 0)),
            "index: not available for float64; it needs an int64, int32 or bool tensor as an index",
        ),
        (
            x.i((&two, &two, &two)),
            "index: index = [int64[2], int64[2], int64[2]]: has 3 indices, more than the dimensions of shape [2, 3]",
        ),
        (
            x.index_put(&two, numbers([2], 0)),
            "index_put: [2, 3] and [2] do not fit: the values must broadcast to what the index selects",
        ),
        (
            x.masked_scatter(&x.gt(-9.0).unwrap(), &numbers([2], 0)),
            "masked_scatter: [2, 3] and [2] do not fit: the source must have 6 elements, one for \
             each true of the mask",
        ),
        (
            x.index_fill(1, &list(vec![3]), 0.0),
            "index_fill: index 3 is out of range for size 3",
        ),
        (
            x.index_fill(1, &two, numbers([1], 0)),
            "index_fill: expected a value without dimensions, got shape [1]",
        ),
        (
            x.index_copy(0, &list(vec![-1]), &numbers([1, 3], 0)),
            "index_copy: index -1 is out of range for size 2",
        ),
        (
            x.index_copy(0, &two, &numbers([1, 3], 0)),
            "index_copy: [2, 3] and [1, 3] do not fit: the source must have the shape of the \
             selection",
        ),
        (
            x.scatter_reduce(0, &two, &x, ScatterReduce::Prod),
            "scatter_reduce: [2, 3] and [2] do not fit: the index may exceed the tensor in \
             dimension 0 only",
        ),
        (
            x.repeat_interleave(&row, 0),
            "repeat_interleave: expected one number, or one for each of 2 slices, got shape [3]",
        ),
        (
            x.repeat_interleave(&list(vec![1, -1]), 0),
            "repeat_interleave: repeats = -1: must not be negative",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(message(found), expected);
    }
}

#[test]
fn errors_of_counts_and_quantiles_quote_the_request() {
    use QuantileInterpolation::Linear;

    let x = numbers([2, 3], 0);
    let message = |result: Result<Tensor>| result.unwrap_err().to_string();
    let whole = Tensor::from([1_i64, -2]);
    let cases = [
        (
            Tensor::from([0.5_f32, -0.25]).multinomial_with_replacement(1),
            "multinomial: weight = -0.25: must be finite and at least 0; it is weight 1",
        ),
        (
            Tensor::from([0.0_f32, 0.0]).multinomial_with_replacement(1),
            "multinomial: expected at least one weight above 0 in each row, whose sum is 0, got \
             shape [2]",
        ),
        (
            Tensor::from([1.0_f32, 0.0]).multinomial(3),
            "multinomial: num_samples = 3: is more than the 2 weights, without replacement",
        ),
        (
            Tensor::from([1.0_f32, 0.0]).multinomial_with_replacement(0),
            "multinomial: num_samples = 0: must be at least 1",
        ),
        (
            whole.multinomial_with_replacement(1),
            "multinomial: not available for int64; it needs floating-point weights",
        ),
        (
            whole.bincount(None, 0),
            "bincount: element = -2: must not be negative",
        ),
        (
            x.bincount(None, 0),
            "bincount: not available for float64; it needs integers",
        ),
        (
            whole.bincount(Some(&x), 0),
            "bincount: [2] and [2, 3] do not fit: there must be a weight for each element",
        ),
        (
            x.searchsorted(numbers([3, 2], 0)),
            "searchsorted: [2, 3] and [3, 2] do not fit: all dimensions but the last must agree",
        ),
        (
            x.searchsorted_with(&x, SearchSortedOptions::new().sorter(&whole)),
            "searchsorted: [2, 3] and [2] do not fit: the sorter must have the shape of the tensor",
        ),
        (
            x.bucketize(&x),
            "bucketize: expected boundaries of one dimension, got shape [2, 3]",
        ),
        (
            x.quantile(1.5, .., Linear),
            "quantile: q = 1.5: must lie in [0, 1]",
        ),
        (
            x.nanquantile(&x, .., Linear),
            "nanquantile: expected a q with at most one dimension, got shape [2, 3]",
        ),
        (
            whole.quantile(0.5, .., Linear),
            "quantile: not available for int64; it needs a float32 or float64 tensor",
        ),
        (
            x.narrow(0, 0..0).unwrap().quantile(0.5, 1, Linear),
            "quantile: expected at least one element, got shape [0, 3]",
        ),
        (
            Tensor::zeros([0, 2], DType::F32)
                .unwrap()
                .unique(1)
                .map(|u| u.values),
            "unique: expected slices with elements, got shape [0, 2]",
        ),
        (
            Tensor::meshgrid(&[&x], MeshIndexing::Ij).map(|mut grid| grid.remove(0)),
            "meshgrid: expected at most one dimension, got shape [2, 3]",
        ),
        (
            Tensor::meshgrid(&[], MeshIndexing::Ij).map(|mut grid| grid.remove(0)),
            "meshgrid: tensors = []: there is nothing to span a grid",
        ),
        (
            whole.logcumsumexp(0),
            "logcumsumexp: not available for int64; it needs a floating-point tensor",
        ),
        (
            x.to_dtype(DType::F16).unwrap().nan_to_num(1e9, None, None),
            "nan_to_num: value = 1000000000.0: does not fit float16; choose a wider dtype",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(message(found), expected);
    }
}

#[test]
fn an_index_of_any_kind_combines_with_any_other() {
    let x = Tensor::arange(0, 24, ())
        .unwrap()
        .reshape([2, 3, 4])
        .unwrap();
    let list = Tensor::from([1_i64, 0]);
    let items = [
        IndexItem::from(&list),
        IndexItem::Ellipsis,
        IndexItem::from(-1),
    ];
    let found = x.i(items).unwrap();
    assert_eq!(found.to_vec::<i64>().unwrap(), [15, 19, 23, 3, 7, 11]);
    let mask = x.i(0).unwrap().ge(10).unwrap();
    assert_eq!(x.i((1, &mask)).unwrap().to_vec::<i64>().unwrap(), [22, 23]);
}

/// Rows are shared by threads; each result must be that of one thread, and an index out of range is refused by any.
#[test]
fn rows_that_threads_share_are_those_of_one() {
    let rows = if cfg!(miri) { 40 } else { 3000 };
    let values: Vec<i64> = (0..rows * 50).map(|i| i * i % 1013).collect();
    let x = Tensor::from_vec(values, [rows as usize, 50]).unwrap();
    let x = x.to_dtype(DType::F32).unwrap();
    let index = x.to_dtype(DType::I64).unwrap().remainder(50).unwrap();
    type Operation = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let operations: [Operation; 6] = [
        |x, index| x.gather(1, index),
        |x, _| x.cumsum(1),
        |x, _| x.reshape([x.numel() / 250, 5, 50])?.cumsum(1),
        |x, _| x.flip(1),
        |x, _| x.pad([2, 3], 7.0),
        |x, _| x.roll(3, 1),
    ];
    for (i, operation) in operations.into_iter().enumerate() {
        let results = [1, 3].map(|threads| {
            crate::set_num_threads(threads);
            operation(&x, &index).unwrap().to_vec::<f32>().unwrap()
        });
        assert!(results[0] == results[1], "operation {i}");
    }
    // One index, in a row of the last thread.
    let last = Tensor::full([1, 50], 50, DType::I64).unwrap();
    let wrong = Tensor::cat(&[index, last], 0).unwrap();
    let taller = Tensor::cat(&[x.clone(), x.narrow(0, 0..1).unwrap()], 0).unwrap();
    assert!(taller.gather(1, &wrong).is_err());
    // The gradient is a copy, too: adding to zeros would lose the sign of -0.0.
    let leaf = x.with_grad().unwrap();
    let negative = x.zeros_like().unwrap().neg().unwrap();
    let flipped = leaf.flip(1).unwrap();
    flipped
        .backward_with(&negative, Default::default())
        .unwrap();
    let grad = leaf.grad().unwrap().to_vec::<f32>().unwrap();
    assert!(grad.iter().all(|v| v.is_sign_negative()));
    let reversed = x.flip(1).unwrap().flip(1).unwrap();
    assert!(reversed.to_vec::<f32>().unwrap() == x.to_vec::<f32>().unwrap());
}
