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
//! - `map1(x, f)`, a loop over a function that is called, or so short that the compiler inlines it.
//! - `call(x, f)`, for functions that few networks call: one loop for all of them, in `f64`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::aligned_vec::AlignedVec;
use super::dispatch::types;
use super::float::Float;
use super::memory::scratch;
use super::number::{Convert, Number};
use super::pieces::{each_through_f32, each_through_wide};
use super::rng::erfinv;
use super::runs::{Steps, map1, map1_steps, map1_wide, map1_within, map2};
use super::special::{digamma, polygamma};
use super::threads::{Items, parallel_for};
use super::unary_ops;
use super::vector::{double, single};
use super::view::to_row_major;
use super::{BinaryOp, CpuStorage, Element, Operand, Storage, UnaryOp, elementwise};
use crate::layout::Layout;
use crate::zip::zip_mut2;
use crate::{DType, Result};

pub(super) fn unary(op: UnaryOp, x: Operand) -> Result<Storage> {
    match op {
        // Integers have these too.
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Relu => {
            each_through_wide([x], &|[x]| {
                types!(x.storage.dtype(), T => Ok(CpuStorage::wrap(T::unary(op, x)?));
                    F32 f32, F64 f64, I64 i64;
                    other => Err(other.error(op.name(), "a tensor of numbers")))
            })
        }
        _ => each_through_f32([x], &|[x]| {
            types!(x.storage.dtype(), T => Ok(CpuStorage::wrap(T::unary(op, x)?));
                F32 f32, F64 f64;
                other => Err(other.error(op.name(), "a floating-point tensor")))
        }),
    }
}

/// The number of elements whose slopes stay in the cache until they are multiplied.
const PIECE: usize = 1 << 12;

pub(super) fn unary_times(op: UnaryOp, x: Operand, factor: Operand) -> Result<Storage> {
    if x.layout.is_contiguous() {
        match x.storage.dtype() {
            DType::F32 => return Ok(CpuStorage::wrap(in_pieces::<f32>(op, &x, &factor)?)),
            DType::F64 => return Ok(CpuStorage::wrap(in_pieces::<f64>(op, &x, &factor)?)),
            _ => {}
        }
    }
    let layout = Layout::contiguous(x.layout.shape().clone());
    let storage = unary(op, x)?;
    each_through_wide([Operand { storage, layout }, factor], &|[slope, factor]| {
        elementwise::binary(BinaryOp::Mul, slope, factor)
    })
}

fn in_pieces<T: Unary + Float>(
    op: UnaryOp,
    x: &Operand,
    factor: &Operand,
) -> Result<AlignedVec<T>> {
    match op {
        UnaryOp::SigmoidGrad => {
            return map2(x, factor, |y: T, g: T| g * (y * (T::one() - y)));
        }
        UnaryOp::TanhGrad => return map2(x, factor, |y: T, g: T| g * (T::one() - y * y)),
        _ => {}
    }
    let numel = x.layout.shape().numel();
    let factors = to_row_major::<T>(factor)?;
    let mut values = scratch(numel)?;
    let (pieces, all) = (numel.div_ceil(PIECE), Items(&mut values, PIECE));
    parallel_for(pieces, 2 * PIECE, all, &|range, out| {
        let starts = (range.start * PIECE..).step_by(PIECE);
        for (start, out) in starts.zip(out.0.chunks_mut(PIECE)) {
            let layout = Layout::contiguous(out.len().into());
            let slopes = T::unary(
                op,
                &Operand {
                    storage: x.storage.clone(),
                    layout: layout.moved(x.layout.offset() + start),
                },
            )?;
            let factors = factors.get(start..).unwrap_or_default();
            for (out, &slope, &factor) in zip_mut2(out, &slopes, factors) {
                *out = factor.times(slope);
            }
        }
        Ok(())
    })?;
    Ok(values)
}

/// A type in which functions of one element are computed.
trait Unary: Number {
    fn unary(op: UnaryOp, x: &Operand) -> Result<AlignedVec<Self>>;
}

impl Unary for i64 {
    fn unary(op: UnaryOp, x: &Operand) -> Result<AlignedVec<Self>> {
        match op {
            UnaryOp::Neg => map1(x, Self::negate),
            UnaryOp::Abs => map1(x, Self::magnitude),
            UnaryOp::Sign => map1(x, Number::signum),
            UnaryOp::Relu => map1(x, |v| if v < 0 { 0 } else { v }),
            _ => Err(Self::DTYPE.error(op.name(), "a floating-point tensor")),
        }
    }
}

/// A function that is not worth a loop of its own, computed in `f64`.
fn call<T: Float>(x: &Operand, f: fn(f64) -> f64) -> Result<AlignedVec<T>> {
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
            fn unary(op: UnaryOp, $x: &Operand) -> Result<AlignedVec<Self>> {
                use $vector::{
                    MOST_TURNED, acos, acosh, asin, asinh, atan, atanh, cos, cosh, erf, erfc, exp,
                    exp_m1, exp_of_negative, exp2, gelu, gelu_grad, ln, ln_1p, log2, log10, sin,
                    sinh, tan, tanh,
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
