//! Products with quantized weights on any device.

#![allow(clippy::unwrap_used)]

use module_nn::Tolerance;
use module_nn::prelude::*;
use module_nn::quantize::Scheme;

/// The size of a group.
pub const GROUP: usize = 32;

/// The maxima of blocks are quantized too.
pub const NESTED: Scheme = Scheme::NF4;

/// The maxima of blocks are numbers.
pub const PLAIN: Scheme = Scheme::Nf4 {
    block_size: 64,
    double_quantization: false,
};

/// Every scheme.
pub const EVERY: [Scheme; 6] = [
    Scheme::Int8Dynamic,
    Scheme::Int8,
    Scheme::Int8Grouped { group_size: GROUP },
    Scheme::Int4 { group_size: GROUP },
    NESTED,
    PLAIN,
];

/// Sizes of inputs, and the columns and rows of a weight: one row and many, parts of tiles, runs and groups.
const SIZES: [[usize; 3]; 8] = [
    [1, 64, 1],
    [1, 64, 7],
    [3, 96, 33],
    [5, 128, 40],
    [64, 192, 300],
    [2, 2560, 31],
    [70, 1056, 65],
    [0, 64, 3],
];

/// Normal numbers of a seed.
pub fn randn(seed: u64, shape: &[usize]) -> Tensor {
    fork_rng(seed, || Tensor::randn(shape, ())).unwrap()
}

/// Asserts that two results, which may be on different devices, differ by rounding.
pub fn assert_near(a: &Tensor, b: &Tensor, what: &str) {
    let to = |x: &Tensor| {
        x.to_device(&Device::cpu())
            .unwrap()
            .to_dtype(DType::F32)
            .unwrap()
    };
    let tolerance = match a.dtype() {
        DType::F32 => Tolerance::new().rtol(1e-5).atol(2e-4),
        _ => Tolerance::new().rtol(2e-2).atol(2e-1),
    };
    assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()), "{what}");
    assert!(to(a).allclose(&to(b), tolerance).unwrap(), "{what}");
}

/// Compares products with packed weights on a device with those of unpacked weights on the CPU; of inputs that are rounded,
/// with the CPU's packed ones.
pub fn check_products(device: &Device) {
    for (scheme, [m, k, n]) in EVERY.into_iter().flat_map(|s| SIZES.map(|size| (s, size))) {
        let packed = scheme.pack(&randn(1, &[n, k])).unwrap();
        let (unpacked, bias) = (packed.unpack().unwrap(), randn(2, &[n]));
        let weight = packed.to_device(device).unwrap();
        // A device that does not know the scheme unpacks the weight, and rounds no inputs.
        let rounds = scheme == Scheme::Int8Dynamic && device.kind() != "mirror";
        for dtype in [DType::F32, DType::BF16] {
            let what = format!("{scheme:?} {m} {k} {n} {dtype}");
            let there = |x: &Tensor| x.to_device(device).unwrap();
            let to = |x: &Tensor| x.to_dtype(dtype).unwrap();
            let (plain, bias, x) = (to(&unpacked), to(&bias), to(&randn(3, &[m, k])));
            let expected = match rounds {
                true => x.linear(&packed, Some(&bias)).unwrap(),
                false => x.linear(&plain, Some(&bias)).unwrap(),
            };
            let y = there(&x).linear(&weight, Some(&there(&bias))).unwrap();
            assert_near(&y, &expected, &what);
            let expected = match rounds {
                true => x.matmul(&packed.t().unwrap()).unwrap(),
                false => x.matmul(&plain.t().unwrap()).unwrap(),
            };
            let y = there(&x).matmul(&weight.t().unwrap()).unwrap();
            assert_near(&y, &expected, &what);
            // The product that the gradient needs.
            let grad = to(&randn(4, &[m, n]));
            let expected = grad.matmul(&plain).unwrap();
            assert_near(&there(&grad).matmul(&weight).unwrap(), &expected, &what);
            // A view of some rows and columns.
            let part = |w: &Tensor| {
                let rows = n / 2..n;
                w.narrow(0, rows).unwrap().narrow(1, 16..k - 8).unwrap()
            };
            let x = x.narrow(1, 16..k - 8).unwrap();
            let expected = x.linear(&part(&plain), None).unwrap();
            let y = there(&x).linear(&part(&weight), None).unwrap();
            assert_near(&y, &expected, &what);
        }
    }
}

/// Asserts that rounded inputs hide no value that is not finite: its row is NaN.
pub fn check_not_finite(device: &Device) {
    let weight = Scheme::Int8Dynamic.pack(&randn(1, &[3, 64])).unwrap();
    let weight = weight.to_device(device).unwrap();
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = vec![0.5; 128];
        values[70] = value;
        let x = Tensor::from_vec(values, [2, 64]).unwrap();
        let y = x.to_device(device).unwrap().linear(&weight, None).unwrap();
        let is_nan: Vec<bool> = y
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .map(|y| y.is_nan())
            .collect();
        assert_eq!(is_nan, [false, false, false, true, true, true]);
    }
}
