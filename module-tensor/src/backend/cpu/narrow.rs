//! Types that are computed with in a wider one.
//!
//! To widen whole operands, compute and narrow the result are three passes through memory. A piece stays in the cache
//! from the first to the last.

use half::{bf16, f16};

use super::aligned_vec::AlignedVec;
use super::dispatch::types;
use super::half_precision::{narrow_to_bf16, narrow_to_f16, widen};
use super::memory::scratch;
use super::runs::{OfRuns, blocks, runs, runs_over};
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Element, Operand, Storage};
use crate::zip::zip_mut;
use crate::{DType, Result};

/// A type whose numbers are widened, computed with, and narrowed again.
pub(super) trait Narrow: Element {
    type Wide: Element;

    /// Converts each number, up to the length of the shorter slice; this loses nothing.
    fn widen(from: &[Self], to: &mut [Self::Wide]);

    /// Rounds each number to nearest, or wraps it, up to the length of the shorter slice.
    fn narrow(from: &[Self::Wide], to: &mut [Self]);
}

impl Narrow for f16 {
    type Wide = f32;

    fn widen(from: &[Self], to: &mut [f32]) {
        widen(from, to);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        narrow_to_f16(from, to);
    }
}

impl Narrow for bf16 {
    type Wide = f32;

    fn widen(from: &[Self], to: &mut [f32]) {
        widen(from, to);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        narrow_to_bf16(from, to);
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Narrow for $type {
            type Wide = i64;

            fn widen(from: &[Self], to: &mut [i64]) {
                run_at_best_level(Each(from, to, |v: Self| i64::from(v)));
            }

            fn narrow(from: &[i64], to: &mut [Self]) {
                run_at_best_level(Each(from, to, |v: i64| v as Self));
            }
        }
    )*};
}

integers!(i32, u8);

struct Each<'a, A, B, F>(&'a [A], &'a mut [B], F);

impl<A: Copy, B, F: Fn(A) -> B> Loop for Each<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (to, &from) in zip_mut(self.1, self.0) {
            *to = (self.2)(from);
        }
    }
}

/// A type in which elements are computed, their own or a narrower one.
pub(super) trait Widened: Element {
    /// What `f` makes of the elements of operands of one dtype, which take so many nanoseconds each, in this dtype: in the
    /// memory of one of them, if nobody else holds it.
    fn each<const N: usize>(
        operands: [&mut Operand; N],
        ns: usize,
        f: OfRuns<'_, Self, Self, N>,
    ) -> Result<Storage>;

    /// [`each`](Self::each) for whole blocks of this many elements, of which `f` is given one or several.
    fn each_block<const N: usize>(
        operands: [&Operand; N],
        block: usize,
        ns: usize,
        f: OfRuns<'_, Self, Self, N>,
    ) -> Result<Storage>;

    /// [`each`](Self::each) for results that are booleans.
    fn each_truth<const N: usize>(
        operands: [&Operand; N],
        ns: usize,
        f: OfRuns<'_, Self, bool, N>,
    ) -> Result<Storage>;
}

macro_rules! widened {
    ($($wide:ty: $($dtype:ident $narrow:ty),*;)*) => {$(
        impl Widened for $wide {
            #[inline]
            fn each<const N: usize>(
                operands: [&mut Operand; N],
                ns: usize,
                f: OfRuns<'_, Self, Self, N>,
            ) -> Result<Storage> {
                let dtype = operands.first().map_or(DType::F32, |x| x.storage.dtype());
                types!(dtype, T => in_pieces::<T, Self, T, N>(operands.map(|x| &*x), 1, ns, f, T::narrow);
                    $($dtype $narrow),*;
                    _other => Ok(CpuStorage::wrap(runs_over(operands, ns, f)?)))
            }

            fn each_block<const N: usize>(
                operands: [&Operand; N],
                block: usize,
                ns: usize,
                f: OfRuns<'_, Self, Self, N>,
            ) -> Result<Storage> {
                types!(dtype_of(&operands), T => in_pieces::<T, Self, T, N>(operands, block, ns, f, T::narrow);
                    $($dtype $narrow),*;
                    _other => Ok(CpuStorage::wrap(blocks(operands, block, ns, f)?)))
            }

            fn each_truth<const N: usize>(
                operands: [&Operand; N],
                ns: usize,
                f: OfRuns<'_, Self, bool, N>,
            ) -> Result<Storage> {
                types!(dtype_of(&operands), T => in_pieces::<T, bool, bool, N>(operands, 1, ns, f, copy);
                    $($dtype $narrow),*;
                    _other => Ok(CpuStorage::wrap(runs(operands, ns, f)?)))
            }
        }
    )*};
}

