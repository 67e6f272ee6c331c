//! Runs loops with the vector instructions that the processor has.
//!
//! A loop is compiled once for each level, and the program detects the level when it runs, because
//! programs are built for the oldest processor. No level changes a result: the compiler neither fuses
//! a product with a sum nor adds in another order, and what is written fused is fused at every level. The exception are
//! loops of multiply-adds (depthwise convolutions, the tiles of products): without an instruction for them they round
//! twice; and products of `bf16`, which are added in another order by an instruction for pairs.
//!
//! Where a loop replaces some elements and keeps others, the compiler writes only the former, by masked stores. With AVX2 these take
//! over ten times as long as whole ones on processors of AMD, so such loops join two elements with each that is there: what is
//! kept is then no longer what was just read.
//!
//! The `unsafe` here is the call of a function that is compiled for a level: it needs a
//! processor that has the instructions, which was checked just before.
#![allow(unsafe_code)]

use std::sync::OnceLock;

/// Calls a macro for each type of number in registers of AVX-512: the type, its numbers in a register, the names of three
/// functions, the register, and the intrinsics that make one of zeros and one of equal numbers, multiply and add, and add.
macro_rules! avx512_numbers {
    ($make:ident) => {
        $make!(
            f32,
            16,
            tile_f32,
            few_rows_f32,
            sums_f32,
            __m512,
            _mm512_setzero_ps,
            _mm512_set1_ps,
            _mm512_fmadd_ps,
            _mm512_add_ps
        );
        $make!(
            f64,
            8,
            tile_f64,
            few_rows_f64,
            sums_f64,
            __m512d,
            _mm512_setzero_pd,
            _mm512_set1_pd,
            _mm512_fmadd_pd,
            _mm512_add_pd
        );
    };
}

mod bf16_tile;
mod coded_blocks;
mod half;
mod int8_dot;
mod line_tile;
mod matrix_unit;
mod plane_tile;
mod prefetch;
#[cfg(test)]
mod tests;
mod tile;
mod tile_loop;
mod transpose;
mod window_product;
mod window_rows;
mod window_tile;

pub(crate) use bf16_tile::{Bf16Dot, COLUMNS as BF16_TILE_COLUMNS, Pair, ROWS as BF16_TILE_ROWS};
pub use coded_blocks::CodeTables;
pub(crate) use coded_blocks::{
    BYTES as CODED_BYTES, CodedBlocks, Inputs as CodedInputs, has_loop as has_loop_of_blocks,
};
pub(crate) use half::{F16Slices, HalfOp, convert_f16, f16_dots};
pub(crate) use int8_dot::{MOST as MOST_INT8, int8_dots};
pub(crate) use line_tile::LineTile;
pub(crate) use matrix_unit::{
    COLUMNS as MATRIX_UNIT_COLUMNS, MatrixUnit, PairRows, ROWS as MATRIX_UNIT_ROWS,
    STEPS as MATRIX_UNIT_STEPS,
};
pub(crate) use plane_tile::{PlaneProduct, PlaneTile, ROWS as PLANE_TILE_ROWS};
pub(crate) use prefetch::prefetch;
pub(crate) use tile::{HighTile, PANEL};
pub(crate) use tile_loop::{ROWS as HIGH_TILE_ROWS, STEPS as PACKED_STEPS, Strip, TileRows};
pub(crate) use transpose::Transpose;
pub(crate) use window_product::{Padding, Tap, WindowProduct, padded_columns};
pub(crate) use window_tile::WindowTile;

/// A loop to be compiled for each level; `run` is inlined, as must be all that it calls in the loop.
pub(crate) trait Loop {
    /// Whether it is compiled for AVX-512 too.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const HAS_AVX512: bool = true;

    type Output;

    fn run(self) -> Self::Output;
}

/// The environment variable that lowers the level.
const VARIABLE: &str = "MODULE_CPU_CAPABILITY";

/// The vector instructions that the CPU's kernels use: `avx512`, `avx2` or, for what every processor has, `default`.
///
/// They are the highest that the processor has, unless the environment variable `MODULE_CPU_CAPABILITY` names lower
/// ones when the program first asks.
///
/// # Example
///
/// ```
/// let capability = module_tensor::cpu_capability();
/// assert!(["avx512", "avx2", "default"].contains(&capability));
/// ```
pub fn cpu_capability() -> &'static str {
    Level::highest().name()
}

