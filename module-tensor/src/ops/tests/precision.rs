//! Half precision and mixed dtypes at the boundary to the kernels: who widens, who rounds, and what the graph holds of
//! it.

use super::normalization::close;
use super::*;
use crate::backend::{NormGeometry, NormGradients, NormInputs, NormOver, Operand, Saved, Storage};
use crate::fused::{RecurrentOp, RecurrentOptions, recurrent};
use crate::tensor::GraphNode;
use crate::{AttentionOptions, CrossEntropyOptions, Layout};

fn tracked(shape: &[usize], dtype: DType) -> Tensor {
    let x = numbers(shape, shape.len()).to_dtype(dtype).unwrap();
    x.with_grad().unwrap()
}

/// The number of casts between a result and its leaves.
fn casts(y: &Tensor) -> usize {
    let mut rest: Vec<GraphNode> = y.graph_node().into_iter().collect();
    let mut count = 0;
    while let Some(node) = rest.pop() {
        count += usize::from(node.name() == "to_dtype");
        rest.extend(node.next_functions().into_iter().flatten());
    }
    count
}

#[test]
fn fused_operations_record_no_casts_of_half_precision() {
    for dtype in [DType::F16, DType::BF16] {
        let x = tracked(&[2, 6, 4], dtype);
        let channels = tracked(&[6], dtype);
        let last = tracked(&[4], dtype);
        let (weight, bias) = (Some(&channels), Some(&channels));
        let recorded = [
            x.layer_norm([4], Some(&last), Some(&last), 1e-5),
            x.rms_norm([4], Some(&last), None),
            x.group_norm(2, weight, bias, 1e-5),
            x.batch_norm_train(weight, bias, 1e-5).map(|out| out.0),
            x.batch_norm(&channels.detach(), &channels.detach(), weight, bias, 9.0),
            x.instance_norm(None, weight, bias, 1e-5),
            x.scaled_dot_product_attention(&x, &x, AttentionOptions::default()),
            x.logsumexp_keepdim(1),
        ];
        for y in recorded.map(Result::unwrap) {
            assert_eq!(casts(&y), 0, "{:?} of {dtype}", y.graph_node());
        }
        // Losses are summed before they are rounded.
        let logits = tracked(&[3, 5], dtype);
        let target = Tensor::from([0_i64, 4, 2]);
        let loss = logits.cross_entropy(&target, CrossEntropyOptions::default());
        assert_eq!(casts(&loss.unwrap()), 1, "{dtype}");
        // The two states are outputs of one node.
        let parts = [&[3, 8][..], &[2, 2], &[2, 2], &[8, 2]].map(|shape| tracked(shape, dtype));
        let [gates, hidden, cell, weight_hh] = &parts;
        let options = RecurrentOptions::new(RecurrentOp::Lstm, weight_hh, &[2, 1])
            .bias_hh(None)
            .weight_hr(None)
            .reverse(false);
        let out = recurrent(gates, hidden, Some(cell), &options).unwrap();
        assert_eq!(casts(&out.output), 0, "{dtype}");
        let node = out.output.graph_node().unwrap();
        assert_eq!(node.next_functions().len(), 4);
        let of_cell = out.cell.unwrap().graph_node().unwrap().next_functions();
        assert_eq!(of_cell, [Some(node)]);
    }
}

fn geometry(over: NormOver, [batch, groups, channels]: [usize; 3]) -> NormGeometry {
    NormGeometry {
        batch,
        groups,
        channels,
        inner: 1,
        over,
        centered: true,
        eps: 1e-5,
        with_statistics: over == NormOver::Batch,
        compute: DType::F32,
    }
}

/// The elements of a storage, and their number.
fn elements(storage: &Storage, count: usize) -> Tensor {
    let of = |count: usize| Tensor::from_storage(storage.clone(), Layout::contiguous(count.into()));
    of(count).to_dtype(DType::F64).unwrap()
}

