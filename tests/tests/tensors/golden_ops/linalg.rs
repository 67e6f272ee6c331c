//! Guarantees of decompositions besides their values.

use module_core::autograd::{gradcheck, gradgradcheck};
use module_core::linalg::{self, QrMode, SolveTriangularOptions, Triangle};
use module_core::{AutogradError, ErrorKind, Result, Tensor};

fn symmetric(x: &Tensor) -> Result<Tensor> {
    x.add(&x.transpose(-1, -2)?)
}

/// A matrix whose singular values and eigenvalues are well separated.
fn example(m: usize, n: usize) -> Tensor {
    let value = |i: usize| {
        let (row, column) = (i / n, i % n);
        let diagonal = if row == column {
            2.0 + 1.5 * row as f64
        } else {
            0.0
        };
        diagonal + ((i * 37 % 11) as f64 - 5.0) / 7.0
    };
    Tensor::from_vec((0..m * n).map(value).collect(), [m, n]).unwrap()
}

#[test]
fn factors_have_the_properties_of_their_names() {
    let identity = |x: &Tensor| {
        let product = x.transpose(-1, -2)?.matmul(x)?;
        let n = product.size(-1)?;
        product.allclose(
            &Tensor::eye(n, n, (x.dtype(), &x.device()))?,
            module_core::Tolerance::new().rtol(0.0).atol(1e-12),
        )
    };
    for (m, n) in [(4, 4), (5, 3), (3, 5)] {
        let (x, k) = (example(m, n), m.min(n));
        let near =
            |y: &Tensor| y.allclose(&x, module_core::Tolerance::new().rtol(1e-12).atol(1e-12));
        let (u, s, vh) = linalg::svd(&x).unwrap();
        assert!(identity(&u).unwrap() && identity(&vh).unwrap());
        assert_eq!((u.size(0).unwrap(), vh.size(1).unwrap()), (m, n));
        let (u, v) = (u.narrow(1, 0..k).unwrap(), vh.narrow(0, 0..k).unwrap());
        assert!(near(&u.mul(&s).unwrap().matmul(&v).unwrap()).unwrap());
        for mode in [QrMode::Reduced, QrMode::Complete] {
            let (q, r) = linalg::qr(&x, mode).unwrap();
            assert!(identity(&q).unwrap());
            assert!(near(&q.matmul(&r).unwrap()).unwrap());
            assert!(r.equal(&r.triu(0).unwrap()).unwrap());
        }
    }
    let x = symmetric(&example(4, 4)).unwrap();
    let (values, q) = linalg::eigh(&x).unwrap();
    assert!(identity(&q).unwrap());
    let back = q.mul(&values).unwrap().matmul(&q.t().unwrap()).unwrap();
    assert!(
        back.allclose(&x, module_core::Tolerance::new().rtol(1e-12).atol(1e-12))
            .unwrap()
    );
}

/// A function of one matrix.
type Function = fn(&Tensor) -> Result<Tensor>;

