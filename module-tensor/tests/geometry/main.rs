//! Kernels written from the documentation of the geometry values alone, compared with those of the CPU.
#![allow(clippy::unwrap_used)]

mod pooling;

use module_tensor::backend::{
    Backend, GatherAlongGeometry, GatherDim, LinearOp, PoolDivisor, PoolGeometry, PoolWindow,
    PoolWindows, ResampleGeometry, ResampleMode, Storage,
};
use module_tensor::{Device, Layout, PoolOptions, Shape, Tensor};

/// For each position in one dimension of the output, the input positions and their weights.
type Table = Vec<Vec<(usize, f64)>>;

/// Numbers without a pattern.
fn numbers(shape: &Shape) -> Vec<f64> {
    let number = |i: usize| (i as f64 * 0.618_033_988_749_895).fract() - 0.5;
    (0..shape.numel()).map(number).collect()
}

fn tensor(values: &[f64], shape: &Shape) -> Tensor {
    Tensor::from_vec(values.to_vec(), shape.clone()).unwrap()
}

fn cpu() -> &'static dyn Backend {
    Device::cpu().backend()
}

fn values(storage: Storage, shape: &Shape) -> Vec<f64> {
    let out = Tensor::from_storage(storage, Layout::contiguous(shape.clone()));
    out.to_vec().unwrap()
}

