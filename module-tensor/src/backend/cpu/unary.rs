//! Functions of one element.
//!
//! Which there are, and what they compute, stands in the list of `backend/unary.rs`. A function there is
//! made of:
//!
//! - `formula!(x, |v| …)`, a loop with all the vector instructions that the processor has over steps that are
//!   vector instructions too: arithmetic, comparisons, and the functions of `cpu/vector.rs`, such as
//!   `exp`. Those of the standard library are no such steps: `exp(v)`, not `v.exp()`.
//!   `formula!(x, (a = α, …) |v| …)` computes numbers once in `f64` and rounds them to the type of the elements.
//! - `map1_wide(x, f)`, the same loop over a function that is always inlined.
//! - `map1_within(x, f, most, beyond)`, the same where the magnitude is at most `most`, and `beyond` where it is larger.
//! - `formula!(x, |v| …; is_beyond => beyond)`, a formula for numbers that `is_beyond` refuses, and a function of `f64` for
//!   the others, which are few.
//! - `map1(x, f)`, a loop over a function that is called, or so short that the compiler inlines it.
//! - `call::<T>(x, f)`, for functions that few networks call: one loop for all of them, in `f64`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::dispatch::types;
use super::each::{Input, Steps, map1, map1_steps, map1_unless, map1_wide, map1_within, map2};
use super::float::Float;
use super::map::{single, wide};
use super::number::{Convert, Number};
use super::special::{self, polygamma};
use super::unary_ops;
use super::vector::{double, erfinv, single};
use super::{Element, Operand, Storage, UnaryOp};
use crate::{DType, Result};

pub(super) fn unary(op: UnaryOp, x: &mut Operand) -> Result<Storage> {
    compute(op, x.storage.dtype(), Input::of(x))
}

pub(super) fn unary_times(op: UnaryOp, x: &mut Operand, factor: &mut Operand) -> Result<Storage> {
    match (op, wide(x.storage.dtype())) {
        (UnaryOp::SigmoidGrad, DType::F32) => sigmoid_grad::<f32>(x, factor),
        (UnaryOp::SigmoidGrad, DType::F64) => sigmoid_grad::<f64>(x, factor),
        (UnaryOp::TanhGrad, DType::F32) => tanh_grad::<f32>(x, factor),
        (UnaryOp::TanhGrad, DType::F64) => tanh_grad::<f64>(x, factor),
        _ => compute(op, x.storage.dtype(), Input::of(x).times(factor)),
    }
}

fn sigmoid_grad<T: Float>(y: &mut Operand, grad: &mut Operand) -> Result<Storage> {
    map2(y, grad, |y: T, g: T| g * (y * (T::one() - y)))
}

fn tanh_grad<T: Float>(y: &mut Operand, grad: &mut Operand) -> Result<Storage> {
    map2(y, grad, |y: T, g: T| g * (T::one() - y * y))
}

fn compute(op: UnaryOp, dtype: DType, x: Input<'_>) -> Result<Storage> {
    match op {
        // Integers have these too.
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu => {
            types!(wide(dtype), T => T::unary(op, x);
                F32 f32, F64 f64, I64 i64;
                _other => Err(dtype.error(op.name(), "a tensor of numbers")))
        }
        _ => match single(dtype) {
            DType::F32 => f32::unary(op, x),
            DType::F64 => f64::unary(op, x),
            _ => Err(dtype.error(op.name(), "a floating-point tensor")),
        },
    }
}

/// A type in which functions of one element are computed.
trait Unary: Number {
    fn unary(op: UnaryOp, x: Input<'_>) -> Result<Storage>;
}

impl Unary for i64 {
    fn unary(op: UnaryOp, x: Input<'_>) -> Result<Storage> {
        match op {
            UnaryOp::Neg => map1(x, Self::negate),
            UnaryOp::Abs => map1(x, Self::magnitude),
            UnaryOp::Sign => map1(x, <Self as Number>::signum),
            UnaryOp::Relu => map1(x, |v| if v < 0 { 0 } else { v }),
            _ => Err(Self::DTYPE.error(op.name(), "a floating-point tensor")),
        }
    }
}

/// Whether a number is not positive and finite.
#[inline(always)]
#[allow(clippy::inline_always)]
fn is_not_positive<T: Float>(v: T) -> bool {
    !((v > T::zero()) & (v < T::NEG_INFINITY.negate()))
}

/// A function that is not worth a loop of its own, computed in `f64`.
fn call<T: Float>(x: Input<'_>, f: fn(f64) -> f64) -> Result<Storage> {
    map1(x, move |v: T| T::from_scalar(f(v.to_f64()).into()))
}

/// A function of many steps; a closure of so many is not inlined into its loop, which costs a hundred times
/// more.
macro_rules! formula {
    ($x:ident, |$v:ident| $value:expr) => {{
        #[inline(always)]
        #[allow(clippy::inline_always)]
        fn formula($v: T) -> T {
            $value
        }

        map1_wide($x, formula)
    }};
    ($x:ident, |$v:ident| $value:expr; $is_beyond:expr => $beyond:expr) => {{
        #[derive(Clone, Copy)]
        struct Formula;

        impl Steps<T> for Formula {
            #[inline(always)]
            #[allow(clippy::inline_always)]
            fn of(self, $v: T) -> T {
                $value
            }
        }

        let beyond: fn(f64) -> f64 = $beyond;
        map1_unless($x, Formula, $is_beyond, move |v: T| T::narrowed(beyond(v.to_f64())))
    }};
    ($x:ident, ($($number:ident = $of:expr),*) |$v:ident| $value:expr) => {{
        #[derive(Clone, Copy)]
        struct Numbers {
            $($number: T,)*
        }

        impl Steps<T> for Numbers {
            #[inline(always)]
            #[allow(clippy::inline_always)]
            fn of(self, $v: T) -> T {
                let Self { $($number),* } = self;
                $value
            }
        }

        map1_steps($x, Numbers { $($number: ($of) as T,)* })
    }};
}

/// `2 √(2/π)`
const TWICE_ROOT_OF_2_OVER_PI: f64 = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;

/// Writes the functions of the list for a type of elements.
macro_rules! kernels {
    ($type:ident $vector:ident $x:ident $t:ident; $(
        $(#[$doc:meta])*
        $op:ident $({ $($(#[$about:meta])* $number:ident: $of:ty),* $(,)? })? $name:literal => $kernel:expr;
    )*) => {
        impl Unary for $type {
            fn unary(op: UnaryOp, $x: Input<'_>) -> Result<Storage> {
                use $vector::{
                    MOST_INVERTED, MOST_TURNED, acos, acosh, asin, asinh, atan, atanh, cos, cosh, digamma, erf, erfc, erfinv_within, exp,
                    exp_m1, exp_of_negative, exp2, gelu, gelu_grad, lgamma, ln, ln_1p, log2, log10, sin,
                    sinh, tan, tanh, trigamma,
                };

                type $t = $type;
                // The argument of the exponential in `GeluTanh` is `-(LINEAR x + CUBIC x³)`.
                const LINEAR: $type = TWICE_ROOT_OF_2_OVER_PI as $type;
                const CUBIC: $type = (TWICE_ROOT_OF_2_OVER_PI * 0.044_715) as $type;
                match op {
                    $(UnaryOp::$op $({ $($number),* })? => $kernel,)*
                }
            }
        }
    };
}

unary_ops!(kernels! f32 single);
unary_ops!(kernels! f64 double);