/// A set of vector instructions that was detected on this processor; only detection makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The instructions of every processor of the target.
    Baseline,
}

/// A loop that is written differently for each level, because it counts registers.
pub(crate) trait Leveled {
    type Output;

    /// 32 registers of 64 bytes.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    fn run_avx512(self) -> Self::Output;
    /// 16 registers of 32 bytes.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    fn run_avx2(self) -> Self::Output;
    /// 16 registers of 16 bytes, at least.
    fn run_baseline(self) -> Self::Output;
}

/// A value for each level, such as a count of registers, that a [`Leveled`] loop depends on.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) struct PerLevel<T> {
    pub(crate) avx512: T,
    pub(crate) avx2: T,
    pub(crate) baseline: T,
}

impl Level {
    /// The highest that the processor has, or a lower one that the environment variable [`VARIABLE`] names.
    #[inline]
    pub(crate) fn highest() -> Self {
        static HIGHEST: OnceLock<Level> = OnceLock::new();
        *HIGHEST.get_or_init(|| {
            let all = Self::all();
            let highest = all.first().copied().unwrap_or(Self(Instructions::Baseline));
            let Ok(wanted) = std::env::var(VARIABLE) else {
                return highest;
            };
            let named = all.iter().copied().find(|level| level.name() == wanted);
            named.unwrap_or_else(|| {
                let names: Vec<_> = all.iter().map(|level| level.name()).collect();
                let (all, used) = (names.join("`, `"), highest.name());
                eprintln!("{VARIABLE}={wanted} is not one of `{all}`; `{used}` is used");
                highest
            })
        })
    }

    /// All that the processor has, the highest first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let has_fma = is_x86_feature_detected!("fma");
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && has_fma
            {
                all.push(Self(Instructions::Avx512));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") && has_fma {
                all.push(Self(Instructions::Avx2));
            }
        }
        all.push(Self(Instructions::Baseline));
        all
    }

    /// Its name in [`VARIABLE`].
    pub(crate) fn name(self) -> &'static str {
        self.pick(PerLevel {
            avx512: "avx512",
            avx2: "avx2",
            baseline: "default",
        })
    }

    /// The value for this level.
    pub(crate) fn pick<T>(self, values: PerLevel<T>) -> T {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => values.avx512,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => values.avx2,
            Instructions::Baseline => values.baseline,
        }
    }

    /// Runs the loop that is written for this level.
    pub(crate) fn run<L: Leveled>(self, work: L) -> L::Output {
        match self.0 {
            // SAFETY: a level is only made where the processor has what the function was compiled for.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { leveled_avx512(work) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { leveled_avx2(work) },
            Instructions::Baseline => work.run_baseline(),
        }
    }
}

/// Whether every processor of the target has an instruction for `a * b + c`.
pub(crate) const BASELINE_HAS_FMA: bool =
    cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// Runs the loop at the highest level.
#[inline]
pub(crate) fn run_at_best_level<L: Loop>(work: L) -> L::Output {
    match Level::highest().0 {
        // SAFETY: the processor has what the function was compiled for.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 if const { L::HAS_AVX512 } => unsafe { avx512(work) },
        // SAFETY: as above; the higher level has these instructions too.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 | Instructions::Avx2 => unsafe { avx2(work) },
        Instructions::Baseline => work.run(),
    }
}

/// Whether [`run_at_best_level`] has an instruction for `a * b + c`. Where it has none, `mul_add` is a call into the
/// platform's library.
#[inline]
pub(crate) fn has_fma() -> bool {
    match Level::highest().0 {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 | Instructions::Avx2 => true,
        Instructions::Baseline => BASELINE_HAS_FMA,
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
fn avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
fn leveled_avx512<L: Leveled>(work: L) -> L::Output {
    work.run_avx512()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn leveled_avx2<L: Leveled>(work: L) -> L::Output {
    work.run_avx2()
}