widened! {
    f32: F16 f16, BF16 bf16;
    f64: ;
    i64: I32 i32, U8 u8;
}

fn dtype_of(operands: &[&Operand]) -> DType {
    operands.first().map_or(DType::F32, |x| x.storage.dtype())
}

fn copy(from: &[bool], to: &mut [bool]) {
    for (to, &from) in zip_mut(to, from) {
        *to = from;
    }
}

/// The number of elements of a piece, at most: with those of the results, all pieces are in the first cache together.
const PIECE: usize = 1024;

/// [`Widened::each_block`] for narrow elements; `put` moves results of a piece to their position.
fn in_pieces<T: Narrow, U: Element, R: Element, const N: usize>(
    operands: [&Operand; N],
    block: usize,
    ns: usize,
    f: OfRuns<'_, T::Wide, U, N>,
    put: fn(&[U], &mut [R]),
) -> Result<Storage> {
    let numel = operands.first().map_or(0, |x| x.layout.shape().numel());
    let mut values = scratch::<R>(numel)?;
    let (mut rows, mut whole) = ([const { None }; N], [&[][..]; N]);
    for ((row, whole), x) in rows.iter_mut().zip(&mut whole).zip(operands) {
        *whole = row.insert(to_row_major::<T>(x)?);
    }
    // Without elements, blocks may have none.
    let block = block.max(1);
    let most = (PIECE / block).max(1) * block;
    let items = Items(&mut values, most);
    let pieces = numel.div_ceil(most);
    parallel_for(pieces, most.saturating_mul(ns + 1), items, &|range, out| {
        // Memory that all pieces use in turn.
        let length = numel.min(most);
        let mut wide = [(); N].map(|()| AlignedVec::<T::Wide>::unspecified(length));
        let mut results = AlignedVec::<U>::unspecified(length);
        let starts = (range.start * most..numel).step_by(most);
        for (start, out) in starts.zip(out.0.chunks_mut(most)) {
            let length = out.len();
            let mut piece = [&[][..]; N];
            for ((piece, wide), whole) in piece.iter_mut().zip(&mut wide).zip(whole) {
                T::widen(&whole[start..][..length], wide);
                *piece = &wide[..length];
            }
            let results = &mut results[..length];
            f(piece, results);
            put(results, out);
        }
        Ok(())
    })?;
    Ok(CpuStorage::wrap(values))
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::super::{BinaryOp, CompareOp, SoftmaxOp, UnaryOp, elementwise, softmax, unary};
    use super::{CpuStorage, Element, Operand, PIECE, Storage};
    use crate::backend::cpu::elements_of;
    use crate::layout::{Layout, Shape};
    use crate::set_num_threads;

    /// Numbers that do not begin at the start of their memory, in row-major order or in columns.
    fn operand<T: Element>(values: &[T], rows: usize, in_columns: bool) -> Operand {
        let columns = values.len() / rows.max(1);
        let mut memory = vec![T::default(); 3];
        let mut strides = [columns, 1];
        if in_columns {
            strides = [1, rows];
            let at = |i: usize| values[i % rows * columns + i / rows];
            memory.extend((0..values.len()).map(at));
        } else {
            memory.extend_from_slice(values);
        }
        let shape = Shape::from([rows, columns]);
        let layout = Layout::within(shape, &strides, 3, memory.len()).unwrap();
        let storage = CpuStorage::wrap(memory);
        Operand { storage, layout }
    }

    /// Compares operations with those of single numbers, wherever and however many there are.
    fn check<T: Element>(
        number: fn(usize) -> T,
        times: fn(T, T) -> T,
        less: fn(T, T) -> bool,
        bits: fn(T) -> i64,
    ) {
        let lengths: &[usize] = match cfg!(miri) {
            true => &[0, 1, PIECE + 1],
            false => &[
                0,
                1,
                7,
                PIECE - 1,
                PIECE,
                PIECE + 1,
                41 * PIECE + 6,
                1 << 16,
            ],
        };
        let values = |storage: &Storage| -> Vec<i64> {
            let values = elements_of::<T>(storage).unwrap();
            values.iter().map(|&v| bits(v)).collect()
        };
        for &length in lengths {
            let rows = if length % 3 == 0 { 3 } else { 1 };
            let a: Vec<T> = (0..length).map(|i| number(7 * i + 5)).collect();
            let b: Vec<T> = (0..length).map(|i| number(40_503 * i + i / 331)).collect();
            let pairs = || a.iter().zip(&b);
            let products: Vec<i64> = pairs().map(|(&a, &b)| bits(times(a, b))).collect();
            let are_less: Vec<bool> = pairs().map(|(&a, &b)| less(a, b)).collect();
            for threads in [1, 3] {
                set_num_threads(threads);
                for in_columns in [false, true] {
                    let (x, y) = (operand(&a, rows, false), operand(&b, rows, in_columns));
                    let product =
                        elementwise::binary(BinaryOp::Mul, &mut x.clone(), &mut y.clone()).unwrap();
                    assert_eq!(product.dtype(), T::DTYPE);
                    assert!(values(&product) == products, "{} {length}", T::DTYPE);
                    let got = elementwise::compare(CompareOp::Lt, &x, &y).unwrap();
                    assert!(*elements_of::<bool>(&got).unwrap() == are_less, "{length}");
                }
            }
        }
    }

    /// Bits that are the same for any NaN, which is as good as another.
    fn or_nan(bits: u16, is_nan: bool) -> i64 {
        if is_nan { -1 } else { i64::from(bits) }
    }

    #[test]
    fn numbers_of_every_narrow_type_are_computed_in_a_wide_one() {
        // Every number of half precision is among them.
        check(
            |i| f16::from_bits(i as u16),
            |a, b| f16::from_f32(a.to_f32() * b.to_f32()),
            |a, b| a.to_f32() < b.to_f32(),
            |v| or_nan(v.to_bits(), v.is_nan()),
        );
        check(
            |i| bf16::from_bits(i as u16),
            |a, b| bf16::from_f32(a.to_f32() * b.to_f32()),
            |a, b| a.to_f32() < b.to_f32(),
            |v| or_nan(v.to_bits(), v.is_nan()),
        );
        check(
            |i| (i as i32).wrapping_mul(-1_640_531_535),
            i32::wrapping_mul,
            |a, b| a < b,
            i64::from,
        );
        check(
            |i| (i * 167 % 256) as u8,
            u8::wrapping_mul,
            |a, b| a < b,
            i64::from,
        );
    }

    #[test]
    fn a_slope_times_a_factor_is_rounded_once() {
        let numbers = |step: usize| -> Vec<bf16> {
            let number = |i: usize| bf16::from_f32((i * step % 1999) as f32 / 999.0 - 1.0);
            (0..2 * PIECE + 9).map(number).collect()
        };
        let (x, grad) = (numbers(7), numbers(13));
        let operand = |values: &[bf16]| operand(values, 1, false);
        let op = UnaryOp::SiluGrad;
        let got = unary::unary_times(op, &mut operand(&x), &mut operand(&grad)).unwrap();
        let wide = |values: &[bf16]| -> Vec<f32> { values.iter().map(|v| v.to_f32()).collect() };
        let slopes = unary::unary(op, &mut self::operand(&wide(&x), 1, false)).unwrap();
        let products = elements_of::<f32>(&slopes).unwrap().iter().zip(wide(&grad));
        let expected: Vec<bf16> = products.map(|(a, b)| bf16::from_f32(a * b)).collect();
        assert!(*elements_of::<bf16>(&got).unwrap() == expected);
    }

    #[test]
    fn whole_blocks_are_computed_together() {
        for (rows, columns) in [
            (PIECE + 1, 1),
            (2 * PIECE, 3),
            (65, 64),
            (2, PIECE + 1),
            (2, 0),
            (0, 5),
        ] {
            let number = |i: usize| f16::from_f32((i * 7919 % 997) as f32 / 99.0);
            let values: Vec<f16> = (0..rows * columns).map(number).collect();
            let wide: Vec<f32> = values.iter().map(|v| v.to_f32()).collect();
            for dim in [0, 1] {
                for in_columns in [false, true] {
                    let of_wide = operand(&wide, rows, in_columns);
                    let expected = softmax::softmax(SoftmaxOp::Softmax, &of_wide, dim).unwrap();
                    let expected: Vec<f16> = elements_of::<f32>(&expected)
                        .unwrap()
                        .iter()
                        .map(|&v| f16::from_f32(v))
                        .collect();
                    for threads in [1, 3] {
                        set_num_threads(threads);
                        let x = operand(&values, rows, in_columns);
                        let got = softmax::softmax(SoftmaxOp::Softmax, &x, dim).unwrap();
                        let got = elements_of::<f16>(&got).unwrap();
                        assert!(*got == expected, "{rows} {columns} {dim}");
                    }
                }
            }
        }
    }
}
