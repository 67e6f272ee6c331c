//! Results in the memory of an operand that nothing else holds.

use super::super::{BinaryOp, CpuStorage, FillRange, Storage, UnaryOp, elements_of};
use crate::backend::{Backend, Operand};
use crate::layout::{Layout, Shape};
use crate::{DType, Device, Result, Scalar, set_num_threads};

type Operation = fn(&dyn Backend, [Operand; 2]) -> Result<Storage>;

/// Operations, and for which of the operands they may be written over.
const OPERATIONS: &[(Operation, [bool; 2])] = &[
    (|cpu, [a, _]| cpu.unary(UnaryOp::Exp, a), [true, false]),
    (|cpu, [a, _]| cpu.unary(UnaryOp::Neg, a), [true, false]),
    (|cpu, [a, _]| cpu.unary(UnaryOp::Lgamma, a), [true, false]),
    (
        |cpu, [a, b]| cpu.unary_times(UnaryOp::GeluGrad, a, b),
        [true, true],
    ),
    (
        |cpu, [a, b]| cpu.unary_times(UnaryOp::SigmoidGrad, a, b),
        [true, true],
    ),
    (|cpu, [a, b]| cpu.binary(BinaryOp::Add, a, b), [true, true]),
    (|cpu, [a, b]| cpu.binary(BinaryOp::Sub, a, b), [true, true]),
    (|cpu, [a, b]| cpu.binary(BinaryOp::Div, a, b), [true, true]),
    (|cpu, [a, b]| cpu.binary(BinaryOp::Pow, a, b), [true, true]),
    (
        |cpu, [a, b]| cpu.binary(BinaryOp::Atan2, a, b),
        [true, true],
    ),
    (|cpu, [a, b]| cpu.binary(BinaryOp::Fmod, a, b), [true, true]),
    (
        |cpu, [a, b]| cpu.add_scaled(a, b, Scalar::Float(0.3)),
        [true, true],
    ),
    (
        |cpu, [a, _]| cpu.binary_scalar(BinaryOp::Mul, a, Scalar::Float(0.3)),
        [true, false],
    ),
    (
        |cpu, [a, _]| cpu.binary_scalar(BinaryOp::Pow, a, Scalar::Float(3.0)),
        [true, false],
    ),
    (
        |cpu, [a, _]| cpu.binary_scalar(BinaryOp::Fmod, a, Scalar::Float(0.3)),
        [true, false],
    ),
    (
        |cpu, [a, b]| {
            let within = FillRange::Within((-1.0).into(), 1.0.into());
            cpu.fill_in_range(within, 7.0.into(), a, b)
        },
        [true, true],
    ),
    (
        |cpu, [a, b]| cpu.select(every_third(&a), a, b),
        [true, true],
    ),
    (
        |cpu, [a, _]| cpu.masked_fill(a.clone(), every_third(&a), true, 7.0.into()),
        [false, false],
    ),
    (
        |cpu, [a, _]| {
            let mask = every_third(&a);
            cpu.masked_fill(a, mask, true, 7.0.into())
        },
        [true, false],
    ),
    (
        |cpu, [a, _]| {
            let mask = every_third(&a);
            cpu.masked_fill(a, mask, false, 7.0.into())
        },
        [true, false],
    ),
];

/// A mask of the shape of an operand.
fn every_third(x: &Operand) -> Operand {
    let numel = x.layout.shape().numel();
    let storage = CpuStorage::wrap((0..numel).map(|i| i % 3 == 0).collect::<Vec<_>>());
    let layout = x.layout.clone();
    Operand { storage, layout }
}

/// Numbers of both signs, NaN, infinities and zeros among them, of which the operand has the only handle.
fn operand(dtype: DType, shape: &[usize], seed: usize) -> Operand {
    let layout = Layout::contiguous(Shape::from(shape));
    let number = |i: usize| match (i + seed) % 97 {
        7 => f64::NAN,
        11 => f64::NEG_INFINITY,
        17 => -0.0,
        at => at as f64 / 9.0 - 4.0,
    };
    let numbers = (0..layout.shape().numel()).map(number);
    let storage = match dtype {
        DType::F32 => CpuStorage::wrap(numbers.map(|v| v as f32).collect::<Vec<_>>()),
        _ => CpuStorage::wrap(numbers.collect::<Vec<_>>()),
    };
    Operand { storage, layout }
}