/// `F.batch_norm` and `F.layer_norm` of `bfloat16` with a weight, a bias and statistics in `float32`: PyTorch's
/// results and gradients.
#[test]
fn each_operand_has_a_dtype_of_its_own() {
    let bf16 = |x: Tensor| x.to_dtype(DType::BF16).unwrap();
    let x = bf16(Tensor::from([[1.0_f32, -2.0], [0.5, 3.0], [-1.25, 0.75]]));
    let grad = bf16(Tensor::from([[0.5_f32, 1.0], [-1.5, 2.0], [0.25, -0.75]]));
    let (weight, bias) = (Tensor::from([1.1_f32, -0.7]), Tensor::from([0.3_f32, 0.2]));
    let (mean, var) = (Tensor::from([0.1_f32, 0.2]), Tensor::from([1.3_f32, 0.6]));
    let cases: [(_, _, [[f64; 6]; 2], [f64; 2]); 3] = [
        (
            geometry(NormOver::Given, [3, 2, 1]),
            Some([mean.operand(), var.operand()]),
            [
                [1.171875, 2.1875, 0.6875, -2.328125, -1.0, -0.296875],
                [
                    0.482421875,
                    -0.90234375,
                    -1.4453125,
                    -1.8046875,
                    0.2412109375,
                    0.6796875,
                ],
            ],
            [-0.427_564_173_936_843_87, 3.856_813_430_786_133],
        ),
        (
            geometry(NormOver::Batch, [3, 2, 1]),
            None,
            [
                [
                    1.34375,
                    1.0859375,
                    0.7734375,
                    -0.62890625,
                    -1.21875,
                    0.142578125,
                ],
                [
                    1.0390625,
                    -0.2353515625,
                    -1.34375,
                    -0.287109375,
                    0.296875,
                    0.5234375,
                ],
            ],
            [-0.518_318_235_874_176, 1.039_301_276_206_970_2],
        ),
        (
            geometry(NormOver::Row, [3, 1, 2]),
            None,
            [
                [1.3984375, 0.8984375, -0.80078125, -0.5, -0.80078125, -0.5],
                [0.0; 6],
            ],
            [1.75, 0.25],
        ),
    ];
    for (geometry, statistics, [output, slope], of_weight) in cases {
        let inputs = NormInputs {
            x: x.operand(),
            weight: Some(weight.operand()),
            bias: Some(bias.operand()),
            statistics,
        };
        let kernels = Device::cpu().backend().normalization().unwrap();
        let out = kernels.forward(inputs.clone(), &geometry).unwrap();
        let grads = kernels.backward(grad.operand(), inputs, &out.saved, &geometry);
        let NormGradients {
            x: dx,
            weight,
            bias,
        } = grads.unwrap();
        let (weight, bias) = (weight.unwrap(), bias.unwrap());
        let dtypes = [&out.output, &dx, &weight, &bias].map(Storage::dtype);
        assert_eq!(dtypes, [DType::BF16, DType::BF16, DType::F32, DType::F32]);
        let statistics = out.statistics.iter().flatten();
        assert!(statistics.clone().all(|x| x.dtype() == DType::F32));
        assert_eq!(
            statistics.count(),
            2 * usize::from(geometry.with_statistics)
        );
        // One rounding to eight bits.
        close(&elements(&out.output, 6), &Tensor::from(output), 4e-3);
        close(&elements(&dx, 6), &Tensor::from(slope), 4e-3);
        close(&elements(&weight, 2), &Tensor::from(of_weight), 1e-5);
        close(&elements(&bias, 2), &Tensor::from([-0.75_f64, 2.25]), 1e-6);
    }
}

#[test]
fn a_stretched_operand_is_computed_as_if_it_were_whole() {
    let bf16 = |x: Tensor| x.to_dtype(DType::BF16).unwrap();
    let row = bf16(numbers([1, 6], 1));
    let grad = bf16(numbers([4, 6], 2));
    let x = row.expand([4, 6]).unwrap();
    let whole = x.contiguous().unwrap();
    let normal = |x: &Tensor| {
        let leaf = x.with_grad().unwrap();
        let y = leaf.layer_norm([6], None, None, 1e-5).unwrap();
        y.backward_with(
            &grad.narrow(0, 0..1).unwrap().expand([4, 6]).unwrap(),
            BackwardOptions::default(),
        )
        .unwrap();
        [y, leaf.grad().unwrap()].map(|x| x.to_vec::<half::bf16>().unwrap())
    };
    assert_eq!(normal(&x), normal(&whole));
}

