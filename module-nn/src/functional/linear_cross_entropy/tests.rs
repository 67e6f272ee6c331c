//! Gradients of the chunked loss.

use module_core::DType;
use module_core::autograd::{gradcheck, gradgradcheck};

use super::*;

#[test]
fn gradients_of_chunks_are_exact_also_twice() {
    let x = Tensor::randn([5, 3], DType::F64).unwrap();
    let w = Tensor::randn([7, 3], DType::F64).unwrap();
    let b = Tensor::randn([7], DType::F64).unwrap();
    let target = Tensor::from([0_i64, 6, 3, -100, 1]);
    let options = LinearCrossEntropyOptions::new().batch_chunk_size(2);
    let loss = |x: &[Tensor], reduction| {
        let arguments = LinearCrossEntropyArguments {
            linear_bias: Some(&x[2]),
            options: Some(&options),
            reduction,
            label_smoothing: 0.1,
            ..Default::default()
        };
        linear_cross_entropy(&x[0], &x[1], &target, arguments)
    };
    let inputs = [x, w, b];
    for reduction in [Reduction::None, Reduction::Mean, Reduction::Sum] {
        gradcheck(|x| loss(x, reduction), &inputs).unwrap();
    }
    gradgradcheck(|x| loss(x, Reduction::Mean), &inputs).unwrap();
}
