//! Storage-only dtypes: operations that move their elements, and operations that refuse to compute with them.

use crate::{
    AvgPoolOptions, Complex, DType, DTypeError, ErrorKind, PadMode, PoolOptions, Result, Tensor,
    Tolerance,
};

const STORED: [DType; 7] = [
    DType::I8,
    DType::I16,
    DType::U16,
    DType::U32,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::Complex64,
];

/// Small integers, which every dtype can represent.
fn numbers(dtype: DType) -> Tensor {
    let x = Tensor::arange(0, 6, DType::I64).unwrap();
    x.reshape([2, 3]).unwrap().to_dtype(dtype).unwrap()
}

/// The elements as numbers.
fn read(x: &Tensor) -> Vec<f64> {
    let x = match x.dtype() {
        DType::Complex64 => x.view_as_real().unwrap().narrow(-1, 0..1).unwrap(),
        _ => x.clone(),
    };
    x.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

#[test]
fn elements_are_moved() {
    type Move = fn(&Tensor) -> Result<Tensor>;
    let moves: &[(&str, Move)] = &[
        ("t", |x| x.t()),
        ("contiguous", |x| x.t()?.contiguous()),
        ("reshape", |x| x.t()?.reshape([3, 2])),
        ("expand", |x| {
            x.narrow(0, 0..1)?.expand([4, 3])?.contiguous()
        }),
        ("slice", |x| x.narrow(1, 1..3)),
        ("cat", |x| Tensor::cat(&[&x.t()?, &x.t()?], 1)),
        ("stack", |x| Tensor::stack(&[x, x], 1)),
        ("index_select", |x| {
            x.index_select(1, &Tensor::from([2_i64, 0, 0]))
        }),
        ("gather", |x| x.gather(1, &Tensor::from([[2_i64], [0]]))),
        ("scatter", |x| {
            x.scatter(1, &Tensor::from([[2_i64], [0]]), &x.narrow(1, 1..2)?)
        }),
        ("index_tensor", |x| x.i(Tensor::from([1_i64, 0]))),
        ("flip", |x| x.flip([1])),
        ("roll", |x| x.roll(1, 1)),
        ("repeat", |x| x.repeat([2, 2])),
        ("tril", |x| x.tril(0)),
        ("pad", |x| x.pad([1, 1], PadMode::Constant(3.into()))),
        ("reflect", |x| x.pad([1, 1], PadMode::Reflect)),
        ("where", |x| {
            Tensor::from([true, false, true]).where_(x, &x.flip([0])?)
        }),
        ("masked_fill", |x| {
            x.masked_fill(&Tensor::from([true, false, true]), 2)
        }),
        ("masked_select", |x| {
            x.masked_select(&Tensor::from([true, false, true]))
        }),
        ("diagonal", |x| x.diagonal(0, 0, 1)),
        ("zeros_like", |x| x.zeros_like()),
        ("full_like", |x| x.full_like(5)),
    ];
    for (name, f) in moves {
        let expected = f(&numbers(DType::F32)).unwrap();
        for dtype in STORED {
            let got = f(&numbers(dtype)).unwrap_or_else(|e| panic!("{name} of {dtype}: {e}"));
            assert_eq!(got.dtype(), dtype, "{name}");
            assert_eq!(got.shape(), expected.shape(), "{name} of {dtype}");
            assert_eq!(read(&got), read(&expected), "{name} of {dtype}");
        }
    }
}

#[test]
fn nothing_is_computed() {
    type Compute = fn(&Tensor) -> Result<Tensor>;
    let computes: &[(&str, Compute)] = &[
        ("add", |x| x.add(x)),
        ("add of a number", |x| x.add(1)),
        ("sub", |x| x.sub(x)),
        ("mul", |x| x.mul(x)),
        ("div", |x| x.div(x)),
        ("neg", |x| x.neg()),
        ("abs", |x| x.abs()),
        ("sign", |x| x.sign()),
        ("relu", |x| x.relu()),
        ("exp", |x| x.exp()),
        ("floor", |x| x.floor()),
        ("round", |x| x.round()),
        ("tan", |x| x.tan()),
        ("pow", |x| x.pow(2)),
        ("remainder", |x| x.remainder(2)),
        ("floor_divide", |x| x.floor_divide(2)),
        ("clamp", |x| x.clamp(0, 2)),
        ("maximum", |x| x.maximum(x)),
        ("eq", |x| x.eq(x)),
        ("lt", |x| x.lt(2)),
        ("isnan", |x| x.isnan()),
        ("isinf", |x| x.isinf()),
        ("isfinite", |x| x.isfinite()),
        ("logical_not", |x| x.logical_not()),
        ("logical_and", |x| x.logical_and(x)),
        ("any", |x| x.any(..)),
        ("all", |x| x.all(..)),
        ("nonzero", |x| x.nonzero()),
        ("count_nonzero", |x| x.count_nonzero(..)),
        ("sum", |x| x.sum(..)),
        ("sum of none", |x| x.sum([0_isize; 0])),
        ("mean", |x| x.mean(..)),
        ("var", |x| x.var(.., 1.0)),
        ("prod", |x| x.prod(0)),
        ("max", |x| x.amax(0)),
        ("argmax", |x| x.argmax(0)),
        ("norm", |x| x.norm(2.0, ..)),
        ("logsumexp", |x| x.logsumexp(0)),
        ("cumsum", |x| x.cumsum(0)),
        ("cumprod", |x| x.cumprod(0)),
        ("cummax", |x| Ok(x.cummax(0)?.0)),
        ("sort", |x| Ok(x.sort(0)?.0)),
        ("argsort", |x| x.argsort(0)),
        ("topk", |x| Ok(x.topk(1, 0)?.0)),
        ("unique", |x| Ok(x.unique(..)?.values)),
        ("searchsorted", |x| x.flatten(0, -1)?.searchsorted(x)),
        ("quantile", |x| x.quantile(0.5, 0, Default::default())),
        ("median", |x| Ok(x.median(0)?.0)),
        ("matmul", |x| x.matmul(&x.t()?)),
        ("linear", |x| x.linear(x, None)),
        ("addmm", |x| x.narrow(0, 0..1)?.addmm(x, &x.t()?, 1, 1)),
        ("einsum", |x| Tensor::einsum("ij,kj->ik", &[x, x])),
        ("softmax", |x| x.softmax(0)),
        ("log_softmax", |x| x.log_softmax(0)),
        ("layer_norm", |x| x.layer_norm([3], None, None, 1e-5)),
        ("scatter_add", |x| {
            x.scatter_add(1, &Tensor::from([[2_i64], [0]]), x)
        }),
        ("index_add", |x| {
            x.index_add(0, &Tensor::from([0_i64, 0]), x)
        }),
        ("max_pool1d", |x| x.max_pool1d(PoolOptions::new([2]))),
        ("avg_pool1d", |x| x.avg_pool1d(AvgPoolOptions::new([2]))),
        ("conv1d", |x| {
            x.unsqueeze(0)?.conv1d(&x.unsqueeze(0)?, Default::default())
        }),
        ("cdist", |x| x.cdist(x, 2.0, Default::default())),
        ("dropout", |x| x.dropout(0.5)),
        ("bernoulli", |x| x.bernoulli()),
        ("multinomial", |x| x.multinomial_with_replacement(1)),
        ("bincount", |x| x.flatten(0, -1)?.bincount(None, 0)),
        ("isclose", |x| {
            x.isclose(x, Tolerance::new().rtol(0.0).atol(0.0))
        }),
        ("nan_to_num", |x| x.nan_to_num(0.0, None, None)),
        ("with_grad", |x| x.with_grad()),
        ("backward", |x| x.sum(..)?.backward().map(|()| x.clone())),
        ("rand", |x| Tensor::rand(x.shape(), x.dtype())),
        ("randn", |x| Tensor::randn(x.shape(), x.dtype())),
    ];
    let mut problems = String::new();
    for (name, f) in computes {
        for dtype in STORED {
            let got = f(&numbers(dtype));
            match got.map_err(crate::Error::into_kind) {
                Err(ErrorKind::DType(DTypeError::Unsupported {
                    dtype: of, needs, ..
                })) if of == dtype && needs.contains("cast it with `to_dtype`") => {}
                Err(e) => problems += &format!("{name} of {dtype}: {e}\n"),
                Ok(_) => problems += &format!("{name} of {dtype} is computed\n"),
            }
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn equal_compares_numbers() {
    for dtype in STORED {
        let x = numbers(dtype);
        assert!(
            x.equal(&x.t().unwrap().contiguous().unwrap().t().unwrap())
                .unwrap()
        );
        assert!(!x.equal(&x.flip([0]).unwrap()).unwrap());
    }
    let imaginary = |im| Tensor::from(Complex::new(1.0_f32, im));
    assert!(!imaginary(1.0).equal(&imaginary(2.0)).unwrap());
    let nan = Tensor::from(crate::F8E4M3::from_f32(f32::NAN));
    assert!(!nan.equal(&nan).unwrap());
}

#[test]
fn no_imaginary_part_and_no_gradient_is_lost_in_silence() {
    let x = Tensor::from([
        Complex::new(1.0_f32, 2.0),
        Complex::new(0.0, -0.5),
        Complex::default(),
    ]);
    for dtype in DType::ALL {
        let cast = x.to_dtype(dtype);
        match dtype {
            DType::Complex64 => assert!(cast.unwrap().equal(&x).unwrap()),
            DType::Bool => assert_eq!(cast.unwrap().to_vec::<bool>().unwrap(), [true, true, false]),
            _ => assert_eq!(
                cast.unwrap_err().to_string(),
                "to_dtype: not available for complex64; it needs real numbers, because the imaginary parts \
                 would be lost; take both parts with `view_as_real`"
            ),
        }
    }
    let tracked = Tensor::from([1.0_f32, 2.0]).with_grad().unwrap();
    for dtype in STORED {
        let cast = tracked.to_dtype(dtype);
        let kept = dtype.is_floating_point() || dtype.is_complex();
        assert_eq!(cast.is_err(), kept, "{dtype}");
        assert!(!tracked.detach().to_dtype(dtype).unwrap().requires_grad());
        let cast = crate::no_grad(|| tracked.to_dtype(dtype));
        assert!(!cast.unwrap().requires_grad());
    }
    assert_eq!(
        tracked.to_dtype(DType::F8E5M2).unwrap_err().to_string(),
        "to_dtype: not available for float8_e5m2; it needs a tensor without a gradient, which would be \
         lost; call `detach` first"
    );
    assert!(tracked.view_as_complex().is_err());
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let fits = |value: f64, dtype| Tensor::full([2], value, dtype).is_ok();
    let whole = |value: i64, dtype| Tensor::full([2], value, dtype).is_ok();
    assert!(whole(127, DType::I8) && !whole(128, DType::I8) && whole(-128, DType::I8));
    assert!(whole(-32768, DType::I16) && !whole(32768, DType::I16));
    assert!(whole(65535, DType::U16) && whole(-1, DType::U16) && !whole(65536, DType::U16));
    assert!(whole((1 << 32) - 1, DType::U32) && !whole(1 << 32, DType::U32));
    assert!(fits(448.0, DType::F8E4M3) && !fits(465.0, DType::F8E4M3));
    assert!(!fits(f64::INFINITY, DType::F8E4M3) && fits(f64::INFINITY, DType::F8E5M2));
    assert!(fits(57344.0, DType::F8E5M2) && !fits(61440.0, DType::F8E5M2));
    assert!(fits(1e38, DType::Complex64) && !fits(1e39, DType::Complex64));
    let x = Tensor::full([2], -1, DType::U16).unwrap();
    assert_eq!(x.to_vec::<u16>().unwrap(), [65535; 2]);
}
