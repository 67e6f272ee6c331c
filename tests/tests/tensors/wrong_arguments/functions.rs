//! Unary and binary functions, division, clamping, products, distances, grids.

use module_conformance::either;
use module_core::GridSampleOptions;
use module_core::{CdistMode, GridPaddingMode, GridSampleMode, Result, Tensor, TensordotDims};

use super::{Draw, fuzz};

#[test]
fn functions() {
    type Unary = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let unary: &[Unary] = &[
        ("tan", Tensor::tan),
        ("asin", Tensor::asin),
        ("acos", Tensor::acos),
        ("atan", Tensor::atan),
        ("sinh", Tensor::sinh),
        ("cosh", Tensor::cosh),
        ("asinh", Tensor::asinh),
        ("acosh", Tensor::acosh),
        ("atanh", Tensor::atanh),
        ("log2", Tensor::log2),
        ("log10", Tensor::log10),
        ("exp2", Tensor::exp2),
        ("erfinv", Tensor::erfinv),
        ("lgamma", Tensor::lgamma),
        ("digamma", Tensor::digamma),
        ("trunc", Tensor::trunc),
        ("frac", Tensor::frac),
        ("deg2rad", Tensor::deg2rad),
        ("rad2deg", Tensor::rad2deg),
        ("signbit", Tensor::signbit),
        ("isposinf", Tensor::isposinf),
        ("isneginf", Tensor::isneginf),
        ("polygamma", |x| x.polygamma(3)),
        ("polygamma of any order", |x| x.polygamma(u32::MAX)),
    ];
    for (name, op) in unary {
        fuzz(name, |d| op(&d.maybe_huge()));
    }
}

#[test]
fn pairs() {
    fuzz("floor_divide", |d| {
        let x = d.maybe_huge();
        x.floor_divide(d.value(&x))
    });
    fuzz("remainder", |d| {
        let x = d.maybe_huge();
        &x % d.value(&x)
    });
    fuzz("fmod", |d| {
        let x = d.maybe_huge();
        x.fmod(d.value(&x))
    });
    fuzz("copysign", |d| {
        let x = d.maybe_huge();
        x.copysign(d.value(&x))
    });
    fuzz("atan2", |d| {
        let x = d.maybe_huge();
        x.atan2(&d.like(&x))
    });
    fuzz("hypot", |d| {
        let x = d.maybe_huge();
        x.hypot(&d.like(&x))
    });
    fuzz("clamp", |d| {
        let x = d.maybe_huge();
        x.clamp(d.value(&x), d.value(&x))
    });
    fuzz("clamp_min", |d| {
        let x = d.maybe_huge();
        x.clamp_min(d.value(&x))
    });
    fuzz("clamp_max", |d| {
        let x = d.maybe_huge();
        x.clamp_max(d.value(&x))
    });
}

/// A tensor of these sizes, or of others.
fn of(d: &mut Draw, sizes: &[usize]) -> Tensor {
    match d.often() {
        true => {
            let dtype = d.dtype();
            d.of_shape(sizes, dtype)
        }
        false => d.maybe_huge(),
    }
}

#[test]
fn products() {
    fuzz("addmm", |d| {
        let (x, a, b) = (of(d, &[2, 2]), of(d, &[2, 3]), of(d, &[3, 2]));
        x.addmm(&a, &b, d.scalar(), d.scalar())
    });
    fuzz("addmv", |d| {
        let (x, a, b) = (of(d, &[2]), of(d, &[2, 3]), of(d, &[3]));
        x.addmv(&a, &b, d.scalar(), d.scalar())
    });
    fuzz("baddbmm", |d| {
        let (x, a, b) = (of(d, &[2, 2]), of(d, &[2, 2, 3]), of(d, &[2, 3, 2]));
        x.baddbmm(&a, &b, d.scalar(), d.scalar())
    });
    fuzz("addbmm", |d| {
        let (x, a, b) = (of(d, &[2, 2]), of(d, &[2, 2, 3]), of(d, &[2, 3, 2]));
        x.addbmm(&a, &b, d.scalar(), d.scalar())
    });
    fuzz("tensordot", |d| {
        let x = d.maybe_huge();
        let other = d.like(&x);
        let dims = match d.below(3) {
            0 => TensordotDims::Count(d.size()),
            n => {
                let more = usize::from(!d.often());
                let dims = |d: &mut Draw, n| (0..n).map(|_| d.dim()).collect::<Vec<isize>>();
                TensordotDims::Pairs(dims(d, n), dims(d, n + more))
            }
        };
        x.tensordot(&other, dims)
    });
    fuzz("cdist", |d| {
        let (x, y) = (of(d, &[2, 3]), of(d, &[4, 3]));
        let modes = [
            CdistMode::UseMmIfNecessary,
            CdistMode::UseMm,
            CdistMode::DonotUseMm,
        ];
        x.cdist(&y, d.number().abs(), d.of(&modes))
    });
    fuzz("diag_embed", |d| {
        let x = d.maybe_huge();
        x.diag_embed(d.dim(), d.dim(), d.dim())
    });
    fuzz("diag", |d| {
        let x = of(d, &[2, 3]);
        x.diag(d.dim())
    });
}

#[test]
fn grids() {
    fuzz("grid_sample", |d| {
        let dims = 2 + d.below(2);
        let count = 1 + d.below(3);
        let image: Vec<usize> = (0..dims + 2)
            .map(|i| if i == 0 { 1 } else { count })
            .collect();
        let grid: Vec<usize> = [1]
            .into_iter()
            .chain((0..dims).map(|_| d.below(3)))
            .collect();
        let grid: Vec<usize> = grid.into_iter().chain([dims]).collect();
        let (x, grid) = (of(d, &image), of(d, &grid));
        let modes = [
            GridSampleMode::Bilinear,
            GridSampleMode::Nearest,
            GridSampleMode::Bicubic,
        ];
        let paddings = [
            GridPaddingMode::Zeros,
            GridPaddingMode::Border,
            GridPaddingMode::Reflection,
        ];
        let options = GridSampleOptions::new().mode(d.of(&modes));
        let options = options.padding_mode(d.of(&paddings));
        x.grid_sample(&grid, options.align_corners(d.often()))
    });
    fuzz("affine_grid", |d| {
        let dims = 2 + d.below(2);
        let theta = of(d, &[2, dims, dims + 1]);
        let rest: Vec<usize> = (0..=dims).map(|_| d.size()).collect();
        let size: Vec<usize> = [2].into_iter().chain(rest).collect();
        either!(
            d.often(),
            theta,
            affine_grid / affine_grid_align_corners,
            size
        )
    });
}
