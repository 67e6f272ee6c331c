//! Elementwise kernels.

use super::division;
use super::each::{
    Input, Steps, lines_and_numbers, map1, map1_steps, map1_wide, map1_with, map2, map2_or_number,
    map2_steps, map2_wide, test1, test2,
};
use super::float::Float;
use super::half_pairs::half_pairs;
use super::lanes::update;
use super::map::{NumberKernel, run_number, wide};
use super::number::Number;
use super::repeated::are_lines_and_numbers;
use super::short_lines::{pairs_in_lines, short_lines};
use super::threads::{Items, parallel_for};
use super::vector::{double, single};
use super::view::{owned, slice};
use super::{BinaryOp, CompareOp, CpuStorage, FillRange, Operand, Storage};
use crate::{DType, Result, Scalar};

pub(super) fn binary(op: BinaryOp, a: &mut Operand, b: &mut Operand) -> Result<Storage> {
    let dtype = wide(a.storage.dtype());
    if a.storage.dtype() == DType::F32
        && matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul)
        && let Some([a, b]) = short_lines(a, b, op != BinaryOp::Sub)
    {
        return pairs_in_short_lines(op, a, b);
    }
    if matches!(a.storage.dtype(), DType::F16 | DType::BF16)
        && let Some(result) = half_pairs(op, a, b)?
    {
        return Ok(result);
    }
    match (op, dtype) {
        (BinaryOp::Pow, DType::F32) => map2_steps::<f32>(a, b, Power),
        (BinaryOp::Pow, DType::F64) => map2_steps::<f64>(a, b, Power),
        (BinaryOp::Remainder | BinaryOp::Fmod | BinaryOp::FloorDivide, DType::F32) => {
            division::divide(op, a, b)
        }
        (BinaryOp::Hypot, DType::F32) => map2_wide(a, b, single::hypot),
        (BinaryOp::Hypot, DType::F64) => map2_wide(a, b, double::hypot),
        (BinaryOp::Atan2, DType::F32) => map2_wide(a, b, single::atan2),
        // The loop over lines has the number on the right.
        (BinaryOp::Add | BinaryOp::Mul, _) if is_number_and_lines(a, b) => {
            run_number(dtype, Binary(op, Pair(b, a)))
        }
        // Half precision is widened first, which the loops over pairs do.
        (BinaryOp::Sub | BinaryOp::Div, DType::F32 | DType::F64)
            if is_number_and_lines(a, b) && b.storage.dtype() == dtype =>
        {
            match dtype {
                DType::F32 => number_and_lines::<f32>(op, a, b),
                _ => number_and_lines::<f64>(op, a, b),
            }
        }
        _ => run_number(dtype, Binary(op, Pair(a, b))),
    }
}

/// The most common operations on parts of rows, in the most common dtype.
fn pairs_in_short_lines(op: BinaryOp, a: &Operand, b: &Operand) -> Result<Storage> {
    Ok(CpuStorage::wrap(match op {
        BinaryOp::Add => pairs_in_lines(a, b, |x: f32, y| x + y),
        BinaryOp::Sub => pairs_in_lines(a, b, |x: f32, y| x - y),
        _ => pairs_in_lines(a, b, |x: f32, y| x * y),
    }?))
}

fn is_number_and_lines(a: &Operand, b: &Operand) -> bool {
    are_lines_and_numbers(&b.layout, &a.layout)
}

pub(super) fn binary_scalar(op: BinaryOp, x: &mut Operand, number: Scalar) -> Result<Storage> {
    let dtype = wide(x.storage.dtype());
    match (op, dtype) {
        (BinaryOp::Pow, DType::F32) => power::<f32>(x, number),
        (BinaryOp::Pow, DType::F64) => power::<f64>(x, number),
        (BinaryOp::Remainder | BinaryOp::Fmod | BinaryOp::FloorDivide, DType::F32) => {
            division::divide_by(op, x, number)
        }
        _ => run_number(dtype, Binary(op, WithNumber(x, number))),
    }
}

