//! Products of 8-bit numbers: PyTorch's dynamic quantization.
//!
//! Each row of inputs is rounded to whole numbers from 0 to 127 by a scale and a zero point of its own, which are
//! chosen from its least and greatest element. The sums of products are whole numbers, and so are the same on every
//! processor.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::Int8Rows;
use super::memory::scratch;
use super::simd::{Level, Loop, MOST_INT8, int8_dots, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::Result;

/// The greatest rounded input. PyTorch leaves out the eighth bit, because two products of 8 bits overflow 16.
const MOST: f64 = MOST_INT8 as f64;

/// The number of lines of the weight that are read side by side, far from each other: each is a page of its own to the
/// processor, which foresees no further than the end of one.
const TOGETHER: usize = 2;

/// A smaller scale counts as this one.
const LEAST_SCALE: f64 = 6.1e-5;

/// Adds to `out` the products of the rows of `a`, rounded, with the rows of the weight.
pub(super) fn add(a: &[f32], weight: Int8Rows<'_>, out: &mut [f32]) -> Result<()> {
    let lines = weight.scales.len();
    let len = weight.codes.len() / lines.max(1);
    let rows: Vec<Row> = a.chunks_exact(len.max(1)).map(Row::of).collect();
    let count = rows.len();
    let mut dots = scratch::<f32>(count * lines)?;
    let level = Level::highest();
    let items = Items(&mut dots, count);
    parallel_for(lines, len * count / 48, items, &|range, dots| {
        let products = Products {
            level,
            rows: &rows,
            weight,
            len,
        };
        let (first, apart) = (range.start, range.len() / TOGETHER);
        for i in 0..apart {
            let lines: [_; TOGETHER] = std::array::from_fn(|part| part * apart + i);
            products.write(first, lines, dots.0);
        }
        for i in TOGETHER * apart..range.len() {
            products.write(first, [i], dots.0);
        }
        Ok(())
    })?;
    for (i, dots) in dots.chunks_exact(count.max(1)).enumerate() {
        for (row, dot) in dots.iter().enumerate() {
            out[row * lines + i] += dot;
        }
    }
    Ok(())
}

/// The products of all rows with some lines of the weight.
struct Products<'a> {
    level: Level,
    rows: &'a [Row],
    weight: Int8Rows<'a>,
    /// The length of a line.
    len: usize,
}

impl Products<'_> {
    /// Writes those of some lines, which are counted from the first line of `dots`.
    fn write<const LINES: usize>(&self, first: usize, lines: [usize; LINES], dots: &mut [f32]) {
        let (weight, len, count) = (&self.weight, self.len, self.rows.len());
        let codes = lines.map(|line| &weight.codes[(first + line) * len..][..len]);
        for (at, row) in self.rows.iter().enumerate() {
            let products = int8_dots(self.level, &row.codes, codes);
            for (products, line) in products.into_iter().zip(lines) {
                let (scale, sum) = (weight.scales[first + line], weight.sums[first + line]);
                let whole = products - i64::from(row.zero_point) * i64::from(sum);
                dots[line * count + at] = whole as f32 * (row.scale * scale);
            }
        }
    }
}

/// A row of inputs as `scale · (codes - zero_point)`.
struct Row {
    codes: Vec<u8>,
    scale: f32,
    zero_point: i32,
}

impl Row {
    fn of(x: &[f32]) -> Self {
        let (least, greatest) = run_at_best_level(Range(x));
        let (scale, zero_point) = scale_and_zero_point(least.into(), greatest.into());
        if !(greatest - least).is_finite() || x.iter().any(|v| v.is_nan()) {
            // No scale expresses these, and zeros would hide them.
            let (codes, scale, zero_point) = (vec![0; x.len()], f32::NAN, 0);
            return Self {
                codes,
                scale,
                zero_point,
            };
        }
        let mut codes = vec![0; x.len()];
        let (inverse, zero) = (1.0 / scale, zero_point as f32);
        run_at_best_level(Round(x, inverse, zero, &mut codes));
        Self {
            codes,
            scale,
            zero_point,
        }
    }
}

/// PyTorch's choice for numbers between `least`, at most 0, and `greatest`, at least 0.
fn scale_and_zero_point(mut least: f64, mut greatest: f64) -> (f32, i32) {
    let mut scale = (greatest - least) / MOST;
    if scale as f32 == 0.0 || (1.0 / scale as f32).is_infinite() {
        scale = 0.1;
    }
    if scale < LEAST_SCALE {
        let factor = LEAST_SCALE / scale;
        scale = LEAST_SCALE;
        if least == 0.0 {
            greatest = LEAST_SCALE * MOST;
        } else if greatest == 0.0 {
            least = -LEAST_SCALE * MOST;
        } else {
            (least, greatest) = (least * factor, greatest * factor);
        }
    }
    // From the end of the range that has the smaller rounding error.
    let from_least = (least / scale).abs() < MOST + (greatest / scale).abs();
    let zero_point = match from_least {
        true => -least / scale,
        false => MOST - greatest / scale,
    };
    let zero_point = zero_point.clamp(0.0, MOST).round_ties_even();
    (scale as f32, zero_point as i32)
}

/// The least and the greatest of some numbers and 0.
struct Range<'a>(&'a [f32]);

impl Loop for Range<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn run(self) -> (f32, f32) {
        let (mut least, mut greatest) = ([0.0_f32; 16], [0.0_f32; 16]);
        let (chunks, rest) = self.0.as_chunks::<16>();
        let mut add = |i: usize, v: f32| {
            least[i] = if v < least[i] { v } else { least[i] };
            greatest[i] = if v > greatest[i] { v } else { greatest[i] };
        };
        for chunk in chunks {
            for (i, &v) in chunk.iter().enumerate() {
                add(i, v);
            }
        }
        for (i, &v) in rest.iter().enumerate() {
            add(i, v);
        }
        let least = least.into_iter().fold(0.0, f32::min);
        (least, greatest.into_iter().fold(0.0, f32::max))
    }
}

/// Rounds inputs by the inverse of the scale and the zero point.
struct Round<'a>(&'a [f32], f32, f32, &'a mut [u8]);

impl Loop for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(x, inverse, zero, codes) = self;
        for (code, &v) in codes.iter_mut().zip(x) {
            let v = (v * inverse + zero).round_ties_even();
            *code = v.clamp(0.0, MOST as f32) as u8;
        }
    }
}
