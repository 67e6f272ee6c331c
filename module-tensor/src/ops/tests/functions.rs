//! Unary and binary functions, division, clamping, products, distances, grids.

mod special;

use super::*;
use crate::{CdistMode, GridPaddingMode, GridSampleMode, InterpolateMode, InterpolateOptions};

/// Numbers between -0.9 and 0.9.
fn inside(x: &Tensor) -> Result<Tensor> {
    x.mul(0.45)
}

/// Numbers from 0.5 on, or from 1.5.
fn above(x: &Tensor, low: f64) -> Result<Tensor> {
    x.mul(x)?.add(low)
}

pub(super) fn check_all() {
    elements();
    pairs();
    products();
    distances();
    images();
}

fn elements() {
    check_unary("tan", |x| inside(x)?.tan());
    check_unary("asin", |x| inside(x)?.asin());
    check_unary("acos", |x| inside(x)?.acos());
    check_unary("atan", Tensor::atan);
    check_unary("sinh", Tensor::sinh);
    check_unary("cosh", Tensor::cosh);
    check_unary("asinh", Tensor::asinh);
    check_unary("acosh", |x| above(x, 1.5)?.acosh());
    check_unary("atanh", |x| inside(x)?.atanh());
    check_unary("log2", |x| above(x, 0.5)?.log2());
    check_unary("log10", |x| above(x, 0.5)?.log10());
    check_unary("exp2", Tensor::exp2);
    check_unary("erfc", Tensor::erfc);
    check_unary("erfinv", |x| inside(x)?.erfinv());
    check_unary("lgamma", |x| above(x, 0.5)?.lgamma());
    check_unary("digamma", |x| above(x, 0.5)?.digamma());
    check_unary("polygamma", |x| above(x, 0.5)?.polygamma(2));
    check_unary("trunc", |x| x.mul(&x.add(0.3)?.trunc()?));
    check_unary("frac", |x| x.add(0.3)?.frac()?.square());
    check_unary("deg2rad", |x| x.deg2rad()?.sin());
    check_unary("rad2deg", |x| x.mul(0.01)?.rad2deg()?.sin());
}

fn pairs() {
    for shapes in [
        [&[2_usize, 3][..], &[2, 3]],
        [&[2, 3], &[3]],
        [&[3], &[2, 1]],
        [&[0, 3], &[3]],
    ] {
        check("atan2", &shapes, |x| x[0].atan2(&x[1]));
        check("hypot", &shapes, |x| x[0].hypot(&x[1]));
        check("copysign", &shapes, |x| x[0].copysign(&x[1])?.square());
        check("fmod", &shapes, |x| x[0].fmod(&x[1])?.square());
        check("remainder", &shapes, |x| x[0].remainder(&x[1])?.square());
        check("clamp", &[shapes[0], shapes[1], shapes[1]], |x| {
            x[0].clamp(&x[1].sub(1.0)?, &x[2])?.square()
        });
        check("clamp_min", &shapes, |x| x[0].clamp_min(&x[1])?.square());
    }
    check_unary("fmod", |x| x.fmod(0.7)?.square());
    check_unary("remainder", |x| (x % -0.7)?.square());
    check_unary("copysign", |x| x.copysign(-1.0)?.square());
}

fn products() {
    for [beta, alpha] in [[1.0, 1.0], [0.5, -2.0], [0.0, 1.0]] {
        check("addmm", &[&[4], &[2, 3], &[3, 4]], |x| {
            x[0].addmm(&x[1], &x[2], beta, alpha)?.square()
        });
        check("addmv", &[&[2], &[2, 3], &[3]], |x| {
            x[0].addmv(&x[1], &x[2], beta, alpha)?.square()
        });
        check("baddbmm", &[&[2, 1, 1], &[2, 2, 3], &[2, 3, 2]], |x| {
            x[0].baddbmm(&x[1], &x[2], beta, alpha)?.square()
        });
        check("addbmm", &[&[2, 2], &[2, 2, 3], &[2, 3, 2]], |x| {
            x[0].addbmm(&x[1], &x[2], beta, alpha)?.square()
        });
    }
    check("tensordot", &[&[2, 3, 2], &[3, 2, 2]], |x| {
        x[0].tensordot(&x[1], ([1, 0], [0, -1]))?.square()
    });
    check("tensordot", &[&[2, 1], &[3, 2]], |x| {
        x[0].tensordot(&x[1], 1)?.square()
    });
    check("diag_embed", &[&[2, 3]], |x| {
        x[0].diag_embed(-1, 2, 0)?.square()
    });
    check("diag", &[&[3]], |x| x[0].diag(1)?.square());
    check("diag", &[&[3, 2]], |x| x[0].diag(-1)?.square());
}

