//! Powers of tensors, scalars on the left, partly read sources, kept sizes.

use super::*;

#[test]
fn gradients_agree_with_differences_to_second_order() {
    let base = |x: &Tensor| x.mul(x)?.add(0.5);
    for shapes in [
        [&[2_usize, 3][..], &[2, 3]],
        [&[2, 3], &[3]],
        [&[3], &[2, 1]],
        [&[], &[2]],
        [&[0, 3], &[3]],
    ] {
        check("pow of a tensor", &shapes, |x| base(&x[0])?.pow(&x[1]));
    }
    check_unary("number - x", |x| 2.0 - x.mul(x)?);
    check_unary("number / x", |x| 2.0 / x);
    let index = Tensor::from([[2_i64, 0], [1, 1]]);
    check("scatter_add of a part", &[&[3, 2], &[3, 3]], |x| {
        let y = x[0].scatter_add(0, &index, &x[1])?;
        y.mul(&y)
    });
    let (one, list) = (Tensor::from(0_i64), Tensor::from([0_i64]));
    check("gather from a number", &[&[]], |x| {
        x[0].gather(0, &one)?.exp()
    });
    check("scatter_add to a number", &[&[], &[]], |x| {
        x[0].scatter_add(0, &one, &x[1])?.exp()
    });
    check("scatter to a number", &[&[], &[]], |x| {
        x[0].scatter(0, &one, &x[1])?.exp()
    });
    check("index_select of a number", &[&[]], |x| {
        x[0].index_select(0, &list)?.exp()
    });
    check("index_add to a number", &[&[], &[]], |x| {
        x[0].index_add(0, &list, &x[1])?.exp()
    });
    check("unfold of a number", &[&[]], |x| {
        x[0].unfold(0, 1, 2)?.exp()
    });
    check("expand", &[&[2, 1]], |x| x[0].expand([3, -1, 2])?.exp());
    check("split_with_sizes", &[&[5, 2]], |x| {
        let parts = x[0].split_with_sizes([2, 3], 0)?;
        parts[1].narrow(0, 0..2)?.mul(&parts[0])
    });
    let mask = Tensor::from([true, false, true]);
    check("where with numbers", &[&[2, 3]], |x| {
        let y = mask.where_(&x[0], 2)?.exp()?;
        mask.where_(0.5, &y)
    });
}

#[test]
fn the_powers_of_0_have_finite_second_derivatives() {
    let x = Tensor::from([0.0_f64, 0.0, 0.0]).with_grad().unwrap();
    let exponent = Tensor::from([0.0_f64, 2.0, 3.0]).with_grad().unwrap();
    let slopes = slopes(&|x| x[0].pow(&x[1]), &[x, exponent]).unwrap();
    assert!(
        slopes
            .isfinite()
            .unwrap()
            .to_vec::<bool>()
            .unwrap()
            .iter()
            .all(|&finite| finite)
    );
}

