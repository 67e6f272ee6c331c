use super::{MaxPool, max_pool, max_pool_backward, max_pool_with_indices};
use crate::backend::Element;
use crate::backend::cpu::max_loops::Offset;
use crate::backend::cpu::number::Number;
use crate::backend::cpu::view::to_plain_vec;
use crate::backend::cpu::{CpuStorage, Operand, PoolGeometry, PoolWindow, PoolWindows, Storage};
use crate::layout::Layout;
use crate::{DType, Shape};

/// Small numbers, many of them equal, with infinities, zeros of both signs and several NaN among them.
fn numbers(len: usize) -> Vec<f32> {
    let number = |i: usize| match i * i % 37 + i % 5 {
        0..4 => f32::NEG_INFINITY,
        4 => f32::from_bits(0x7fc0_0000 + i as u32),
        5..8 => -0.0,
        8..11 => 0.0,
        11 => f32::INFINITY,
        v => (v % 7) as f32 - 3.0,
    };
    (0..len).map(number).collect()
}

fn operand<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> Operand {
    Operand {
        storage: CpuStorage::wrap(values),
        layout: Layout::contiguous(shape.into()),
    }
}

fn values<T: Element>(storage: Storage) -> Vec<T> {
    let len: usize = CpuStorage::values::<T>(storage.downcast_ref().unwrap())
        .unwrap()
        .len();
    to_plain_vec(&Operand {
        storage,
        layout: Layout::contiguous([len].into()),
    })
    .unwrap()
}

/// The inputs of each window along one dimension.
fn inputs(size: usize, count: usize, window: Option<PoolWindow>) -> Vec<Vec<usize>> {
    let sliding = |o: usize, window: PoolWindow| {
        let at = |k: usize| (o * window.stride + k * window.dilation).checked_sub(window.padding);
        let all = (0..window.kernel_size).filter_map(at);
        all.filter(|at| *at < size).collect()
    };
    let covered = |o: usize| (o * size / count..((o + 1) * size).div_ceil(count)).collect();
    let window = |o| window.map_or_else(|| covered(o), |window| sliding(o, window));
    (0..count).map(window).collect()
}

/// The positions of the maxima, one element after the other.
fn expected<T: Number>(x: &[T], geometry: &PoolGeometry) -> Vec<usize> {
    let mut dims = vec![(1, vec![vec![0]]); 3 + 2 - geometry.input.len()];
    for d in 2..geometry.input.len() {
        let window = match &geometry.windows {
            PoolWindows::Sliding(windows) => Some(windows[d - 2]),
            PoolWindows::Adaptive => None,
        };
        let size = geometry.input[d];
        dims.push((size, inputs(size, geometry.output[d], window)));
    }
    let [(depth, zs), (height, ys), (width, xs)] = &dims[..] else {
        panic!("{geometry:?}");
    };
    let mut positions = Vec::new();
    for plane in x.chunks_exact(depth * height * width) {
        for z in zs {
            for y in ys {
                for x in xs {
                    let mut best = None;
                    for z in z {
                        for y in y {
                            for x in x {
                                let at = (z * height + y) * width + x;
                                let is_better =
                                    |best: usize| plane[at] > plane[best] || plane[at].is_nan();
                                if best.is_none_or(is_better) {
                                    best = Some(at);
                                }
                            }
                        }
                    }
                    positions.push(best.unwrap());
                }
            }
        }
    }
    positions
}

fn check_as<T: Number, O: Offset>(x: &[T], geometry: &PoolGeometry, bits: impl Fn(T) -> u64) {
    let pool = MaxPool::new(geometry).unwrap();
    let x = operand(x.to_vec(), geometry.input.clone());
    let (maxima, positions) = pool.run::<T, O>(&x).unwrap();
    let x = to_plain_vec::<T>(&x).unwrap();
    let want = expected(&x, geometry);
    if size_of::<O>() > 0 {
        assert!(
            positions
                .iter()
                .map(|at| *at as usize)
                .eq(want.iter().copied()),
            "{geometry:?}"
        );
    }
    let plane: usize = geometry.input.iter().skip(2).product();
    let windows: usize = geometry.output.iter().skip(2).product();
    let maxima = values::<T>(maxima);
    assert_eq!(maxima.len(), want.len());
    for (i, (max, position)) in maxima.iter().zip(want).enumerate() {
        let want = x[i / windows * plane + position];
        assert_eq!(bits(*max), bits(want), "{i} of {geometry:?}");
    }
}

