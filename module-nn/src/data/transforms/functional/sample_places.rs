//! Samples images between pixels, with the rounding of PyTorch's `grid_sample` on processors with fused multiply-add: a
//! quarter turn samples exactly halfway between two pixels, and the last bit decides which one is read.

use module_core::{DType, Element, Result, Tensor};
use serde::{Deserialize, Serialize};

/// The interpolation of rotated and sheared images.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::RandomRotationConfig;
/// use module_nn::data::transforms::functional::InterpolationMode;
///
/// let config = RandomRotationConfig::new([0.0, 90.0]).interpolation(InterpolationMode::Bilinear);
/// assert_eq!(serde_json::to_value(&config)?["interpolation"], "bilinear");
/// assert_eq!(InterpolationMode::default(), InterpolationMode::Nearest);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterpolationMode {
    /// The nearest pixel.
    #[default]
    Nearest,
    /// Bilinear interpolation of four pixels.
    Bilinear,
}

/// Images `[count, channels, height, width]` sampled at positions `[height', width', 2]`, x and y from -1 to 1; zeros
/// outside.
pub(super) fn sample_places(
    images: &Tensor,
    places: &Tensor,
    mode: InterpolationMode,
) -> Result<Tensor> {
    match images.dtype() {
        DType::F64 => sample::<f64>(images, places, mode),
        _ => sample::<f32>(images, places, mode),
    }
}

/// The required operations of a floating-point type.
trait Real: Element + Copy + Default {
    fn fma(self, by: Self, plus: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn of(value: f64) -> Self;
    fn f64(self) -> f64;
}

macro_rules! reals {
    ($($real:ident)+) => {$(
        impl Real for $real {
            fn fma(self, by: Self, plus: Self) -> Self {
                self.mul_add(by, plus)
            }

            fn minus(self, other: Self) -> Self {
                self - other
            }

            fn of(value: f64) -> Self {
                value as Self
            }

            fn f64(self) -> f64 {
                self.into()
            }
        }
    )+};
}

reals! { f32 f64 }

/// Pixels of the image and their weights; none outside.
type Taps<T> = [(Option<usize>, T); 4];

fn sample<T: Real>(images: &Tensor, places: &Tensor, mode: InterpolationMode) -> Result<Tensor> {
    let ([count, channels, height, width], [to_height, to_width, _]) =
        (images.dims::<4>()?, places.dims::<3>()?);
    let (one, zero) = (T::of(1.0), T::default());
    let inside = |x: f64, y: f64| {
        let within = x >= 0.0 && y >= 0.0 && x < width as f64 && y < height as f64;
        within.then_some(y as usize * width + x as usize)
    };
    // From -1 to 1 to pixels.
    let pixel = |place: T, size: usize| {
        let place = T::of(place.f64() + 1.0);
        place.fma(T::of(size as f64 / 2.0), T::of(-0.5))
    };
    let taps = |place: &[T; 2]| -> Taps<T> {
        let (x, y) = (pixel(place[0], width), pixel(place[1], height));
        if mode == InterpolationMode::Nearest {
            let nearest = inside(x.f64().round_ties_even(), y.f64().round_ties_even());
            return [(nearest, one), (None, zero), (None, zero), (None, zero)];
        }
        let (left, top) = (x.f64().floor(), y.f64().floor());
        let (w, n) = (x.minus(T::of(left)), y.minus(T::of(top)));
        let (e, s) = (one.minus(w), one.minus(n));
        let product = |a: T, b: T| a.fma(b, T::of(-0.0));
        [
            (inside(left, top), product(e, s)),
            (inside(left + 1.0, top), product(w, s)),
            (inside(left, top + 1.0), product(e, n)),
            (inside(left + 1.0, top + 1.0), product(w, n)),
        ]
    };
    let places = places.to_vec::<T>()?;
    let (places, _) = places.as_chunks::<2>();
    let taps: Vec<Taps<T>> = places.iter().map(taps).collect();
    let pixels = images.to_vec::<T>()?;
    let mut sampled = Vec::with_capacity(count * channels * taps.len());
    for plane in pixels.chunks_exact(height * width) {
        sampled.extend(taps.iter().map(|taps| {
            taps.iter().fold(zero, |sum, (place, weight)| {
                let pixel = place.and_then(|place| plane.get(place)).copied();
                pixel.map_or(sum, |pixel| pixel.fma(*weight, sum))
            })
        }));
    }
    let shape = [count, channels, to_height, to_width];
    Tensor::from_vec(sampled, shape)?.to_device(&images.device())
}
