//! Means of planes compared with sums in `f64`, and their gradients with quotients.

use super::LONG;
use crate::{AvgPoolOptions, BackwardOptions, DType, Leaf, Tensor, set_num_threads};

/// Planes on both sides of each length that changes how they are summed.
const SIZES: [[usize; 2]; 12] = [
    [1, 1],
    [2, 3],
    [3, 5],
    [4, 4],
    [1, 17],
    [1, 31],
    [4, 8],
    [7, 7],
    [9, 31],
    [7, 73],
    [2, LONG / 2],
    [27, 19],
];

#[test]
fn a_mean_is_the_sum_of_its_plane_alone() {
    for [height, width] in SIZES {
        let (size, planes) = (height * width, 37);
        let value = |i: usize| ((i as f64 * 0.618_033_988_749_895).fract() - 0.4) * 8.0;
        let mut values: Vec<f32> = (0..planes * size).map(|i| value(i) as f32).collect();
        // One of each kind, at the first, the last and another element of three planes.
        values[size] = f32::INFINITY;
        values[5 * size - 1] = f32::NAN;
        values[20 * size + size / 2] = f32::NEG_INFINITY;
        let shape = [1, planes, height, width];
        let x = Tensor::from_vec(values.clone(), shape).unwrap();
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            let all = x.adaptive_avg_pool2d([1, 1]).unwrap();
            let pooled = x.avg_pool2d(AvgPoolOptions::new([height, width])).unwrap();
            for means in [all, pooled] {
                assert_eq!(means.shape().to_vec(), [1, planes, 1, 1]);
                let means = means.to_vec::<f32>().unwrap();
                for (i, (plane, mean)) in values.chunks_exact(size).zip(means).enumerate() {
                    let sum: f64 = plane.iter().map(|v| f64::from(*v)).sum();
                    let sizes: f64 = plane.iter().map(|v| f64::from(v.abs())).sum();
                    let want = sum / size as f64;
                    let close = (f64::from(mean) - want).abs() <= 3e-7 * sizes / size as f64;
                    let same = f64::from(mean) == want || mean.is_nan() && want.is_nan();
                    assert!(
                        close || same,
                        "{mean} and not {want}: plane {i} of {height} by {width}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_gradient_of_a_mean_is_divided_once_and_the_same_everywhere() {
    for (planes, [height, width]) in [(3, [1, 1]), (5, [2, 3]), (1000, [7, 7]), (70, [9, 31])] {
        let size = height * width;
        let grads: Vec<f32> = (0..planes).map(|i| i as f32 * 0.37 - 5.0).collect();
        let grad = Tensor::from_vec(grads.clone(), [1, planes, 1, 1]).unwrap();
        let divided = grads.iter().map(|grad| grad / size as f32);
        let want: Vec<f32> = divided.flat_map(|v| std::iter::repeat_n(v, size)).collect();
        for threads in [1, 2, 5] {
            set_num_threads(threads);
            let x = Tensor::zeros([1, planes, height, width], DType::F32).unwrap();
            let (all, pooled) = (Leaf::new(), Leaf::new());
            let mean = all.track(&x).adaptive_avg_pool2d([1, 1]).unwrap();
            mean.backward_with(&grad, BackwardOptions::new()).unwrap();
            let options = AvgPoolOptions::new([height, width]);
            let mean = pooled.track(&x).avg_pool2d(options).unwrap();
            mean.backward_with(&grad, BackwardOptions::new()).unwrap();
            for leaf in [all, pooled] {
                let got = leaf.grad().unwrap();
                assert_eq!(got.shape(), x.shape());
                assert!(got.to_vec::<f32>().unwrap() == want, "{height} by {width}");
            }
        }
    }
}