fn check(geometry: &PoolGeometry) {
    let x = numbers(geometry.input.numel());
    let bits = |v: f32| u64::from(v.to_bits());
    check_as::<f32, ()>(&x, geometry, bits);
    check_as::<f32, u32>(&x, geometry, bits);
    check_as::<f32, i64>(&x, geometry, bits);
    let wide: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    check_as::<f64, i64>(&wide, geometry, f64::to_bits);
    let least = |v: &f32| if v.is_infinite() { i64::MIN } else { *v as i64 };
    let whole: Vec<i64> = x.iter().map(least).collect();
    check_as::<i64, i64>(&whole, geometry, |v| v as u64);
}

/// All windows of a dimension that leave none empty, with the number of outputs rounded down and up.
fn windows(size: usize) -> Vec<(PoolWindow, usize)> {
    let mut all = Vec::new();
    for kernel_size in [1, 2, 3, 4, 5, 8, 13] {
        for (stride, dilation) in [
            (1, 1),
            (2, 1),
            (3, 1),
            (4, 1),
            (9, 1),
            (1, 2),
            (2, 3),
            (3, 2),
        ] {
            for padding in [0, 1, kernel_size / 2] {
                let reach = dilation * (kernel_size - 1) + 1;
                let Some(room) = (size + 2 * padding).checked_sub(reach) else {
                    continue;
                };
                for count in [room / stride + 1, room.div_ceil(stride) + 1] {
                    let window = PoolWindow {
                        kernel_size,
                        stride,
                        padding,
                        dilation,
                    };
                    let inputs = inputs(size, count, Some(window));
                    if padding <= kernel_size / 2 && inputs.iter().all(|all| !all.is_empty()) {
                        all.push((window, count));
                    }
                }
            }
        }
    }
    all
}

fn geometry(planes: usize, dims: &[(usize, (PoolWindow, usize))]) -> PoolGeometry {
    let sizes = dims.iter().map(|(size, _)| *size);
    let counts = dims.iter().map(|(_, (_, count))| *count);
    PoolGeometry {
        input: [1, planes].into_iter().chain(sizes).collect(),
        output: [1, planes].into_iter().chain(counts).collect(),
        windows: PoolWindows::Sliding(dims.iter().map(|(_, (window, _))| *window).collect()),
    }
}

#[test]
fn all_windows_along_a_line() {
    for size in [1, 2, 3, 5, 8, 16, 17, 33, 56] {
        for window in windows(size) {
            check(&geometry(2, &[(size, window)]));
        }
    }
}

/// Windows of a dimension, others at each call.
fn picks() -> impl FnMut(usize) -> (usize, (PoolWindow, usize)) {
    let mut seed = 0;
    move |size| {
        let all = windows(size);
        seed += 7;
        (size, all[seed * seed % all.len()])
    }
}

#[test]
fn small_planes_side_by_side() {
    let mut pick = picks();
    for planes in [15, 16, 35] {
        for (height, width) in [(1, 9), (2, 2), (3, 5), (7, 7), (8, 13), (16, 16)] {
            for _ in 0..4 {
                check(&geometry(planes, &[pick(height), pick(width)]));
                check(&geometry(planes, &[pick(2), pick(height), pick(width)]));
            }
        }
        check(&geometry(planes, &[pick(30)]));
        check(&PoolGeometry {
            input: [1, planes, 5, 6].into(),
            output: [1, planes, 2, 9].into(),
            windows: PoolWindows::Adaptive,
        });
    }
}

#[test]
fn windows_over_two_and_three_dimensions() {
    let (few, many) = ([1, 2, 3, 7, 8], [4, 15, 16, 20, 33]);
    let mut pick = picks();
    for height in few {
        for width in many {
            for _ in 0..6 {
                check(&geometry(3, &[pick(height), pick(width)]));
                check(&geometry(1, &[pick(width), pick(height)]));
                check(&geometry(2, &[pick(height), pick(3), pick(width)]));
            }
        }
    }
}

#[test]
fn adaptive_windows() {
    for (size, count) in [
        (1, 1),
        (7, 7),
        (56, 7),
        (56, 5),
        (9, 4),
        (3, 8),
        (49, 1),
        (40, 6),
    ] {
        for height in [(1, 1), (5, 2), (6, 6)] {
            check(&PoolGeometry {
                input: [2, 1, height.0, size].into(),
                output: [2, 1, height.1, count].into(),
                windows: PoolWindows::Adaptive,
            });
        }
    }
}