fn distances() {
    let mut all: Vec<(f64, CdistMode)> = [0.0, 0.5, 1.0, 1.5, 2.0, f64::INFINITY]
        .map(|p| (p, CdistMode::DonotUseMm))
        .into();
    all.push((2.0, CdistMode::UseMm));
    for (p, mode) in all {
        // All differences of the numbers themselves are equal.
        let distances = |x: &[Tensor]| x[0].cdist(&x[1].mul(0.7)?, p, mode)?.square();
        let label = format!("cdist with p = {p}");
        check(&label, &[&[1, 3], &[3, 3]], distances);
        check(&label, &[&[0, 2], &[3, 2]], distances);
        let batches = [numbers([2, 1, 2, 2], 1), numbers([3, 1, 2], 2)];
        check_at(&label, &batches, &distances);
    }
}

fn images() {
    use GridPaddingMode::{Border, Reflection, Zeros};
    use GridSampleMode::{Bicubic, Bilinear, Nearest};
    for mode in [Bilinear, Nearest, Bicubic] {
        for (padding, corners) in [(Zeros, false), (Border, true), (Reflection, false)] {
            let options = GridSampleOptions::new().mode(mode).padding_mode(padding);
            let options = options.align_corners(corners);
            let read = |x: &[Tensor]| {
                let grid = x[1].mul(0.7)?;
                x[0].grid_sample(&grid, options)?.square()
            };
            let image = numbers([1, 1, 3, 2], 1);
            check_at("grid_sample", &[image, numbers([1, 2, 1, 2], 2)], &read);
            if mode == Bilinear && padding == Zeros {
                check("grid_sample", &[&[1, 2, 3, 2], &[1, 2, 1, 2]], read);
            }
        }
    }
    check("grid_sample", &[&[1, 1, 2, 3, 2], &[1, 2, 1, 1, 3]], |x| {
        let grid = x[1].mul(0.7)?;
        let options = GridSampleOptions::new().padding_mode(Reflection);
        x[0].grid_sample(&grid, options.align_corners(true))?
            .square()
    });
    check("affine_grid", &[&[2, 2, 3]], |x| {
        x[0].affine_grid([2, 1, 2, 3])?.square()
    });
    for mode in [InterpolateMode::Bilinear, InterpolateMode::Bicubic] {
        let options = InterpolateOptions::size([2, 7]).mode(mode).antialias(true);
        check("interpolate", &[&[1, 2, 5, 4]], |x| {
            x[0].interpolate(&options)?.square()
        });
    }
}

#[test]
fn what_pytorch_leaves_undefined_is_finite() {
    // Second derivatives at a distance of 0, at the origin of the plane, and where a bound is met.
    let x = Tensor::from([[1.0_f64, 2.0]]);
    for p in [1.0, 2.0, 3.0, f64::INFINITY] {
        let f = |x: &[Tensor]| x[0].cdist(&x[1], p, CdistMode::DonotUseMm);
        let leaves = [x.with_grad().unwrap(), x.with_grad().unwrap()];
        let second = slopes(&f, &leaves).unwrap();
        let weights = Tensor::from([1.0_f64, 2.0, 4.0, 8.0]);
        let options = BackwardOptions::default();
        second.backward_with(&weights, options).unwrap();
        for leaf in leaves {
            let grad = leaf.grad().map(|grad| grad.to_vec::<f64>().unwrap());
            assert_eq!(grad.unwrap_or_default(), [0.0; 2], "p = {p}");
        }
    }
    let zero = Tensor::from([0.0_f64]);
    let leaves = [zero.with_grad().unwrap(), zero.with_grad().unwrap()];
    let second = slopes(&|x| x[0].atan2(&x[1]), &leaves).unwrap();
    second.sum(..).unwrap().backward().unwrap();
    let grads = leaves.map(|leaf| leaf.grad().unwrap().item::<f64>().unwrap());
    assert_eq!(grads, [0.0, 0.0]);
}

#[test]
fn an_angle_near_the_origin_has_finite_gradients_in_half_precision() {
    let small = Tensor::from([1e-3_f32]).to_dtype(DType::F16).unwrap();
    let leaves = [small.with_grad().unwrap(), small.with_grad().unwrap()];
    let angle = leaves[0].atan2(&leaves[1]).unwrap();
    angle.sum(..).unwrap().backward().unwrap();
    let grads = leaves.map(|leaf| leaf.grad().unwrap().to_dtype(DType::F64).unwrap());
    let [y, x] = grads.map(|grad| grad.item::<f64>().unwrap());
    // A part in a thousand each way: the reciprocal of the distance is rounded.
    assert!(
        (y - 500.0).abs() < 1.0 && (x + 500.0).abs() < 1.0,
        "{y} {x}"
    );
}

