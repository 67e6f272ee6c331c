//! Elementwise kernels.

use super::map::{FloatKernel, NumberKernel, dispatch, run_float, run_number};
use super::number::{Float, Number};
use super::view::{map2, update1, update2, view};
use super::{BinaryOp, CompareOp, CpuStorage, Element, Operand, Storage, UnaryOp, room};
use crate::{DType, ErrorKind, Result};

pub(super) fn unary(op: UnaryOp, x: Operand) -> Result<Storage> {
    let dtype = x.storage.dtype();
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu => {
            run_number(dtype, Arithmetic(op, x))
        }
        _ => run_float(dtype, Transcendental(op, x)),
    }
}

struct Arithmetic(UnaryOp, Operand);

impl NumberKernel for Arithmetic {
    const NAME: &'static str = "elementwise arithmetic";
    type Output = Storage;

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x) = self;
        match op {
            UnaryOp::Neg => update1(x, T::negated),
            UnaryOp::Abs => update1(x, T::magnitude),
            UnaryOp::Sign => update1(x, T::signum),
            // Only what is below zero is replaced: -0.0 and NaN stay, as in PyTorch.
            _ => update1(x, |v: T| if v < T::zero() { T::zero() } else { v }),
        }
    }
}

struct Transcendental(UnaryOp, Operand);

impl FloatKernel for Transcendental {
    const NAME: &'static str = "elementwise function";
    type Output = Storage;

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(op, x) = self;
        match op {
            UnaryOp::Exp => update1(x, T::exp),
            UnaryOp::Log => update1(x, T::ln),
            UnaryOp::Sqrt => update1(x, T::sqrt),
            UnaryOp::Reciprocal => update1(x, T::recip),
            UnaryOp::Tanh => update1(x, T::tanh),
            UnaryOp::Sigmoid => update1(x, T::sigmoid),
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu => {
                Arithmetic(op, x).run::<T>()
            }
        }
    }
}

pub(super) fn binary(op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
    run_number(a.storage.dtype(), Binary(op, a, b))
}

struct Binary(BinaryOp, Operand, Operand);

impl NumberKernel for Binary {
    const NAME: &'static str = "elementwise arithmetic";
    type Output = Storage;

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, a, b) = self;
        match op {
            BinaryOp::Add => update2(a, &b, T::plus),
            BinaryOp::Sub => update2(a, &b, T::minus),
            BinaryOp::Mul => update2(a, &b, T::times),
            BinaryOp::Div => {
                if !T::DTYPE.is_floating_point() {
                    let needs = "a floating-point tensor; cast with `to_dtype`";
                    return Err(ErrorKind::UnsupportedDType {
                        op: "div",
                        dtype: T::DTYPE,
                        needs,
                    }
                    .into());
                }
                update2(a, &b, |a: T, b| a.over(b).unwrap_or(a))
            }
            BinaryOp::Pow => update2(a, &b, T::power),
            BinaryOp::Maximum => {
                update2(a, &b, |a: T, b| if b.is_nan() { b } else { a.greater(b) })
            }
            BinaryOp::Minimum => {
                update2(a, &b, |a: T, b| if b.is_nan() { b } else { a.smaller(b) })
            }
        }
    }
}

pub(super) fn compare(op: CompareOp, a: &Operand, b: &Operand) -> Result<Storage> {
    dispatch!(a.storage.dtype(), T => compare_as::<T>(op, a, b))
}

fn compare_as<T: Element + PartialOrd>(op: CompareOp, a: &Operand, b: &Operand) -> Result<Storage> {
    Ok(CpuStorage::wrap(match op {
        CompareOp::Eq => map2(a, b, |a: T, b: T| a == b),
        CompareOp::Ne => map2(a, b, |a: T, b: T| a != b),
        CompareOp::Lt => map2(a, b, |a: T, b: T| a < b),
        CompareOp::Le => map2(a, b, |a: T, b: T| a <= b),
        CompareOp::Gt => map2(a, b, |a: T, b: T| a > b),
        CompareOp::Ge => map2(a, b, |a: T, b: T| a >= b),
    }?))
}

pub(super) fn select<T: Element>(condition: &Operand, a: &Operand, b: &Operand) -> Result<Storage> {
    if condition.storage.dtype() != DType::Bool {
        let dtype = condition.storage.dtype();
        return Err(ErrorKind::UnsupportedDType {
            op: "where",
            dtype,
            needs: "a bool condition",
        }
        .into());
    }
    let (condition, a, b) = (view::<bool>(condition)?, view::<T>(a)?, view::<T>(b)?);
    room::<T>(a.len())?;
    let mut values = Vec::with_capacity(a.len());
    // All three views have one shape, whose row-major order `iter` follows.
    for ((&condition, &a), &b) in condition.iter().zip(a.iter()).zip(b.iter()) {
        values.push(if condition { a } else { b });
    }
    Ok(CpuStorage::wrap(values))
}