/// Every pair of an output element and an input element that it depends on, with its weight; elements are numbered in
/// row-major order.
fn pairs(input: &Shape, tables: &[Table]) -> Vec<Vec<(usize, f64)>> {
    let mut all = vec![vec![(0, 1.0)]];
    for (table, &size) in tables.iter().zip(input.iter()) {
        let with = |seen: &Vec<(usize, f64)>| -> Vec<Vec<(usize, f64)>> {
            let place = |place: &Vec<(usize, f64)>| {
                let of = |&(at, weight): &(usize, f64)| {
                    let more = place.iter().map(move |&(i, w)| (at * size + i, weight * w));
                    more.collect::<Vec<_>>()
                };
                seen.iter().flat_map(of).collect()
            };
            table.iter().map(place).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Each position unchanged.
fn same(size: usize) -> Table {
    (0..size).map(|i| vec![(i, 1.0)]).collect()
}

/// The tables of all dimensions, given those of the spatial ones.
fn with_planes(input: &Shape, spatial: Vec<Table>) -> Vec<Table> {
    let planes = input.iter().take(2).map(|&size| same(size));
    planes.chain(spatial).collect()
}

/// A linear map, forward and backward.
#[track_caller]
fn check_linear(
    [input, output]: [&Shape; 2],
    pairs: &[Vec<(usize, f64)>],
    run: impl Fn(LinearOp, &Tensor) -> Storage,
) {
    let x = numbers(input);
    let dot = |seen: &Vec<(usize, f64)>| seen.iter().map(|&(i, weight)| x[i] * weight).sum();
    let forward: Vec<f64> = pairs.iter().map(dot).collect();
    let grad = numbers(output);
    let mut backward = vec![0.0; x.len()];
    for (seen, grad) in pairs.iter().zip(&grad) {
        for &(i, weight) in seen {
            backward[i] += grad * weight;
        }
    }
    for (op, shapes, given, expected) in [
        (LinearOp::Forward, [input, output], &x, forward),
        (LinearOp::Backward, [output, input], &grad, backward),
    ] {
        let actual = values(run(op, &tensor(given, shapes[0])), shapes[1]);
        assert_eq!(actual.len(), expected.len(), "{op:?}");
        for (i, (a, b)) in actual.iter().zip(&expected).enumerate() {
            assert!((a - b).abs() < 1e-12, "{op:?} {i}: {a} instead of {b}");
        }
    }
}

/// The inputs of an output position, as documented for each mode.
fn reads(mode: ResampleMode, n: usize, out: usize, s: f64, o: usize) -> Vec<(usize, f64)> {
    let o = o as f64;
    let cubic = |a: f64, d: f64| match d {
        d if d <= 1.0 => (a + 2.0) * d.powi(3) - (a + 3.0) * d.powi(2) + 1.0,
        d if d < 2.0 => a * d.powi(3) - 5.0 * a * d.powi(2) + 8.0 * a * d - 4.0 * a,
        _ => 0.0,
    };
    let inside = |i: isize| i.clamp(0, n as isize - 1) as usize;
    let source = |align_corners: bool| match align_corners {
        true => o * s,
        false => (o + 0.5) * s - 0.5,
    };
    let averaged = |reach: f64, weight: &dyn Fn(f64) -> f64| {
        let (c, m) = ((o + 0.5) * s, s.max(1.0));
        let first = (c - reach * m + 0.5).max(0.0).floor() as usize;
        let end = ((c + reach * m + 0.5).floor() as usize).min(n);
        let weights = (first..end).map(|i| (i, weight(((i as f64 + 0.5 - c) / m).abs())));
        let total: f64 = weights.clone().map(|(_, weight)| weight).sum();
        weights.map(|(i, weight)| (i, weight / total)).collect()
    };
    match mode {
        ResampleMode::Nearest => vec![(inside((o * s) as f32 as isize), 1.0)],
        ResampleMode::NearestExact => {
            let place = ((o + 0.5).mul_add(s, -0.5) + 0.5) as f32;
            vec![(inside(place as isize), 1.0)]
        }
        ResampleMode::Linear { .. } if n == out => vec![(o as usize, 1.0)],
        ResampleMode::Linear { align_corners } => {
            let p = source(align_corners).max(0.0);
            let l = p.floor().min(n as f64 - 1.0);
            let (t, l) = ((p - l).min(1.0), l as isize);
            vec![(inside(l), 1.0 - t), (inside(l + 1), t)]
        }
        ResampleMode::Cubic { align_corners } => {
            let p = source(align_corners);
            let l = p.floor().min(n as f64 - 1.0);
            let (t, l) = ((p - l).min(1.0), l as isize);
            let distances = [1.0 + t, t, 1.0 - t, 2.0 - t];
            let tap = |(place, d): (isize, f64)| (inside(place), cubic(-0.75, d));
            (l - 1..).zip(distances).map(tap).collect()
        }
        ResampleMode::AntialiasedLinear => averaged(1.0, &|d| (1.0 - d).max(0.0)),
        ResampleMode::AntialiasedCubic => averaged(2.0, &|d| cubic(-0.5, d)),
        _ => unreachable!("{mode:?}"),
    }
}

#[test]
fn resampling_follows_its_geometry() {
    let modes = [
        ResampleMode::Nearest,
        ResampleMode::NearestExact,
        ResampleMode::Linear {
            align_corners: false,
        },
        ResampleMode::Linear {
            align_corners: true,
        },
        ResampleMode::Cubic {
            align_corners: false,
        },
        ResampleMode::Cubic {
            align_corners: true,
        },
        ResampleMode::AntialiasedLinear,
        ResampleMode::AntialiasedCubic,
    ];
    for mode in modes {
        for (input, output) in [
            ([5, 4, 3], [10, 3, 3]),
            ([3, 7, 2], [1, 7, 5]),
            ([1, 9, 4], [4, 2, 9]),
        ] {
            for factors in [None, Some([1.9, 0.7, 1.1]), Some([1.0, 0.3, 2.4])] {
                // A factor decides the size, rounded down.
                let output = match factors {
                    None => output,
                    Some(factors) => std::array::from_fn(|d| {
                        let size: f64 = input[d] as f64 * factors[d];
                        size as usize
                    }),
                };
                let aligned = matches!(
                    mode,
                    ResampleMode::Linear {
                        align_corners: true
                    } | ResampleMode::Cubic {
                        align_corners: true
                    }
                );
                let scale = |d: usize| match factors {
                    _ if aligned && output[d] > 1 => (input[d] - 1) as f64 / (output[d] - 1) as f64,
                    _ if aligned => 0.0,
                    None => input[d] as f64 / output[d] as f64,
                    Some(factors) => 1.0 / factors[d],
                };
                let scale: Vec<f64> = (0..3).map(scale).collect();
                let table = |d: usize| -> Table {
                    let places = 0..output[d];
                    places
                        .map(|o| reads(mode, input[d], output[d], scale[d], o))
                        .collect()
                };
                let shape = |sizes: [usize; 3]| [2, 1].into_iter().chain(sizes).collect();
                let input: Shape = shape(input);
                let pairs = pairs(&input, &with_planes(&input, (0..3).map(table).collect()));
                let geometry = ResampleGeometry {
                    input,
                    output: shape(output),
                    mode,
                    scale: scale.clone(),
                };
                check_linear([&geometry.input, &geometry.output], &pairs, |op, x| {
                    cpu().resample(op, x.operand(), &geometry).unwrap()
                });
            }
        }
    }
}

/// The position that a dimension moves to, as documented.
fn takes(dim: GatherDim, n: usize, i: usize) -> usize {
    let (n, i) = (n as isize, i as isize);
    let place = match dim {
        GatherDim::Same => i,
        GatherDim::Flip => n - 1 - i,
        GatherDim::Reflect { before, .. } => match i - before {
            p if p < 0 => -p,
            p if p >= n => 2 * (n - 1) - p,
            p => p,
        },
        GatherDim::Replicate { before, .. } => (i - before).clamp(0, n - 1),
        GatherDim::Circular { before, .. } => match i - before {
            p if p < 0 => p + n,
            p if p >= n => p - n,
            p => p,
        },
        _ => unreachable!("{dim:?}"),
    };
    place.try_into().unwrap()
}

#[test]
fn copies_in_another_order_follow_their_geometry() {
    for n in 1..6_usize {
        let most = n as isize;
        let mut dims = vec![GatherDim::Same, GatherDim::Flip];
        for before in 1 - most..=most {
            for after in 1 - most..=most {
                // Nothing is cut off beyond the end.
                if (before + after + most) < 0 || before.min(0) + after.min(0) + most <= 0 {
                    continue;
                }
                if before < most && after < most {
                    dims.push(GatherDim::Reflect { before, after });
                }
                dims.push(GatherDim::Replicate { before, after });
                if before >= 0 && after >= 0 {
                    dims.push(GatherDim::Circular { before, after });
                }
            }
        }
        for (number, &dim) in dims.iter().enumerate() {
            // Together with another permutation, and before an unchanged dimension.
            let other = dims[(number * 7 + 3) % dims.len()];
            let dims = vec![other, dim, GatherDim::Same];
            let input: Shape = [n, n, 2].into();
            let output: Shape = dims
                .iter()
                .zip(input.iter())
                .map(|(d, &n)| d.len(n))
                .collect();
            let table = |(dim, (&n, &len)): (&GatherDim, (&usize, &usize))| -> Table {
                let table: Vec<usize> = (0..len).map(|i| takes(*dim, n, i)).collect();
                assert_eq!(
                    dim.source_indices(n).collect::<Vec<_>>(),
                    table,
                    "{dim:?} of {n}"
                );
                table.into_iter().map(|i| vec![(i, 1.0)]).collect()
            };
            let sizes = input.iter().zip(output.iter());
            let tables: Vec<Table> = dims.iter().zip(sizes).map(table).collect();
            let pairs = pairs(&input, &tables);
            let geometry = GatherAlongGeometry {
                input,
                output,
                dims,
            };
            check_linear([&geometry.input, &geometry.output], &pairs, |op, x| {
                cpu().gather_along(op, x.operand(), &geometry).unwrap()
            });
        }
    }
}