#[test]
fn integers_are_not_divided_by_0() {
    let (x, y) = (Tensor::from([7_i32, 8]), Tensor::from([2_i32, 0]));
    type Division = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let divisions: [Division; 3] = [
        |x, y| x.floor_divide(y),
        |x, y| x.remainder(y),
        |x, y| x.fmod(y),
    ];
    for divide in divisions {
        let error = divide(&x, &y).unwrap_err().to_string();
        assert!(error.contains("element 1 is 0"), "{error}");
        let none = Tensor::zeros([0], DType::I32).unwrap();
        assert_eq!(divide(&none, &Tensor::from([0_i32])).unwrap().numel(), 0);
    }
    // The one quotient that overflows wraps around.
    let least = Tensor::from([i64::MIN]);
    let quotient = least.floor_divide(-1).unwrap().item::<i64>();
    assert_eq!(quotient.unwrap(), i64::MIN);
    assert_eq!(least.remainder(-1).unwrap().item::<i64>().unwrap(), 0);
    let byte = Tensor::from([5_u8]).remainder(300).unwrap_err().to_string();
    assert!(byte.contains("300"), "{byte}");
}

#[test]
fn quotients_have_no_gradient_as_in_pytorch() {
    let x = Tensor::from([7.0_f32]).with_grad().unwrap();
    let error = x.floor_divide(2.0).unwrap().backward().unwrap_err();
    assert!(error.to_string().contains("floor_divide"), "{error}");
}

#[test]
fn distances_of_many_vectors_are_those_of_few() {
    // More differences than are held at a time.
    let (a, b) = (numbers([700, 7], 1), numbers([500, 7], 2));
    for p in [1.0, 2.0] {
        let leaves = [a.with_grad().unwrap(), b.with_grad().unwrap()];
        let all = leaves[0]
            .cdist(&leaves[1], p, CdistMode::DonotUseMm)
            .unwrap();
        let weights = numbers([700, 500], 3);
        all.backward_with(&weights, BackwardOptions::default())
            .unwrap();
        let row = a.narrow(0, 650..651).unwrap().with_grad().unwrap();
        let few = row.cdist(&b, p, CdistMode::DonotUseMm).unwrap();
        let of_row = weights.narrow(0, 650..651).unwrap();
        few.backward_with(&of_row, BackwardOptions::default())
            .unwrap();
        let close = |x: &Tensor, y: &Tensor| {
            x.allclose(y, Tolerance::new().rtol(1e-12).atol(1e-12))
                .unwrap()
        };
        assert!(close(
            &all.detach().narrow(0, 650..651).unwrap(),
            &few.detach()
        ));
        let grad = leaves[0].grad().unwrap().narrow(0, 650..651).unwrap();
        assert!(close(&grad, &row.grad().unwrap()));
    }
}

#[test]
fn a_grid_may_name_any_location() {
    let image = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let image = image.reshape([1, 1, 2, 2]).unwrap();
    let far = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30];
    for x in far {
        let grid = Tensor::from([x, 0.0]).reshape([1, 1, 1, 2]).unwrap();
        for mode in [
            GridSampleMode::Bilinear,
            GridSampleMode::Nearest,
            GridSampleMode::Bicubic,
        ] {
            for padding in [
                GridPaddingMode::Zeros,
                GridPaddingMode::Border,
                GridPaddingMode::Reflection,
            ] {
                let options = GridSampleOptions::new().mode(mode).padding_mode(padding);
                let y = image.grid_sample(&grid, options).unwrap();
                let y = y.item::<f32>().unwrap();
                // Values that are certainly outside are zero.
                let zero = padding == GridPaddingMode::Zeros && !x.is_nan();
                assert!(!zero || y == 0.0, "{mode} {padding} {x}: {y}");
                assert!(!x.is_nan() || y.is_nan(), "{mode} {padding} {x}: {y}");
            }
        }
    }
}

