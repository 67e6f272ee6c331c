//! Locations of a grid in pixels, and the weights of the neighbors that they are between.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

use super::super::float::Float;
use super::super::simd::{Loop, run_at_best_level};
use super::super::{GridPaddingMode, GridSampleGeometry, GridSampleMode, SampleGeometry};
use super::neighbors::BLOCK;
use super::rows::{Add, Multiply, Row};

/// How one dimension of an image is sampled.
#[derive(Clone, Copy)]
pub(super) struct Axis<T> {
    mode: GridSampleMode,
    padding: GridPaddingMode,
    /// A location is `(x + 1) · scale - shift` in pixels.
    scale: T,
    shift: T,
    /// The last pixel.
    last: T,
    /// The image is reflected there, and again after every half of a period.
    low: T,
    period: T,
}

impl<T: Float> Axis<T> {
    /// Those of the dimensions of an image.
    pub(super) fn all(geometry: &GridSampleGeometry) -> Vec<Self> {
        let axis = |&size: &usize| {
            let (size, last) = (size as f64, size as f64 - 1.0);
            let [extent, shift, low] = match geometry.align_corners {
                true => [last, 0.0, 0.0],
                false => [size, 0.5, -0.5],
            };
            Self {
                mode: geometry.mode,
                padding: geometry.location_padding(),
                scale: T::narrowed(extent / 2.0),
                shift: T::narrowed(shift),
                last: T::narrowed(last),
                low: T::narrowed(low),
                period: T::narrowed(2.0 * extent),
            }
        };
        geometry.sizes.iter().map(axis).collect()
    }
}

/// The weights of the neighbors of a block of locations.
pub(super) struct Weights<T> {
    /// Of all neighbors, one after the other.
    pub(super) all: Vec<Row<T>>,
    /// Those along each dimension, of which these are products, and how they change with the location in pixels.
    along: Vec<Row<T>>,
    changes: Vec<Row<T>>,
    /// How locations in pixels change with the grid, in each dimension.
    slopes: Vec<Row<T>>,
    taps: usize,
}

impl<T: Float> Weights<T> {
    pub(super) fn new(geometry: &SampleGeometry) -> Self {
        let (dims, taps) = (geometry.sizes.len(), geometry.taps);
        let rows = |count| vec![[T::zero(); BLOCK]; count];
        Self {
            all: rows(geometry.all_taps()),
            along: rows(dims * taps),
            changes: rows(dims * taps),
            slopes: rows(dims),
            taps,
        }
    }

    /// Computes the locations in pixels, and all weights, of some locations of a grid.
    pub(super) fn compute(&mut self, grid: &[T], axes: &[Axis<T>], locations: &mut [Row<T>]) {
        let (dims, taps) = (axes.len(), self.taps);
        let mut found = 1;
        for (d, &axis) in axes.iter().enumerate() {
            // The grid names the last dimension first.
            run_at_best_level(Locate {
                grid: &grid[dims - 1 - d..],
                dims,
                axis,
                locations: &mut locations[d],
                slopes: &mut self.slopes[d],
            });
            let along = &mut self.along[d * taps..][..taps];
            let changes = &mut self.changes[d * taps..][..taps];
            run_at_best_level(Weigh {
                mode: axis.mode,
                locations: &locations[d],
                along,
                changes,
            });
            // From the last on, as each gives way to those that take its place.
            for before in (0..found).rev() {
                let from = self.all[before];
                let products = &mut self.all[before * taps..][..taps];
                products.copy_from_slice(along);
                if d > 0 {
                    for products in products {
                        run_at_best_level(Multiply(&from, products));
                    }
                }
            }
            found *= taps;
        }
    }

    /// The gradient of the grid, `[locations, dimensions]`, from that of all weights.
    pub(super) fn grid_gradient(&self, grads: &[Row<T>], out: &mut [T]) {
        let (dims, taps) = (self.slopes.len(), self.taps);
        for d in 0..dims {
            let mut sums = [T::zero(); BLOCK];
            for (tap, grad) in grads.iter().enumerate() {
                let mut product = *grad;
                let mut rest = tap;
                for other in (0..dims).rev() {
                    let i = other * taps + rest % taps;
                    rest /= taps;
                    let factors = if other == d {
                        &self.changes
                    } else {
                        &self.along
                    };
                    run_at_best_level(Multiply(&factors[i], &mut product));
                }
                run_at_best_level(Add(&product, &mut sums));
            }
            run_at_best_level(Multiply(&self.slopes[d], &mut sums));
            for (to, &sum) in out[dims - 1 - d..].iter_mut().step_by(dims).zip(&sums) {
                *to = sum;
            }
        }
    }
}

/// Computes locations in pixels in one dimension, and how they change with the grid.
struct Locate<'a, T> {
    /// From the first coordinate in this dimension on.
    grid: &'a [T],
    dims: usize,
    axis: Axis<T>,
    locations: &'a mut Row<T>,
    slopes: &'a mut Row<T>,
}