/// A power of floating-point numbers. Common exponents cost no logarithm, and those of ½ have the values of roots, as in
/// PyTorch, which shows at infinities.
fn power<T: Float>(x: &mut Operand, exponent: Scalar) -> Result<Storage>
where
    Exponent<T>: Steps<T>,
{
    let exponent = T::from_scalar(exponent);
    let x = Input::of(x);
    match exponent.to_f64() {
        1.0 => map1(x, |v: T| v),
        2.0 => map1(x, |v: T| v * v),
        3.0 => map1(x, |v: T| v * v * v),
        0.5 => map1_wide(x, |v: T| v.sqrt()),
        -0.5 => map1_wide(x, |v: T| v.sqrt().recip()),
        -1.0 => map1_wide(x, |v: T| v.recip()),
        -2.0 => map1_wide(x, |v: T| (v * v).recip()),
        _ => map1_steps(x, Exponent(exponent)),
    }
}

#[derive(Clone, Copy)]
struct Exponent<T>(T);

#[derive(Clone, Copy)]
struct Power;

macro_rules! powers {
    ($($type:ty: $vector:ident;)*) => {$(
        #[allow(clippy::inline_always)]
        impl Steps<($type, $type), $type> for Power {
            #[inline(always)]
            fn of(self, (base, exponent): ($type, $type)) -> $type {
                $vector::pow(base, exponent)
            }
        }

        #[allow(clippy::inline_always)]
        impl Steps<$type> for Exponent<$type> {
            #[inline(always)]
            fn of(self, base: $type) -> $type {
                $vector::pow(base, self.0)
            }
        }
    )*};
}

powers! {
    f32: single;
    f64: double;
}

/// The operands of a binary operation.
trait Operands: Sized {
    fn each<T: Number>(self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Storage>;

    /// The same with all the vector instructions that the processor has.
    fn each_wide<T: Number>(self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Storage>;
}

struct Pair<'a>(&'a mut Operand, &'a mut Operand);

impl Operands for Pair<'_> {
    fn each<T: Number>(self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Storage> {
        map2(self.0, self.1, f)
    }

    fn each_wide<T: Number>(self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Storage> {
        map2_or_number(self.0, self.1, f)
    }
}

struct WithNumber<'a>(&'a mut Operand, Scalar);

impl Operands for WithNumber<'_> {
    fn each<T: Number>(self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Storage> {
        let number = T::from_scalar(self.1);
        map1(Input::of(self.0), move |v| f(v, number))
    }

    fn each_wide<T: Number>(self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Storage> {
        map1_with(self.0, T::from_scalar(self.1), f)
    }
}

struct Binary<O>(BinaryOp, O);

impl<O: Operands> NumberKernel for Binary<O> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, operands) = self;
        let floating = matches!(
            op,
            BinaryOp::Div
                | BinaryOp::Atan2
                | BinaryOp::Hypot
                | BinaryOp::Copysign
                | BinaryOp::Prelu
        );
        if floating && !T::DTYPE.is_floating_point() {
            let needs = "a floating-point tensor; cast with `to_dtype`";
            return Err(T::DTYPE.error(op.name(), needs));
        }
        match op {
            BinaryOp::Add => operands.each_wide(T::plus),
            BinaryOp::Sub => operands.each_wide(T::minus),
            BinaryOp::Mul => operands.each_wide(T::times),
            BinaryOp::Div => operands.each_wide(quotient::<T>),
            BinaryOp::Pow => operands.each(T::power),
            BinaryOp::Maximum => operands.each_wide(T::greater),
            BinaryOp::Minimum => operands.each_wide(T::smaller),
            BinaryOp::Remainder => operands.each_wide(T::remainder),
            // Behind a pointer, so that they are one loop to compile.
            BinaryOp::FloorDivide => operands.each(T::floor_divided as fn(T, T) -> T),
            BinaryOp::Fmod => operands.each(T::fmod as fn(T, T) -> T),
            BinaryOp::Atan2 => operands.each(T::atan2 as fn(T, T) -> T),
            BinaryOp::Hypot => operands.each(T::hypot as fn(T, T) -> T),
            BinaryOp::Copysign => operands.each_wide(T::copysign),
            BinaryOp::Prelu => {
                operands.each_wide(|a: T, slope| if a > T::zero() { a } else { a.times(slope) })
            }
        }
    }
}

/// The difference or the quotient of a number and each element of its line.
fn number_and_lines<T: Float>(
    op: BinaryOp,
    numbers: &Operand,
    lines: &mut Operand,
) -> Result<Storage> {
    match op {
        BinaryOp::Sub => lines_and_numbers(lines, numbers, |x: T, number| number.minus(x)),
        _ => lines_and_numbers(lines, numbers, |x: T, number| quotient(number, x)),
    }
}