#[test]
fn what_does_not_fit_is_named() {
    let (x, index) = (
        Tensor::from([[1_i64, 2], [3, 4]]),
        Tensor::from([[0_i64, 1]]),
    );
    for (result, message) in [
        (
            x.pow(-1),
            "pow: exponent = -1: must not be negative for integers; cast with `to_dtype`",
        ),
        (
            x.pow(0.5),
            "pow: not available for int64; it needs a floating-point tensor with a floating-point scalar; cast with `to_dtype`",
        ),
        (
            1.5 - &x,
            "sub: not available for int64; it needs a floating-point tensor with a floating-point scalar; cast with `to_dtype`",
        ),
        (
            1 / &x,
            "div: not available for int64; it needs a floating-point tensor; cast with `to_dtype`",
        ),
        (
            x.scatter_add(0, &x.zeros_like().unwrap(), &index),
            "scatter_add: [2, 2] and [1, 2] do not fit: the source must have an element for each index",
        ),
        (
            Tensor::from([5_i64]).one_hot(3),
            "one_hot: classes = 3: has no class 5",
        ),
        (
            x.expand([-1, 2, 2]),
            "expand: sizes = [-1, 2, 2]: has a negative size that keeps none of shape [2, 2]",
        ),
        (
            x.split_with_sizes([1, 2], 0)
                .map(|mut parts| parts.remove(0)),
            "split_with_sizes: sizes = [1, 2]: must add up to the 2 elements of the dimension",
        ),
        (
            x.split_with_sizes([usize::MAX, 3], 0)
                .map(|mut parts| parts.remove(0)),
            "split_with_sizes: sizes = [18446744073709551615, 3]: must add up to the 2 elements of the dimension",
        ),
    ] {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}

/// As in PyTorch, not as the precision of a computation would give it.
#[test]
fn a_number_beside_a_tensor_is_rounded_to_its_dtype() {
    for dtype in [DType::F16, DType::BF16, DType::F32] {
        let x = Tensor::from([0.1_f64, 0.3, 70_000.0, f64::NAN]);
        let x = x.to_dtype(dtype).unwrap();
        for (truths, expected) in [
            (x.eq(0.1), [true, false, false, false]),
            (x.ne(0.1), [false, true, true, true]),
            (x.lt(0.1), [false, false, false, false]),
            (x.le(0.1), [true, false, false, false]),
            (x.gt(0.1), [false, true, true, false]),
            (x.ge(0.1), [true, true, true, false]),
            (x.eq(0.3), [false, true, false, false]),
        ] {
            let truths = truths.unwrap().to_vec::<bool>().unwrap();
            assert_eq!(truths, expected, "{dtype:?}");
        }
    }
    let large = (1_i64 << 53) + 1;
    let x = Tensor::from([large - 1, large, 3]);
    let truths = x.eq(large).unwrap().to_vec::<bool>().unwrap();
    assert_eq!(truths, [false, true, false]);
    let x = Tensor::from([1_u8, 255, 6]);
    let truths = x.eq(-250).unwrap().to_vec::<bool>().unwrap();
    assert_eq!(truths, [false, false, true]);

    let (mask, tenth) = (Tensor::from([true, false]), 0.099_975_586);
    let half = |values: [f64; 2], dtype| Tensor::from(values).to_dtype(dtype).unwrap();
    let x = || half([1.0, 2.0], DType::F16);
    let x57 = || half([5.0, -7.0], DType::F16);
    for (result, expected) in [
        (mask.where_(x(), 0.1), [1.0, tenth]),
        (mask.where_(0.1, x()), [tenth, 2.0]),
        (x().masked_fill(&mask, 0.1), [tenth, 2.0]),
        (x57().remainder(0.3), [0.199_218_75, 0.201_171_88]),
        (x57().fmod(0.3), [0.199_218_75, -0.098_876_95]),
        (
            half([5.0, -7.0], DType::BF16).floor_divide(0.3),
            [16.0, -24.0],
        ),
    ] {
        let found = result.unwrap().to_dtype(DType::F32).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), expected);
    }
}

#[test]
fn sizes_are_numbers_of_any_type() {
    let x = Tensor::arange(0, 6, ()).unwrap();
    let (rows, shape) = (2_usize, Shape::from([2, 3]));
    for y in [
        x.reshape([2, 3]),
        x.reshape([rows, 3]),
        x.reshape(vec![2_isize, -1]),
        x.reshape(&shape),
        x.reshape(&[2, 3][..]),
        x.view([rows, x.numel() / rows]),
        x.reshape(-1).and_then(|x| x.unflatten(0, [-1, 3])),
    ] {
        assert_eq!(*y.unwrap().shape(), shape);
    }
    assert_eq!(x.narrow(0, 0..1).unwrap().reshape(()).unwrap().rank(), 0);
}