#[test]
fn a_distance_that_nothing_uses_may_have_any_value() {
    let window = PoolWindow {
        kernel_size: 1,
        stride: usize::MAX / 2,
        padding: 0,
        dilation: usize::MAX,
    };
    check(&geometry(2, &[(3, (window, 1)), (20, (window, 1))]));
}

#[test]
fn no_windows() {
    for output in [
        [1, 1, 0, 4],
        [1, 1, 4, 0],
        [0, 1, usize::MAX / 64, usize::MAX / 64],
    ] {
        let input = [output[0], 1, 6, 6].into();
        let geometry = PoolGeometry {
            input,
            output: output.into(),
            windows: PoolWindows::Adaptive,
        };
        let x = operand(numbers(36 * output[0]), geometry.input.clone());
        // So many windows are more than any memory holds.
        if let Ok(maxima) = max_pool(&x, &geometry) {
            assert!(values::<f32>(maxima).is_empty());
        }
        let none = operand(Vec::<f32>::new(), geometry.output.clone());
        let indices = operand(Vec::<i64>::new(), geometry.output.clone());
        let spread = max_pool_backward(&none, &indices, &geometry).unwrap();
        assert_eq!(values::<f32>(spread), vec![0.0; 36 * output[0]]);
    }
}

#[test]
fn no_planes() {
    let (size, window) = (5, windows(5)[3]);
    check(&geometry(0, &[(size, window), (size, window)]));
}

/// A geometry of windows of two by two.
fn halves(height: usize, width: usize) -> PoolGeometry {
    let window = PoolWindow {
        kernel_size: 2,
        stride: 2,
        padding: 0,
        dilation: 1,
    };
    geometry(
        1,
        &[(height, (window, height / 2)), (width, (window, width / 2))],
    )
}

#[test]
fn narrow_dtypes_stay() {
    let geometry = halves(2, 4);
    let shape = geometry.input.clone();
    let bytes = operand(vec![1_u8, 7, 200, 3, 9, 2, 255, 255], shape.clone());
    let (maxima, positions) = max_pool_with_indices(&bytes, &geometry).unwrap();
    assert_eq!(
        (values::<u8>(maxima), values::<i64>(positions)),
        (vec![9, 255], vec![4, 6])
    );
    assert_eq!(values::<u8>(max_pool(&bytes, &geometry).unwrap()), [9, 255]);
    let truths = operand(
        [0, 0, 0, 0, 1, 0, 0, 0].map(|v| v == 1).to_vec(),
        shape.clone(),
    );
    assert_eq!(
        values::<bool>(max_pool(&truths, &geometry).unwrap()),
        [true, false]
    );
    let halves = [1.0, -2.5, f32::NAN, 0.0, 1.5, 0.0, 1.0, 8.0].map(half::f16::from_f32);
    let maxima = max_pool(&operand(halves.to_vec(), shape.clone()), &geometry).unwrap();
    let maxima = values::<half::f16>(maxima);
    assert!(maxima[0].to_f32() == 1.5 && maxima[1].is_nan());
    let stored = operand(vec![0_i8; 8], shape);
    let error = max_pool(&stored, &geometry).map(drop).unwrap_err();
    assert!(error.to_string().contains("max_pool"), "{error}");
    assert_eq!(stored.storage.dtype(), DType::I8);
}

#[test]
fn gradients_are_added_at_the_indices() {
    let geometry = halves(4, 4);
    let grad = operand(vec![1.0_f64, 2.0, 4.0, 8.0], geometry.output.clone());
    let indices = operand(vec![5_i64, 2, 5, 15], geometry.output.clone());
    let spread = values::<f64>(max_pool_backward(&grad, &indices, &geometry).unwrap());
    let mut want = vec![0.0; 16];
    (want[5], want[2], want[15]) = (5.0, 2.0, 8.0);
    assert_eq!(spread, want);
    for index in [16_i64, -1] {
        let indices = operand(vec![0, 1, index, 3], geometry.output.clone());
        let error = max_pool_backward(&grad, &indices, &geometry)
            .map(drop)
            .unwrap_err();
        assert!(error.to_string().contains(&index.to_string()), "{error}");
    }
}
