//! Elementwise kernels.

use super::float::Float;
use super::lanes::update;
use super::map::{
    FloatKernel, NumberKernel, run_float, run_number, through_f32, through_wide, widened,
};
use super::number::Number;
use super::special;
use super::threads::{Items, parallel_for};
use super::view::{Branch, Steps, choose, map1, map1_steps, map1_wide, map2, owned, slice};
use super::{BinaryOp, CompareOp, CpuStorage, Element, FillRange, Operand, Storage, UnaryOp};
use crate::{DType, Result, Scalar};

pub(super) fn unary(op: UnaryOp, x: Operand) -> Result<Storage> {
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu => {
            through_wide([x], |[x]| run_number(x.storage.dtype(), Arithmetic(op, x)))
        }
        _ => through_f32([x], |[x]| {
            run_float(x.storage.dtype(), Transcendental(op, x))
        }),
    }
}

struct Arithmetic(UnaryOp, Operand);

impl NumberKernel for Arithmetic {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x) = self;
        Ok(CpuStorage::wrap(match op {
            UnaryOp::Neg => map1(&x, T::negate),
            UnaryOp::Abs => map1(&x, T::magnitude),
            UnaryOp::Sign => map1(&x, T::signum),
            // Only what is below zero is replaced: -0.0 and NaN stay, as in PyTorch.
            _ => map1(&x, |v: T| if v < T::zero() { T::zero() } else { v }),
        }?))
    }
}

struct Transcendental(UnaryOp, Operand);

impl FloatKernel for Transcendental {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(op, x) = self;
        let number = |value: f64| T::from_scalar(value.into());
        Ok(CpuStorage::wrap(match op {
            UnaryOp::Exp => map1_wide(&x, T::exp),
            UnaryOp::Log => map1_wide(&x, T::ln),
            UnaryOp::Sqrt => map1_wide(&x, T::sqrt),
            UnaryOp::Reciprocal => map1_wide(&x, T::recip),
            UnaryOp::Rsqrt => map1_wide(&x, T::rsqrt),
            UnaryOp::Log1p => map1(&x, T::log1p),
            UnaryOp::Expm1 => map1(&x, T::expm1),
            UnaryOp::Erf => map1_wide(&x, T::erf),
            UnaryOp::Sin => map1(&x, T::sin),
            UnaryOp::Cos => map1(&x, T::cos),
            UnaryOp::Tan => call(&x, f64::tan),
            UnaryOp::Asin => call(&x, f64::asin),
            UnaryOp::Acos => call(&x, f64::acos),
            UnaryOp::Atan => call(&x, f64::atan),
            UnaryOp::Sinh => call(&x, f64::sinh),
            UnaryOp::Cosh => call(&x, f64::cosh),
            UnaryOp::Asinh => call(&x, libm::asinh),
            UnaryOp::Acosh => call(&x, libm::acosh),
            UnaryOp::Atanh => call(&x, libm::atanh),
            UnaryOp::Log2 => call(&x, f64::log2),
            UnaryOp::Log10 => call(&x, f64::log10),
            UnaryOp::Exp2 => call(&x, f64::exp2),
            UnaryOp::Trunc => call(&x, f64::trunc),
            UnaryOp::Erfinv => call(&x, super::rng::erfinv),
            UnaryOp::Lgamma => call(&x, libm::lgamma),
            UnaryOp::Polygamma { order: 0 } => call(&x, special::digamma),
            UnaryOp::Polygamma { order } => map1(&x, move |v: T| {
                number(special::polygamma(order, v.to_f64()))
            }),
            UnaryOp::Floor => map1_wide(&x, T::floor),
            UnaryOp::Ceil => map1_wide(&x, T::ceil),
            UnaryOp::Round => map1_wide(&x, T::round),
            UnaryOp::Tanh => map1_wide(&x, T::tanh),
            UnaryOp::Sigmoid => map1_wide(&x, T::sigmoid),
            UnaryOp::Gelu => map1_wide(&x, T::gelu),
            UnaryOp::GeluTanh => map1_wide(&x, T::gelu_tanh),
            UnaryOp::Silu => map1_wide(&x, T::silu),
            UnaryOp::GeluGrad => map1_wide(&x, T::gelu_grad),
            UnaryOp::GeluTanhGrad => map1_wide(&x, T::gelu_tanh_grad),
            UnaryOp::SiluGrad => map1_wide(&x, T::silu_grad),
            UnaryOp::Mish => map1_wide(&x, T::mish),
            UnaryOp::MishGrad => map1_wide(&x, T::mish_grad),
            UnaryOp::Hardswish => map1_wide(&x, T::hardswish),
            UnaryOp::HardswishGrad => map1_wide(&x, T::hardswish_grad),
            UnaryOp::Hardsigmoid => map1_wide(&x, T::hardsigmoid),
            UnaryOp::Clamp { low, high } => {
                let bounds = [low, high].map(number);
                map1_wide(&x, move |v: T| v.clamped(bounds))
            }
            UnaryOp::Softplus { beta, threshold } => {
                map1_steps(&x, Softplus([beta, threshold].map(number)))
            }
            UnaryOp::LeakyRelu { negative_slope } => {
                let slope = number(negative_slope);
                map1_wide(&x, move |v: T| v.leaky_relu(slope))
            }
            UnaryOp::Elu {
                alpha,
                scale,
                input_scale,
            } => {
                let scales = [alpha * scale, scale, input_scale].map(number);
                map1_steps(&x, Elu(scales))
            }
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu => {
                return Arithmetic(op, x).run::<T>();
            }
        }?))
    }
}

