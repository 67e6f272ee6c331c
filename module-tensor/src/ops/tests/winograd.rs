//! Tiled convolutions compared with direct sums in `f64`, in sizes around those of the tiles.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{BackwardOptions, ConvOptions, DType, Padding, Tensor, set_exact_convolutions};

/// The setting is global to the process, whose tests run concurrently.
fn setting() -> MutexGuard<'static, ()> {
    static SETTING: Mutex<()> = Mutex::new(());
    SETTING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn random(shape: [usize; 4], seed: u64) -> Tensor {
    crate::fork_rng(seed, || Tensor::randn(shape, DType::F32).unwrap())
}

/// The output of a convolution, and the gradients of its input and weight for a gradient `g` of the output.
fn run(x: &Tensor, w: &Tensor, g: &Tensor, options: ConvOptions<2>) -> [Vec<f64>; 3] {
    let [x, w] = [x, w].map(|x| x.detach().with_grad().unwrap());
    let y = x.conv2d(&w, options).unwrap();
    y.backward_with(g, BackwardOptions::default()).unwrap();
    let values = |x: &Tensor| x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    [
        values(&y.detach()),
        values(&x.grad().unwrap()),
        values(&w.grad().unwrap()),
    ]
}

/// The largest errors of a convolution and its gradients, and the root mean squares, relative to the largest sum of the
/// magnitudes of an element's products.
fn errors(x: &Tensor, w: &Tensor, options: ConvOptions<2>) -> [[f64; 2]; 3] {
    let y = x.conv2d(w, options).unwrap();
    let g = crate::fork_rng(3, || Tensor::randn(y.shape().clone(), DType::F32).unwrap());
    let wide = [x, w, &g].map(|x| x.to_dtype(DType::F64).unwrap());
    let magnitudes = wide.each_ref().map(|x| x.abs().unwrap());
    let got = run(x, w, &g, options);
    let [x, w, g] = &wide;
    let want = run(x, w, g, options);
    let [x, w, g] = &magnitudes;
    let magnitudes = run(x, w, g, options);
    std::array::from_fn(|i| {
        let greatest = magnitudes[i].iter().copied().fold(0.0, f64::max);
        let errors = got[i].iter().zip(&want[i]);
        let errors = errors.map(|(a, b)| (a - b).abs() / greatest);
        let squares: f64 = errors.clone().map(|error| error * error).sum();
        let mean = (squares / got[i].len() as f64).sqrt();
        [errors.fold(0.0, f64::max), mean]
    })
}

#[test]
fn tiles_agree_with_plain_sums_in_every_size() {
    let _setting = setting();
    for (batch, channels, out, groups, size) in [
        (1, 16, 16, 1, [16, 16]),
        (3, 17, 19, 1, [9, 11]),
        (40, 16, 24, 1, [3, 4]),
        (64, 32, 16, 1, [2, 2]),
        (2, 64, 32, 2, [13, 30]),
        (1, 64, 64, 1, [57, 70]),
        (1, 200, 16, 1, [61, 200]),
        // More channels than are multiplied at a time.
        (3, 600, 40, 1, [8, 10]),
    ] {
        for padding in [0, 1, 2] {
            if size[0] + 2 * padding < 3 || size[1] + 2 * padding < 3 {
                continue;
            }
            let x = random([batch, channels, size[0], size[1]], 1);
            let w = random([out, channels / groups, 3, 3], 2);
            let options = ConvOptions::new()
                .padding(Padding::Size([padding; 2]))
                .groups(groups);
            for (of, [most, mean]) in ["output", "input", "weight"]
                .into_iter()
                .zip(errors(&x, &w, options))
            {
                let name = format!("{of} of {batch} {channels} {out} {size:?} {padding}");
                assert!(most < 4e-6 && mean < 2e-7, "{name}: {most:e} {mean:e}");
            }
        }
    }
}

#[test]
fn exact_convolutions_are_plain_sums() {
    let _setting = setting();
    let (x, w) = (random([1, 64, 32, 32], 1), random([64, 64, 3, 3], 2));
    let options = ConvOptions::new().padding(Padding::Size([1, 1]));
    let fast = x.conv2d(&w, options).unwrap().to_vec::<f32>().unwrap();
    set_exact_convolutions(true);
    let (plain, errors) = (x.conv2d(&w, options), errors(&x, &w, options));
    set_exact_convolutions(false);
    assert_ne!(fast, plain.unwrap().to_vec::<f32>().unwrap());
    for [most, _] in errors {
        assert!(most < 2e-7, "{most:e}");
    }
}

#[test]
fn an_infinity_reaches_only_the_outputs_of_its_windows() {
    let _setting = setting();
    let mut values = vec![1.0_f32; 16 * 24 * 24];
    values[5 * 24 + 6] = f32::INFINITY;
    let x = Tensor::from_vec(values, [1, 16, 24, 24]).unwrap();
    let w = Tensor::ones([16, 16, 3, 3], DType::F32).unwrap();
    let y = x.conv2d(&w, ConvOptions::new()).unwrap();
    let y = y.to_vec::<f32>().unwrap();
    for (i, v) in y.into_iter().enumerate() {
        let (row, column) = (i / 22 % 22, i % 22);
        let sees = (3..=5).contains(&row) && (4..=6).contains(&column);
        assert_eq!(
            v,
            if sees { f32::INFINITY } else { 144.0 },
            "{row} {column}"
        );
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let _setting = setting();
    // Threads share tiles, or channels.
    for ([batch, channels, out], size) in [([2, 48, 48], 40), ([3, 520, 64], 10)] {
        let x = random([batch, channels, size, size], 1);
        let w = random([out, channels, 3, 3], 2);
        let g = random([batch, out, size - 2, size - 2], 3);
        let run = |threads| {
            crate::set_num_threads(threads);
            run(&x, &w, &g, ConvOptions::new())
        };
        assert!(run(1) == run(3), "{channels}");
    }
}

#[test]
fn an_infinite_gradient_reaches_only_the_inputs_of_its_window() {
    let _setting = setting();
    let x = Tensor::zeros([1, 16, 24, 24], DType::F32).unwrap();
    let w = Tensor::ones([16, 16, 3, 3], DType::F32).unwrap();
    let mut g = vec![0.0_f32; 16 * 22 * 22];
    g[3 * 22 * 22] = f32::INFINITY;
    let g = Tensor::from_vec(g, [1, 16, 22, 22]).unwrap();
    let [_, _, w] = run(&x, &w, &g, ConvOptions::new());
    for (i, v) in w.into_iter().enumerate() {
        assert_eq!(v.is_nan(), i / 9 / 16 == 3, "{i}: {v}");
        assert!(v.is_nan() || v == 0.0, "{i}: {v}");
    }
}
