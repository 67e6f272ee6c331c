//! The pixels around locations.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::float::Float;
use super::super::simd::{Loop, run_at_best_level};
use super::super::{Outside, SampleGeometry};
use crate::{Error, Result};

/// The index of a pixel outside of the image.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The number of locations whose neighbors are found at a time, so that these stay in the cache.
pub(super) const BLOCK: usize = 256;

/// Checks that the pixels of an image have indices.
pub(super) fn check_pixels(geometry: &SampleGeometry) -> Result<()> {
    let pixels = geometry.inner();
    if pixels == 0 || i32::try_from(pixels).is_err() {
        let problem = format!("must be from 1 to {}", i32::MAX);
        return Err(Error::argument("sample", "pixels", pixels, problem));
    }
    Ok(())
}

/// Writes the indices of the neighbors in the flattened image, for each neighbor those of all locations of a block,
/// which are given in pixels, dimension by dimension.
pub(super) fn find_neighbors<T: Float>(
    geometry: &SampleGeometry,
    locations: &[[T; BLOCK]],
    indices: &mut [[u32; BLOCK]],
) {
    let &SampleGeometry {
        ref sizes,
        taps,
        first,
        outside,
        ..
    } = geometry;
    let mut found = 1;
    if let Some(indices) = indices.first_mut() {
        indices.fill(0);
    }
    for (along, &size) in locations.iter().zip(sizes) {
        let mut floors = [0; BLOCK];
        run_at_best_level(Floors(along, &mut floors));
        // From the last on, as each gives way to those that take its place.
        for before in (0..found).rev() {
            let from = indices[before];
            for (tap, indices) in indices[before * taps..][..taps].iter_mut().enumerate() {
                run_at_best_level(Along {
                    floors: &floors,
                    step: first.saturating_add(tap as i64),
                    size: size as i32,
                    outside,
                    before: &from,
                    indices,
                });
            }
        }
        found *= taps;
    }
}

/// Computes the pixels at or before locations, in one dimension.
struct Floors<'a, T>(&'a [T; BLOCK], &'a mut [i32; BLOCK]);

impl<T: Float> Loop for Floors<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for i in 0..BLOCK {
            self.1[i] = floor(self.0[i].to_f64());
        }
    }
}

/// Goes from the indices of neighbors in the dimensions before to those in one more.
struct Along<'a> {
    /// The pixels at or before locations.
    floors: &'a [i32; BLOCK],
    /// From there to the neighbor.
    step: i64,
    size: i32,
    outside: Outside,
    before: &'a [u32; BLOCK],
    indices: &'a mut [u32; BLOCK],
}

impl Loop for Along<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let size = self.size;
        match self.outside {
            Outside::Zero => self.each(|at| match at as u32 >= size as u32 {
                true => NOWHERE,
                false => at as u32,
            }),
            Outside::Border => self.each(|at| at.max(0).min(size - 1) as u32),
            Outside::Reflection { align_corners } => {
                self.each(|at| reflected(at, size, align_corners));
            }
        }
    }
}

impl Along<'_> {
    /// Puts a coordinate of the image for one that may be outside.
    #[inline(always)]
    fn each(self, inside: impl Fn(i32) -> u32) {
        let step = self.step.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        let size = self.size as u32;
        for i in 0..BLOCK {
            let (at, before) = (inside(self.floors[i].saturating_add(step)), self.before[i]);
            self.indices[i] = match (before == NOWHERE) | (at == NOWHERE) {
                true => NOWHERE,
                false => before.wrapping_mul(size).wrapping_add(at),
            };
        }
    }
}

/// The greatest whole number that is at most `x`, or the nearest of its type; 0 for NaN.
///
/// A conversion with these limits would be a call of instructions for single numbers.
#[inline(always)]
fn floor(x: f64) -> i32 {
    /// Numbers so far from 0 have no fraction, and end with the bits of an integer.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    const LIMIT: f64 = 2_147_483_647.0;
    let x = if x > LIMIT { LIMIT } else { x };
    let x = if x < -LIMIT { -LIMIT } else { x };
    let x = if x.is_nan() { 0.0 } else { x };
    let shifted = x + WHOLE;
    let above = i32::from(shifted - WHOLE > x);
    (shifted.to_bits() as i32).saturating_sub(above)
}

/// The coordinate after going there and back, with or without the ends twice.
fn reflected(at: i32, size: i32, align_corners: bool) -> u32 {
    let size = i64::from(size);
    let (turn, at_end) = match align_corners {
        true => (2 * (size - 1), 0),
        false => (2 * size, 1),
    };
    if turn == 0 {
        return 0;
    }
    let within = i64::from(at).rem_euclid(turn);
    let within = match within < size {
        true => within,
        false => turn - at_end - within,
    };
    within as u32
}

#[cfg(test)]
mod tests {
    use super::{floor, reflected};

    #[test]
    fn floors_are_those_of_the_standard_library() {
        let bound = f64::from(i32::MAX);
        let near = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            1.999,
            -1.999,
            254.5,
            1e9 + 0.5,
            -1e9 - 0.5,
        ];
        for x in
            near.into_iter()
                .chain([bound, -bound, 1e300, -1e300, f64::INFINITY, -f64::INFINITY])
        {
            assert_eq!(floor(x), x.floor().clamp(-bound, bound) as i32, "{x}");
        }
        assert_eq!(floor(f64::NAN), 0);
        // The bits of which are not 0.
        assert_eq!(floor(f64::from_bits(f64::NAN.to_bits() | 0xffff)), 0);
    }

    #[test]
    fn coordinates_go_there_and_back() {
        let of = |align_corners| -> Vec<u32> {
            let coordinates = -5..8;
            coordinates
                .map(|at| reflected(at, 3, align_corners))
                .collect()
        };
        assert_eq!(of(true), [1, 0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1]);
        assert_eq!(of(false), [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert_eq!(reflected(-7, 1, true), 0);
    }
}
