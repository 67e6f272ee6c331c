//! The geometry of pooling.

use super::*;

fn seen_by(geometry: &PoolGeometry) -> Vec<Table> {
    let sizes = geometry.input.iter().zip(geometry.output.iter()).skip(2);
    let tables = sizes.enumerate().map(|(d, (&size, &count))| {
        let places = |o: usize| match &geometry.windows {
            PoolWindows::Sliding(windows) => {
                let w = windows[d];
                let place = |k: usize| (o * w.stride + k * w.dilation).checked_sub(w.padding);
                let places = (0..w.kernel_size).filter_map(place);
                places.filter(|&i| i < size).collect::<Vec<_>>()
            }
            PoolWindows::Adaptive => (o * size / count..((o + 1) * size).div_ceil(count)).collect(),
        };
        let weighted = |o| places(o).into_iter().map(|i| (i, 1.0)).collect();
        (0..count).map(weighted).collect()
    });
    with_planes(&geometry.input, tables.collect())
}

fn check_max(geometry: &PoolGeometry, x: &[f64]) {
    let (mut best, mut places) = (Vec::new(), Vec::new());
    let plane: usize = geometry.input.iter().skip(2).product();
    for seen in pairs(&geometry.input, &seen_by(geometry)) {
        let mut winner = seen[0].0;
        for (i, _) in seen {
            if x[i] > x[winner] || x[i].is_nan() {
                winner = i;
            }
        }
        best.push(x[winner]);
        places.push((winner % plane) as i64);
    }
    let x = tensor(x, &geometry.input);
    let alone = cpu().max_pool(x.operand(), geometry).unwrap();
    let (beside, at) = cpu().max_pool_with_indices(x.operand(), geometry).unwrap();
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    let best = bits(best);
    for actual in [alone, beside] {
        let actual = bits(values(actual, &geometry.output));
        assert_eq!(actual, best, "{geometry:?}");
    }
    let at = Tensor::from_storage(at, Layout::contiguous(geometry.output.clone()));
    assert_eq!(at.to_vec::<i64>().unwrap(), places, "{geometry:?}");
}

fn check_average(geometry: &PoolGeometry, divisor: PoolDivisor) {
    let mut pairs = pairs(&geometry.input, &seen_by(geometry));
    let spatial: Shape = geometry.output.iter().skip(2).copied().collect();
    for (number, seen) in pairs.iter_mut().enumerate() {
        let count = match (divisor, &geometry.windows) {
            (PoolDivisor::Override(count), _) => count,
            (PoolDivisor::WithPadding, PoolWindows::Sliding(windows)) => {
                let (mut rest, mut count) = (number, 1);
                for d in (0..spatial.rank()).rev() {
                    let (w, o) = (windows[d], rest % spatial[d]);
                    rest /= spatial[d];
                    let left = geometry.input[2 + d] + 2 * w.padding - o * w.stride;
                    count *= w.kernel_size.min(left);
                }
                count
            }
            _ => seen.len(),
        };
        seen.iter_mut()
            .for_each(|(_, weight)| *weight /= count as f64);
    }
    check_linear([&geometry.input, &geometry.output], &pairs, |op, x| {
        cpu().avg_pool(op, x.operand(), geometry, divisor).unwrap()
    });
}

/// The number of output positions, and whether rounding up adds one.
fn places(size: usize, w: PoolWindow, ceil_mode: bool) -> Option<usize> {
    let rest = (size + 2 * w.padding).checked_sub(w.dilation * (w.kernel_size - 1) + 1)?;
    let mut count = match ceil_mode {
        true => rest.div_ceil(w.stride),
        false => rest / w.stride,
    } + 1;
    // None starts after the end of the input.
    if (count - 1) * w.stride >= size + w.padding {
        count -= 1;
    }
    (w.dilation <= size || w.padding == 0).then_some(count)
}

#[test]
fn pooling_follows_its_geometry() {
    let mut checked = 0;
    for case in 0..2000_usize {
        let pick = |salt: usize, from: usize, to: usize| {
            from + (case * 7919 + salt * 104_729 + case * case * (salt + 3)) / 13 % (to - from + 1)
        };
        let ceil_mode = pick(1, 0, 1) == 1;
        let dims = pick(2, 1, 3);
        let dilated = pick(3, 0, 2) == 0;
        let windows: Vec<PoolWindow> = (0..dims)
            .map(|d| {
                let kernel_size = pick(4 + d, 1, 4);
                PoolWindow {
                    kernel_size,
                    stride: pick(8 + d, 1, 4),
                    padding: pick(12 + d, 0, kernel_size / 2),
                    dilation: if dilated { pick(16 + d, 1, 3) } else { 1 },
                }
            })
            .collect();
        let sizes: Vec<usize> = (0..dims).map(|d| pick(20 + d, 1, 8)).collect();
        let counts = sizes.iter().zip(&windows);
        let Some(counts) = counts
            .map(|(&size, &window)| places(size, window, ceil_mode))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let shape = |sizes: &[usize]| [2, 2].into_iter().chain(sizes.iter().copied()).collect();
        let geometry = PoolGeometry {
            input: shape(&sizes),
            output: shape(&counts),
            windows: PoolWindows::Sliding(windows.clone()),
        };
        let mut x = numbers(&geometry.input);
        if let (&[size], &[w]) = (&sizes[..], &windows[..]) {
            let options = PoolOptions::new([w.kernel_size])
                .stride([w.stride])
                .padding([w.padding])
                .dilation([w.dilation])
                .ceil_mode(ceil_mode);
            let y = tensor(&x, &geometry.input).max_pool(options).unwrap();
            assert_eq!(*y.shape(), geometry.output, "{size} {options:?}");
        }
        check_max(&geometry, &x);
        // Ties and NaN.
        x.iter_mut().for_each(|x| *x = (*x * 4.0).round());
        x.iter_mut().step_by(5).for_each(|x| *x = f64::NAN);
        check_max(&geometry, &x);
        if !dilated {
            check_average(&geometry, PoolDivisor::Inside);
            check_average(&geometry, PoolDivisor::WithPadding);
            check_average(&geometry, PoolDivisor::Override(pick(30, 1, 5)));
        }
        let counts: Vec<usize> = (0..dims).map(|d| pick(24 + d, 1, 9)).collect();
        let adaptive = PoolGeometry {
            input: geometry.input,
            output: shape(&counts),
            windows: PoolWindows::Adaptive,
        };
        check_max(&adaptive, &numbers(&adaptive.input));
        check_average(&adaptive, PoolDivisor::Inside);
        checked += 1;
    }
    assert!(checked > 500, "{checked}");
}