/// A function that is not worth a loop of its own, computed in `f64`.
fn call<T: Float>(x: &Operand, f: fn(f64) -> f64) -> Result<Vec<T>> {
    map1(x, move |v: T| T::from_scalar(f(v.to_f64()).into()))
}

/// `β` and the threshold.
#[derive(Clone, Copy)]
struct Softplus<T>([T; 2]);

impl<T: Float> Steps<T> for Softplus<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn of(self, v: T) -> T {
        v.softplus(self.0)
    }
}

/// `λ α`, `λ` and `β`.
#[derive(Clone, Copy)]
struct Elu<T>([T; 3]);

impl<T: Float> Steps<T> for Elu<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn of(self, v: T) -> T {
        v.elu(self.0)
    }
}

pub(super) fn binary(op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
    run_number(a.storage.dtype(), Binary(op, Pair(&a, &b)))
}

pub(super) fn binary_scalar(op: BinaryOp, x: Operand, number: Scalar) -> Result<Storage> {
    run_number(x.storage.dtype(), Binary(op, WithNumber(&x, number)))
}

/// What a binary operation is applied to.
trait Operands {
    fn each<T: Number>(&self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Vec<T>>;
}

struct Pair<'a>(&'a Operand, &'a Operand);

impl Operands for Pair<'_> {
    fn each<T: Number>(&self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Vec<T>> {
        map2(self.0, self.1, f)
    }
}

struct WithNumber<'a>(&'a Operand, Scalar);

impl Operands for WithNumber<'_> {
    fn each<T: Number>(&self, f: impl Fn(T, T) -> T + Copy + Sync) -> Result<Vec<T>> {
        let number = T::from_scalar(self.1);
        map1(self.0, move |v| f(v, number))
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
            BinaryOp::Div | BinaryOp::Atan2 | BinaryOp::Hypot | BinaryOp::Copysign
        );
        if floating && !T::DTYPE.is_floating_point() {
            let needs = "a floating-point tensor; cast with `to_dtype`";
            return Err(T::DTYPE.error(op.name(), needs));
        }
        Ok(CpuStorage::wrap(match op {
            BinaryOp::Add => operands.each(T::plus),
            BinaryOp::Sub => operands.each(T::minus),
            BinaryOp::Mul => operands.each(T::times),
            BinaryOp::Div => operands.each(|a: T, b: T| a.over(b).unwrap_or(a)),
            BinaryOp::Pow => operands.each(T::power),
            BinaryOp::Maximum => {
                operands.each(|a: T, b: T| if b.is_nan() { b } else { a.greater(b) })
            }
            BinaryOp::Minimum => {
                operands.each(|a: T, b: T| if b.is_nan() { b } else { a.smaller(b) })
            }
            // Behind a pointer, so that they are one loop to compile.
            BinaryOp::FloorDivide => operands.each(T::floor_divided as fn(T, T) -> T),
            BinaryOp::Remainder => operands.each(T::remainder as fn(T, T) -> T),
            BinaryOp::Fmod => operands.each(T::fmod as fn(T, T) -> T),
            BinaryOp::Atan2 => operands.each(T::atan2 as fn(T, T) -> T),
            BinaryOp::Hypot => operands.each(T::hypot as fn(T, T) -> T),
            BinaryOp::Copysign => operands.each(T::copysign as fn(T, T) -> T),
        }?))
    }
}