impl<T: Float> Loop for Locate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            axis,
            locations,
            slopes,
            ..
        } = self;
        match self.dims {
            2 => read::<T, 2>(self.grid, axis, locations),
            _ => read::<T, 3>(self.grid, axis, locations),
        }
        *slopes = [axis.scale; BLOCK];
        let zero = T::zero();
        if axis.padding == GridPaddingMode::Reflection {
            for i in 0..BLOCK {
                let from_low = locations[i].minus(axis.low);
                let away = from_low.magnitude();
                let periods = T::narrowed((away / axis.period).to_f64().trunc());
                let forth = periods.negate().times_plus(axis.period, away);
                let back = axis.period.minus(forth);
                let goes_back = back < forth;
                let inside = if goes_back { back } else { forth };
                // In an image of one pixel that has its corners there is only that.
                let inside = if axis.period > zero {
                    inside.plus(axis.low)
                } else {
                    locations[i].times(zero)
                };
                locations[i] = inside;
                let is_falling = goes_back ^ (from_low < zero);
                slopes[i] = if is_falling {
                    axis.scale.negate()
                } else {
                    axis.scale
                };
            }
        }
        if axis.padding != GridPaddingMode::Zeros {
            for i in 0..BLOCK {
                let at = locations[i];
                let is_inside = (at > zero) & (at < axis.last);
                slopes[i] = if is_inside { slopes[i] } else { zero };
                locations[i] = at.clamped([zero, axis.last]);
            }
        }
        if axis.mode == GridSampleMode::Nearest {
            for i in 0..BLOCK {
                locations[i] = T::narrowed(locations[i].to_f64().round_ties_even());
            }
        }
    }
}

/// Reads every `N`th number as a location in pixels.
#[inline(always)]
fn read<T: Float, const N: usize>(grid: &[T], axis: Axis<T>, locations: &mut Row<T>) {
    let pixels = |x: T| x.plus(T::one()).times(axis.scale).minus(axis.shift);
    let (points, rest) = grid.as_chunks::<N>();
    if let Some(points) = points.first_chunk::<BLOCK>() {
        for i in 0..BLOCK {
            locations[i] = pixels(points[i][0]);
        }
        return;
    }
    for (location, point) in locations.iter_mut().zip(points) {
        *location = pixels(point[0]);
    }
    // The last point is not whole if its coordinate is not the first.
    if let (Some(last), [first, ..]) = (locations.get_mut(points.len()), rest) {
        *last = pixels(*first);
    }
}

/// Computes the weights of the neighbors along one dimension, and how they change with the location.
struct Weigh<'a, T> {
    mode: GridSampleMode,
    locations: &'a Row<T>,
    along: &'a mut [Row<T>],
    changes: &'a mut [Row<T>],
}

impl<T: Float> Loop for Weigh<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        const A: f64 = -0.75;
        let (one, zero) = (T::one(), T::zero());
        let mut after = [zero; BLOCK];
        for i in 0..BLOCK {
            let location = self.locations[i];
            after[i] = location.minus(T::narrowed(location.to_f64().floor()));
        }
        match (self.mode, self.along, self.changes) {
            (GridSampleMode::Bilinear, [first, second], [down, up]) => {
                for i in 0..BLOCK {
                    first[i] = one.minus(after[i]);
                }
                *second = after;
                *down = [one.negate(); BLOCK];
                *up = [one; BLOCK];
            }
            (GridSampleMode::Bicubic, [a, b, c, d], [e, f, g, h]) => {
                let near = [A + 2.0, -(A + 3.0), 0.0, 1.0];
                let far = [A, -5.0 * A, 8.0 * A, -4.0 * A];
                cubic(&after, [1.0, 1.0], far, a, e);
                cubic(&after, [0.0, 1.0], near, b, f);
                cubic(&after, [1.0, -1.0], near, c, g);
                cubic(&after, [2.0, -1.0], far, d, h);
            }
            (_, along, changes) => {
                for (along, changes) in along.iter_mut().zip(changes) {
                    *changes = [zero; BLOCK];
                    for i in 0..BLOCK {
                        // That of a location that is NaN too.
                        let is_nan = after[i].is_nan() & self.locations[i].is_nan();
                        along[i] = if is_nan { after[i] } else { one };
                    }
                }
            }
        }
    }
}

/// A polynomial at `start + step · x`, and its derivative with respect to `x`.
#[inline(always)]
fn cubic<T: Float>(
    x: &Row<T>,
    [start, step]: [f64; 2],
    [cube, square, line, constant]: [f64; 4],
    values: &mut Row<T>,
    changes: &mut Row<T>,
) {
    let number = T::narrowed;
    for i in 0..BLOCK {
        let at = number(start).plus(number(step).times(x[i]));
        let sum = number(cube).times(at).plus(number(square));
        let sum = sum.times(at).plus(number(line));
        values[i] = sum.times(at).plus(number(constant));
        let change = number(3.0 * cube).times(at).plus(number(2.0 * square));
        let change = change.times(at).plus(number(line));
        changes[i] = number(step).times(change);
    }
}
