//! Resizing of images by weighted sums of neighbors.

use module_nn::{InterpolateMode, InterpolateOptions, Tensor};

use super::case::{Case, draw};
use super::terms::{Bound, Weighted, linear};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nearest,
    Linear,
    LinearAligned,
    Cubic,
    Antialiased,
}

/// The pixels of a line that an output pixel is made of, with their weights, by the formulas of `ResampleMode`.
fn weights(kind: Kind, size: usize, to: usize, at: usize) -> Vec<(usize, f64)> {
    let (last, scale) = ((size - 1) as f64, size as f64 / to as f64);
    let center = (at as f64 + 0.5) * scale;
    let at_pixel = |pixel: f64, weight: f64| (pixel.clamp(0.0, last) as usize, weight);
    match kind {
        Kind::Nearest => vec![(at * size / to, 1.0)],
        Kind::Linear | Kind::LinearAligned => {
            let source = match kind {
                Kind::Linear => (center - 0.5).max(0.0),
                _ => at as f64 * last / (to as f64 - 1.0),
            };
            let left = source.floor();
            let t = source - left;
            vec![at_pixel(left, 1.0 - t), at_pixel(left + 1.0, t)]
        }
        Kind::Cubic => {
            let source = center - 0.5;
            let left = source.floor();
            let near = |x: f64| 1.25 * x.powi(3) - 2.25 * x * x + 1.0;
            let far = |x: f64| -0.75 * x.powi(3) + 3.75 * x * x - 6.0 * x + 3.0;
            let t = source - left;
            vec![
                at_pixel(left - 1.0, far(1.0 + t)),
                at_pixel(left, near(t)),
                at_pixel(left + 1.0, near(1.0 - t)),
                at_pixel(left + 2.0, far(2.0 - t)),
            ]
        }
        Kind::Antialiased => {
            let width = scale.max(1.0);
            let weight = |pixel: usize| {
                let distance = (pixel as f64 + 0.5 - center) / width;
                (1.0 - distance.abs()).max(0.0)
            };
            let total: f64 = (0..size).map(weight).sum();
            let all = (0..size).map(|pixel| (pixel, weight(pixel) / total));
            all.filter(|(_, weight)| *weight > 0.0).collect()
        }
    }
}

fn case(kind: Kind, planes: usize, size: [usize; 2], to: [usize; 2]) -> Case {
    let products: Weighted = Box::new(move |visit| {
        let axis = |i: usize| {
            let all = (0..to[i]).map(|at| weights(kind, size[i], to[i], at));
            all.collect::<Vec<_>>()
        };
        let (rows, columns) = (axis(0), axis(1));
        let mut out = 0;
        for plane in 0..planes {
            for row in &rows {
                for column in &columns {
                    for &(y, down) in row {
                        let line = (plane * size[0] + y) * size[1];
                        for &(x, across) in column {
                            visit(out, line + x, down * across);
                        }
                    }
                    out += 1;
                }
            }
        }
    });
    let operation = move |x: &[Tensor]| {
        let options = InterpolateOptions::size(to);
        x[0].interpolate(&match kind {
            Kind::Nearest => options,
            Kind::Linear => options.mode(InterpolateMode::Bilinear),
            Kind::LinearAligned => options.mode(InterpolateMode::Bilinear).align_corners(true),
            Kind::Cubic => options.mode(InterpolateMode::Bicubic),
            Kind::Antialiased => options.mode(InterpolateMode::Bilinear).antialias(true),
        })
    };
    // In each dimension, a weight and its product are rounded.
    let more = if kind == Kind::Nearest { 0.0 } else { 2.0 };
    let reference = linear(Bound::Sums(more), products);
    let operands = vec![draw(&[1, planes, size[0], size[1]], 1)];
    let name = format!("{kind:?} of {planes} {size:?} to {to:?}");
    Case::new(name, operands, operation, reference)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        case(Kind::Nearest, 3, [15, 17], [30, 34]),
        case(Kind::Nearest, 2, [64, 33], [128, 66]),
        case(Kind::Nearest, 1, [512, 520], [1024, 1040]),
    ];
    for kind in [
        Kind::Linear,
        Kind::LinearAligned,
        Kind::Cubic,
        Kind::Antialiased,
    ] {
        // Twice as large, a little larger, smaller, and by no common factor.
        for (planes, size, to) in [
            (3, [15, 17], [30, 34]),
            (2, [16, 33], [17, 35]),
            (5, [32, 31], [16, 15]),
            (2, [47, 64], [13, 29]),
            (1, [2, 3], [65, 127]),
        ] {
            cases.push(case(kind, planes, size, to));
        }
    }
    cases.push(case(Kind::Linear, 1, [512, 520], [1024, 1031]));
    cases
}