fn bits(storage: &Storage) -> Vec<u64> {
    match storage.dtype() {
        DType::F32 => {
            let values = elements_of::<f32>(storage).unwrap();
            values.iter().map(|v| u64::from(v.to_bits())).collect()
        }
        _ => {
            let values = elements_of::<f64>(storage).unwrap();
            values.iter().map(|v| v.to_bits()).collect()
        }
    }
}

/// The address of the first element.
fn address(storage: &Storage) -> usize {
    match storage.dtype() {
        DType::F32 => elements_of::<f32>(storage).unwrap().as_ptr().addr(),
        _ => elements_of::<f64>(storage).unwrap().as_ptr().addr(),
    }
}

/// Checks that the result is the same whoever holds the operands, and lies in the memory of an operand that only the kernel
/// holds.
fn check(operation: Operation, reuses: [bool; 2], operands: impl Fn() -> [Operand; 2]) {
    let device = Device::cpu();
    let cpu = device.backend();
    let held = operands();
    let before = held.each_ref().map(|x| bits(&x.storage));
    let expected = bits(&operation(cpu, held.clone()).unwrap());
    assert_eq!(held.each_ref().map(|x| bits(&x.storage)), before);
    for given in [[true, false], [false, true], [true, true]] {
        let operands = operands();
        let addresses = operands.each_ref().map(|x| address(&x.storage));
        let also = [0, 1].map(|i| (!given[i]).then(|| operands[i].clone()));
        let out = operation(cpu, operands).unwrap();
        assert_eq!(bits(&out), expected);
        let reused = [0, 1].map(|i| address(&out) == addresses[i]);
        let expected = [given[0] && reuses[0], given[1] && reuses[1]];
        assert_eq!(reused[0] || reused[1], expected[0] || expected[1]);
        for (also, before) in also.iter().zip(&before) {
            assert!(also.as_ref().is_none_or(|x| bits(&x.storage) == *before));
        }
    }
}

#[test]
fn results_replace_what_nobody_else_holds() {
    let lengths: &[usize] = match cfg!(miri) {
        true => &[2048],
        false => &[2048, 2049, 5000, 100_003],
    };
    for threads in [1, 3] {
        set_num_threads(threads);
        for &length in lengths {
            for dtype in [DType::F32, DType::F64] {
                for &(operation, reuses) in OPERATIONS {
                    check(operation, reuses, || {
                        [operand(dtype, &[length], 0), operand(dtype, &[length], 31)]
                    });
                }
            }
        }
    }
}

#[test]
fn lines_are_replaced_whose_numbers_are_repeated() {
    let sizes: &[[usize; 2]] = match cfg!(miri) {
        true => &[[3, 700]],
        false => &[[3, 700], [700, 3], [5, 5000], [300, 64], [1, 4096]],
    };
    let operations: &[(Operation, [bool; 2])] = &[
        (|cpu, [a, b]| cpu.binary(BinaryOp::Mul, a, b), [true, false]),
        (|cpu, [a, b]| cpu.binary(BinaryOp::Div, a, b), [true, false]),
        (|cpu, [a, b]| cpu.binary(BinaryOp::Mul, b, a), [true, false]),
        (|cpu, [a, b]| cpu.binary(BinaryOp::Sub, b, a), [true, false]),
    ];
    for threads in [1, 3] {
        set_num_threads(threads);
        for &[rows, columns] in sizes {
            for &(operation, reuses) in operations {
                check(operation, reuses, || {
                    let mut numbers = operand(DType::F64, &[rows, 1], 31);
                    let shape = Shape::from([rows, columns]);
                    numbers.layout = numbers.layout.broadcast_to("test", &shape).unwrap();
                    [operand(DType::F64, &[rows, columns], 0), numbers]
                });
            }
        }
    }
}