#[test]
fn derivatives_of_any_order_are_those_of_differences() {
    let polar: Function = |x| {
        let (u, s, vh) = linalg::svd_reduced(x)?;
        u.mul(&s.log()?)?.matmul(&vh)
    };
    let (general, tall, wide) = (example(3, 3), example(4, 3), example(3, 4));
    let cases: [(&str, Function, &Tensor); 14] = [
        ("svd", polar, &general),
        ("svd", polar, &tall),
        ("svd", polar, &wide),
        ("svdvals", |x| linalg::svdvals(x)?.square(), &tall),
        ("qr", |x| linalg::qr(x, QrMode::Reduced)?.0.square(), &tall),
        ("qr", |x| linalg::qr(x, QrMode::Reduced)?.1.square(), &tall),
        ("qr", |x| linalg::qr(x, QrMode::Reduced)?.1.square(), &wide),
        (
            "eigh",
            |x| linalg::eigh(&symmetric(x)?)?.1.square(),
            &general,
        ),
        (
            "eigvalsh",
            |x| linalg::eigvalsh(&symmetric(x)?)?.square(),
            &general,
        ),
        (
            "cholesky",
            |x| linalg::cholesky(&x.matmul(&x.t()?)?),
            &general,
        ),
        ("inv", linalg::inv, &general),
        ("det", linalg::det, &general),
        ("slogdet", |x| Ok(linalg::slogdet(x)?.1), &general),
        ("solve", |x| linalg::solve_right(x, &x.square()?), &general),
    ];
    for (name, function, x) in cases {
        let f = |inputs: &[Tensor]| function(&inputs[0]);
        let all = [x.clone()];
        gradcheck(f, &all).unwrap_or_else(|error| panic!("{name}: {error}"));
        gradgradcheck(f, &all).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let upper = SolveTriangularOptions::new(Triangle::Upper);
    let lower = SolveTriangularOptions::new(Triangle::Lower);
    for options in [upper, lower.left(false).unitriangular(true)] {
        let f = |inputs: &[Tensor]| linalg::solve_triangular(&inputs[0], &inputs[1], options);
        gradgradcheck(f, &[general.clone(), example(3, 3)]).unwrap();
    }
}

#[test]
fn what_has_no_solution_is_a_typed_error() {
    let singular = Tensor::from([[[1.0_f64, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]]);
    let one = Tensor::from([1.0_f64, 1.0]);
    let nan = Tensor::from([[f64::NAN, 0.0], [0.0, 1.0]]);
    let zero = Tensor::from([[0.0_f64, 0.0], [1.0, 1.0]]);
    let column = one.unsqueeze(1).unwrap();
    let failures = [
        (
            linalg::inv(&singular),
            1,
            "is singular: pivot 1 of its elimination is 0",
        ),
        (
            linalg::solve(&zero, &one),
            0,
            "is singular: pivot 1 of its elimination is 0",
        ),
        (
            linalg::solve_triangular(&zero, &column, SolveTriangularOptions::new(Triangle::Lower)),
            0,
            "is singular: element 0 of its diagonal is 0",
        ),
        (linalg::cholesky(&singular), 1, "is not positive-definite"),
        (
            linalg::svdvals(&nan),
            0,
            "has the element NaN, which is not finite",
        ),
        (
            linalg::eigvalsh(&nan),
            0,
            "has the element NaN, which is not finite",
        ),
    ];
    for (found, place, expected) in failures {
        let error = found.unwrap_err();
        let ErrorKind::Factorization {
            matrix, problem, ..
        } = error.kind()
        else {
            panic!("{error}");
        };
        assert_eq!((*matrix, problem.as_str()), (place, expected));
    }
    let logarithm = |x: &Tensor| linalg::slogdet(x)?.1.sum(..)?.backward();
    let error = logarithm(&singular.with_grad().unwrap()).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Factorization { matrix: 1, .. }),
        "{error}"
    );
    let message = |found: Result<Tensor>| found.unwrap_err().to_string();
    assert_eq!(
        message(linalg::det(&Tensor::from([[1.0_f64, 2.0]]))),
        "linalg.det: expected square matrices, got shape [1, 2]"
    );
    assert_eq!(
        message(linalg::inv(&one)),
        "linalg.inv: expected matrices: at least two dimensions, got shape [2]"
    );
    assert_eq!(
        message(linalg::svdvals(&Tensor::from([[1_i64]]))),
        "linalg.svd: not available for int64; it needs float32 or float64 matrices"
    );
    let three = Tensor::from([1.0_f64, 1.0, 1.0]);
    assert!(message(linalg::solve(&zero, &three)).contains("each of the 2 unknowns"));
    // The gradients that PyTorch does not have either.
    let x = example(3, 2).with_grad().unwrap();
    for mode in [QrMode::Complete, QrMode::R] {
        let error = linalg::qr(&x, mode).unwrap().1.sum(..).unwrap().backward();
        assert!(matches!(
            error.unwrap_err().kind(),
            ErrorKind::Autograd(AutogradError::NoGradient { .. })
        ));
    }
}
