//! Gradients of means of planes, compared with quotients.

use crate::{AvgPoolOptions, BackwardOptions, Leaf, Tensor, set_num_threads};

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
            let x = Tensor::zeros([1, planes, height, width], crate::DType::F32).unwrap();
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