#[test]
fn what_is_outside_of_an_image_is_not_read() {
    for channels in [1, 3, 16, 32] {
        let nan = || Tensor::full([1, channels, 2, 2], f32::NAN, DType::F32).unwrap();
        let grid = Tensor::from([[-9.0_f32, 0.0], [0.0, 9.0], [7.0, -7.0]]);
        let grid = grid.reshape([1, 1, 3, 2]).unwrap();
        let (image, grid) = (nan().with_grad().unwrap(), grid.with_grad().unwrap());
        let y = image
            .grid_sample(&grid, GridSampleOptions::default())
            .unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), vec![0.0; 3 * channels]);
        y.sum(..).unwrap().backward().unwrap();
        for leaf in [image, grid] {
            let grad = leaf.grad().unwrap().to_vec::<f32>().unwrap();
            assert!(grad.iter().all(|&g| g == 0.0), "{channels} {grad:?}");
        }
    }
}

#[test]
fn wrong_arguments_say_what_is_wrong() {
    let x = numbers([2, 3], 1);
    let image = numbers([1, 1, 2, 2], 1);
    let volume = numbers([1, 1, 2, 2, 2], 1);
    let (plane, space) = (numbers([1, 1, 1, 2], 1), numbers([1, 1, 1, 1, 3], 1));
    let sample = |image: &Tensor, grid: &Tensor, mode| {
        image.grid_sample(grid, GridSampleOptions::new().mode(mode))
    };
    let bilinear = GridSampleMode::Bilinear;
    let nearest = InterpolateOptions::size([1, 1]).antialias(true);
    let cases = [
        (x.addmm(&x, &x, 1.0, 1.0), "inner sizes"),
        (x.addmm(&image, &x, 1.0, 1.0), "a matrix"),
        (x.addmm(&x, &x.t().unwrap(), 1.0, 1.0), "[2, 2]"),
        (
            x.to_dtype(DType::I64)
                .and_then(|x| x.addmm(&x, &x.t()?, 0.5, 1)),
            "floating-point",
        ),
        (x.tensordot(&x, 3), "at most 2"),
        (x.tensordot(&x, 1), "one size, not 3 and 2"),
        (x.tensordot(&x, ([0, -2], [0, 1])), "twice"),
        (x.cdist(&x, -1.0, CdistMode::default()), "at least 0"),
        (
            x.cdist(&x.t().unwrap(), 1.0, CdistMode::default()),
            "features",
        ),
        (x.diag_embed(0, 1, -2), "same dimension"),
        (x.diag_embed(isize::MIN, 0, 1), "too large"),
        (image.diag(0), "a vector or a matrix"),
        (sample(&image, &space, bilinear), "size"),
        (sample(&x, &plane, bilinear), "[batch, channels, h, w]"),
        (sample(&volume, &space, GridSampleMode::Bicubic), "bilinear"),
        (x.affine_grid([1, 1, 2, 2]), "[1, 2, 3]"),
        (x.affine_grid([1, 1, 0, 2]), "none of them 0"),
        (image.interpolate(&nearest), "antialias"),
        (Tensor::from([1_i64]).lgamma(), "floating-point"),
        (Tensor::from([true]).fmod(true), "numbers"),
        (x.hypot(&Tensor::from([1.0_f32])), "differ"),
        (Tensor::exponential([2], 0.0, DType::F32), "lambda"),
    ];
    for (result, words) in cases {
        let error = result.expect_err(words).to_string();
        assert!(error.contains(words), "{error:?} does not say {words:?}");
    }
}

#[test]
fn many_locations_are_read_as_few_are() {
    // More than are read at a time, and enough for several threads.
    let image = numbers([2, 3, 5, 4], 1);
    let grid = numbers([2, 60, 50, 2], 2).mul(0.6).unwrap();
    let read = |grid: &Tensor| {
        let leaves = [image.with_grad().unwrap(), grid.with_grad().unwrap()];
        let options = GridSampleOptions::new()
            .mode(GridSampleMode::Bicubic)
            .padding_mode(GridPaddingMode::Reflection);
        let y = leaves[0].grid_sample(&leaves[1], options).unwrap();
        y.sum(..).unwrap().backward().unwrap();
        (y.detach(), leaves.map(|leaf| leaf.grad().unwrap()))
    };
    let (all, [image_grad, grid_grad]) = read(&grid);
    let mut sum = image.zeros_like().unwrap();
    for row in [0..30, 30..60] {
        let (y, grads) = read(&grid.narrow(1, row.clone()).unwrap());
        assert!(y.equal(&all.narrow(2, row.clone()).unwrap()).unwrap());
        assert!(grads[1].equal(&grid_grad.narrow(1, row).unwrap()).unwrap());
        sum = sum.add(&grads[0]).unwrap();
    }
    assert!(
        sum.allclose(&image_grad, Tolerance::new().rtol(1e-12).atol(1e-12))
            .unwrap()
    );
}