#[test]
fn what_another_kernel_saved_is_refused() {
    let x = numbers([3, 2], 0);
    let inputs = || NormInputs {
        x: x.operand(),
        weight: None,
        bias: None,
        statistics: None,
    };
    let geometry = NormGeometry {
        compute: DType::F64,
        ..geometry(NormOver::Batch, [3, 2, 1])
    };
    let backward = |saved: &Saved| {
        let kernels = Device::cpu().backend().normalization().unwrap();
        let grad: Operand = x.operand();
        let grads = kernels.backward(grad, inputs(), saved, &geometry);
        grads.map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        backward(&Saved::default()),
        "normalization: saved = 0: storage(s) where 2 were to be saved; pass back the result of this \
         device's forward pass"
    );
    let two = |len| [(); 2].map(|()| numbers([len], 1).storage().clone());
    assert_eq!(
        backward(&Saved::new(two(7))),
        "normalization: saved = 7: element(s) where 2 were saved; pass back the result of the forward pass"
    );
    let single = Tensor::from([1.0_f32, 2.0]).storage().clone();
    let message = backward(&Saved::new([single.clone(), single]));
    assert!(message.contains("float32"), "{message}");
}

/// Large angles are rare, and computed by another function; the numbers around them must not notice.
#[test]
fn angles_of_any_size_are_reduced() {
    type Functions = (fn(&Tensor) -> Result<Tensor>, fn(f64) -> f64);
    let functions: [Functions; 3] = [
        (Tensor::sin, f64::sin),
        (Tensor::cos, f64::cos),
        (Tensor::tan, f64::tan),
    ];
    let numbers = |x: &Tensor| x.to_dtype(DType::F64)?.to_vec::<f64>();
    let mut angles = vec![0.7_f64; 3000];
    for (position, large) in [(0, 1e22), (1023, -3e38), (1024, 3e8), (2999, -6.8e7)] {
        angles[position] = large;
    }
    for (function, exact) in functions {
        for (dtype, most) in [(DType::F32, 1e-7), (DType::F64, 4e-16)] {
            let x = Tensor::from(angles.clone()).to_dtype(dtype).unwrap();
            let got = numbers(&function(&x).unwrap()).unwrap();
            for (x, got) in numbers(&x).unwrap().into_iter().zip(got) {
                let exact = exact(x);
                let error = (got - exact).abs() / exact.abs();
                assert!(error <= most, "{x}: {got} and not {exact}");
            }
        }
    }
}

/// PyTorch has roots for the number ½ as an exponent, and the powers of the C standard for a tensor of them.
#[test]
fn powers_of_infinity_depend_on_the_kind_of_exponent() {
    for dtype in [DType::F32, DType::F64] {
        let x = Tensor::from([f64::NEG_INFINITY, -0.0])
            .to_dtype(dtype)
            .unwrap();
        let numbers = |x: Result<Tensor>| x?.to_dtype(DType::F64)?.to_vec::<f64>();
        let bits = |x: Result<Tensor>| {
            numbers(x)
                .unwrap()
                .into_iter()
                .map(f64::to_bits)
                .collect::<Vec<_>>()
        };
        let exponent = |e: f64| Tensor::from([e, e]).to_dtype(dtype).unwrap();
        assert_eq!(
            bits(x.pow(exponent(0.5))),
            [f64::INFINITY, 0.0].map(f64::to_bits)
        );
        assert_eq!(
            bits(x.pow(exponent(-0.5))),
            [0.0, f64::INFINITY].map(f64::to_bits)
        );
        let [first, second] = numbers(x.pow(0.5)).unwrap()[..] else {
            panic!()
        };
        assert!(first.is_nan() && second.to_bits() == (-0.0_f64).to_bits());
        let [first, second] = numbers(x.pow(-0.5)).unwrap()[..] else {
            panic!()
        };
        assert!(first.is_nan() && second == f64::NEG_INFINITY);
    }
}