pub(super) fn fill_in_range(
    region: FillRange,
    value: Scalar,
    x: &Operand,
    other: &Operand,
) -> Result<Storage> {
    run_number(x.storage.dtype(), Flat(region, value, x, other))
}

struct Flat<'a>(FillRange, Scalar, &'a Operand, &'a Operand);

impl NumberKernel for Flat<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "flat"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(region, value, x, other) = self;
        let value = T::from_scalar(value);
        let bounds = |low, high| [T::from_scalar(low), T::from_scalar(high)];
        // `&` and `|` compute both sides, where `&&` and `||` would branch for each element.
        Ok(CpuStorage::wrap(match region {
            FillRange::Within(low, high) => {
                let [low, high] = bounds(low, high);
                map2(
                    x,
                    other,
                    move |x: T, v: T| if (x >= low) & (x <= high) { value } else { v },
                )
            }
            FillRange::Outside(low, high) => {
                let [low, high] = bounds(low, high);
                map2(
                    x,
                    other,
                    move |x: T, v: T| if (x <= low) | (x >= high) { value } else { v },
                )
            }
            FillRange::NotBetween(low, high) => {
                let [low, high] = bounds(low, high);
                map2(
                    x,
                    other,
                    move |x: T, v: T| if (x > low) & (x < high) { v } else { value },
                )
            }
        }?))
    }
}

pub(super) fn add_scaled(a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
    run_number(a.storage.dtype(), AddScaled(a, b, alpha))
}

struct AddScaled(Operand, Operand, Scalar);

impl NumberKernel for AddScaled {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "add_scaled"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(mut a, b, alpha) = self;
        let alpha = T::from_scalar(alpha);
        let sum = |a: T, b: T| a.plus(alpha.times(b));
        if let (Some(b), Some(out)) = (slice::<T>(&b)?, owned::<T>(&mut a)) {
            parallel_for(b.len(), 1, Items(out, 1), &|range, out| {
                update(out.0, &b[range], sum);
                Ok(())
            })?;
            return Ok(a.storage);
        }
        Ok(CpuStorage::wrap(map2(&a, &b, sum)?))
    }
}

pub(super) fn compare(op: CompareOp, a: &Operand, b: &Operand) -> Result<Storage> {
    // Read from the other side, so that there are fewer loops to compile.
    let (op, a, b) = match op {
        CompareOp::Gt => (CompareOp::Lt, b, a),
        CompareOp::Ge => (CompareOp::Le, b, a),
        _ => (op, a, b),
    };
    let (a, b) = (widened(a)?, widened(b)?);
    run_number(a.storage.dtype(), Compare(op, &a, &b))
}

struct Compare<'a>(CompareOp, &'a Operand, &'a Operand);

impl NumberKernel for Compare<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "comparison"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, a, b) = self;
        Ok(CpuStorage::wrap(match op {
            CompareOp::Eq => map2(a, b, |a: T, b: T| a == b),
            CompareOp::Ne => map2(a, b, |a: T, b: T| a != b),
            CompareOp::Lt | CompareOp::Gt => map2(a, b, |a: T, b: T| a < b),
            CompareOp::Le | CompareOp::Ge => map2(a, b, |a: T, b: T| a <= b),
        }?))
    }
}

pub(super) fn compare_scalar(op: CompareOp, x: &Operand, number: Scalar) -> Result<Storage> {
    let x = widened(x)?;
    run_number(x.storage.dtype(), CompareScalar(op, &x, number))
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
        Ok(CpuStorage::wrap(match op {
            CompareOp::Eq => map1(x, move |v: T| v == number),
            CompareOp::Ne => map1(x, move |v: T| v != number),
            CompareOp::Lt => map1(x, move |v: T| v < number),
            CompareOp::Le => map1(x, move |v: T| v <= number),
            CompareOp::Gt => map1(x, move |v: T| v > number),
            CompareOp::Ge => map1(x, move |v: T| v >= number),
        }?))
    }
}

pub(super) fn select<T: Element>(
    condition: &Operand,
    a: Branch<'_, T>,
    b: Branch<'_, T>,
) -> Result<Storage> {
    if condition.storage.dtype() != DType::Bool {
        let dtype = condition.storage.dtype();
        return Err(dtype.error("where", "a bool condition"));
    }
    Ok(CpuStorage::wrap(choose::<T>(condition, a, b)?))
}