/// A function, so that pairs and numbers have the same loops.
#[inline(always)]
#[allow(clippy::inline_always)]
fn quotient<T: Number>(a: T, b: T) -> T {
    a.over(b).unwrap_or(a)
}

pub(super) fn fill_in_range(
    region: FillRange,
    value: Scalar,
    x: &mut Operand,
    other: &mut Operand,
) -> Result<Storage> {
    run_number(wide(x.storage.dtype()), Flat(region, value, x, other))
}

struct Flat<'a>(FillRange, Scalar, &'a mut Operand, &'a mut Operand);

impl NumberKernel for Flat<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "fill_in_range"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(region, value, x, other) = self;
        let value = T::from_scalar(value);
        let bounds = |low, high| [T::from_scalar(low), T::from_scalar(high)];
        // `&` and `|` compute both sides, where `&&` and `||` would branch for each element.
        match region {
            FillRange::Within(low, high) => {
                let [low, high] = bounds(low, high);
                map2_wide(
                    x,
                    other,
                    move |x: T, v: T| if (x >= low) & (x <= high) { value } else { v },
                )
            }
            FillRange::Outside(low, high) => {
                let [low, high] = bounds(low, high);
                map2_wide(
                    x,
                    other,
                    move |x: T, v: T| if (x <= low) | (x >= high) { value } else { v },
                )
            }
            FillRange::NotBetween(low, high) => {
                let [low, high] = bounds(low, high);
                map2_wide(
                    x,
                    other,
                    move |x: T, v: T| if (x > low) & (x < high) { v } else { value },
                )
            }
        }
    }
}

pub(super) fn add_scaled(a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
    run_number(wide(a.storage.dtype()), AddScaled(a, b, alpha))
}

struct AddScaled(Operand, Operand, Scalar);

impl NumberKernel for AddScaled {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "add_scaled"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(mut a, mut b, alpha) = self;
        let alpha = T::from_scalar(alpha);
        let sum = |a: T, b: T| a.plus(alpha.times(b));
        // Gradients that accumulate: a loop of their own, which copies nothing.
        if b.storage.dtype() == T::DTYPE
            && let (Some(b), Some(out)) = (slice::<T>(&b)?, owned::<T>(&mut a))
        {
            parallel_for(b.len(), 1, Items(out, 1), &|range, out| {
                update(out.0, &b[range], sum);
                Ok(())
            })?;
            return Ok(a.storage);
        }
        map2(&mut a, &mut b, sum)
    }
}

pub(super) fn compare(op: CompareOp, a: &Operand, b: &Operand) -> Result<Storage> {
    // Read from the other side, so that there are fewer loops to compile.
    let (op, a, b) = match op {
        CompareOp::Gt => (CompareOp::Lt, b, a),
        CompareOp::Ge => (CompareOp::Le, b, a),
        _ => (op, a, b),
    };
    run_number(wide(a.storage.dtype()), Compare(op, a, b))
}

struct Compare<'a>(CompareOp, &'a Operand, &'a Operand);

impl NumberKernel for Compare<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "comparison"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, a, b) = self;
        match op {
            CompareOp::Eq => test2(a, b, |a: T, b: T| a == b),
            CompareOp::Ne => test2(a, b, |a: T, b: T| a != b),
            CompareOp::Lt | CompareOp::Gt => test2(a, b, |a: T, b: T| a < b),
            CompareOp::Le | CompareOp::Ge => test2(a, b, |a: T, b: T| a <= b),
        }
    }
}

pub(super) fn compare_scalar(op: CompareOp, x: &Operand, number: Scalar) -> Result<Storage> {
    run_number(wide(x.storage.dtype()), CompareScalar(op, x, number))
}

struct CompareScalar<'a>(CompareOp, &'a Operand, Scalar);

impl NumberKernel for CompareScalar<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "comparison"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x, number) = self;
        let number = T::from_scalar(number);
        match op {
            CompareOp::Eq => test1(x, move |v: T| v == number),
            CompareOp::Ne => test1(x, move |v: T| v != number),
            CompareOp::Lt => test1(x, move |v: T| v < number),
            CompareOp::Le => test1(x, move |v: T| v <= number),
            CompareOp::Gt => test1(x, move |v: T| v > number),
            CompareOp::Ge => test1(x, move |v: T| v >= number),
        }
    }
}