/// A product that needs no gradient of one factor keeps the other alive only as long as its holder.
#[test]
fn what_no_gradient_reads_is_not_kept() {
    type Product = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let conv = |a: &Tensor, b: &Tensor| {
        let shape = [2, 2, 1, 1];
        a.reshape(shape)?
            .conv2d(&b.reshape(shape)?, Conv2dOptions::default())
    };
    let products: [(&str, Product); 5] = [
        ("mul", |a, b| a.mul(b)),
        ("div", |a, b| a.div(b)),
        ("matmul", |a, b| a.matmul(b)),
        ("linear", |a, b| a.linear(b, None)),
        ("conv2d", conv),
    ];
    // Tracked, and with separate memory.
    let computed = |seed| numbers([2, 2], seed).with_grad().unwrap().add(3.0).unwrap();
    for (name, product) in products {
        let (a, b) = (computed(1), computed(2));
        let both = product(&a, &b).unwrap();
        let grads = |y: &Tensor, inputs: &[&Tensor]| {
            let weights = numbers(y.shape(), 3);
            grad_with(&[y], &[&weights], inputs, BackwardOptions::default()).unwrap()
        };
        let expected = grads(&both, &[&a, &b]);
        for (position, expected) in expected.iter().enumerate() {
            let y = match position {
                0 => product(&a, &b.detach()),
                _ => product(&a.detach(), &b),
            };
            let found = grads(&y.unwrap(), &[[&a, &b][position]]);
            let [found, expected] = [&found[0], expected].map(|grad| grad.as_ref().unwrap());
            assert!(found.equal(expected).unwrap(), "{name} {position}");
        }
        // The divisor is part of both gradients.
        for position in if name == "div" { 0..1 } else { 0..2 } {
            let (x, frozen) = (computed(4), numbers([2, 2], 5));
            let y = match position {
                0 => product(&x, &frozen),
                _ => product(&frozen, &x),
            };
            let memory = x.storage.clone();
            drop(x);
            assert!(memory.is_unshared(), "{name} {position}");
            drop(y);
        }
    }
}

/// Matrices of a batch can be anywhere in memory: adjacent, transposed, expanded, or with irregular strides.
#[test]
fn a_product_does_not_depend_on_where_the_matrices_of_its_batch_lie() {
    let whole = |shape: [usize; 4]| {
        let numel = shape.iter().product::<usize>() as i64;
        let numbers = Tensor::arange(0, numel, DType::F32).unwrap();
        // Integers, so that sums are exact in any order.
        let numbers = numbers.remainder(7.0).unwrap().sub(3.0).unwrap();
        numbers.reshape(shape.map(|size| size as isize)).unwrap()
    };
    // Vectors, small matrices and tiles.
    for (m, k, n) in [(1, 9, 5), (6, 9, 1), (3, 4, 5), (40, 33, 50)] {
        let left = [
            whole([2, 3, m, k]),
            whole([2, m, 3, k]).transpose(1, 2).unwrap(),
            whole([3, 2, k, m]).permute([1, 0, 3, 2]).unwrap(),
            whole([1, 3, m, k]).expand([2, 3, m, k]).unwrap(),
            whole([2, 1, m, k]),
            whole([1, 1, m, k]),
            whole([2, 7, m, k]).narrow(1, 1..4).unwrap(),
            whole([4, 3, m, k]).slice(0, 1.., 2).unwrap(),
        ];
        let right = [
            whole([2, 3, k, n]),
            whole([2, k, 3, n]).transpose(1, 2).unwrap(),
            whole([1, 3, n, k]).transpose(2, 3).unwrap(),
            whole([2, 1, k, n]),
            whole([1, 1, k, n]),
        ];
        for (i, a) in left.iter().enumerate() {
            for (j, b) in right.iter().enumerate() {
                for dtype in [DType::F32, DType::BF16, DType::I64, DType::I32] {
                    let [a, b] =
                        [a, b].map(|x| x.to_dtype(dtype).unwrap_or_else(|e| panic!("{e}")));
                    let product = a.matmul(&b).unwrap().expand([2, 3, m, n]).unwrap();
                    let copied = |x: &Tensor, rows: usize, columns: usize| {
                        let x = x.expand([2, 3, rows, columns]).unwrap();
                        x.contiguous().unwrap().flatten(0, 1).unwrap()
                    };
                    let expected = copied(&a, m, k).matmul(&copied(&b, k, n)).unwrap();
                    let same = product.flatten(0, 1).and_then(|x| x.equal(&expected));
                    assert!(same.unwrap(), "{m} {k} {n}: {i} {j} {dtype}");
                }
            }
        }
    }
    let none = whole([2, 3, 0, 4]).matmul(&whole([1, 3, 4, 2])).unwrap();
    assert_eq!(none.shape().to_string(), "[2, 3, 0, 2]");
}
