//! Resizes bytes in integer arithmetic, as PyTorch and Pillow-SIMD do: 16-bit weights, first along the rows and then along
//! the columns, with bytes as the intermediate result.

/// The weight of a pixel by its distance.
#[derive(Clone, Copy)]
pub(super) enum Filter {
    Linear,
    Cubic,
}

impl Filter {
    /// The radius of the filter.
    fn support(self) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Cubic => 2.0,
        }
    }

    fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Self::Linear => (1.0 - x).max(0.0),
            Self::Cubic => {
                let a = -0.5;
                if x < 1.0 {
                    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
                } else if x < 2.0 {
                    (((x - 5.0) * x + 8.0) * x - 4.0) * a
                } else {
                    0.0
                }
            }
        }
    }
}

/// The source pixels along one dimension of one new pixel.
struct Window {
    start: usize,
    weights: Vec<i32>,
}

/// The windows of all new pixels, and the number of bits by which their weights are scaled.
fn windows(size: usize, to: usize, filter: Filter) -> (Vec<Window>, u32) {
    let scale = size as f64 / to as f64;
    let stretch = scale.max(1.0);
    let support = filter.support() * stretch;
    let exact: Vec<(usize, Vec<f64>)> = (0..to)
        .map(|i| {
            let center = scale * (i as f64 + 0.5);
            // Negative numbers become 0.
            let start = (center - support + 0.5) as usize;
            let end = ((center + support + 0.5) as usize).min(size);
            let weight = |j: usize| filter.weight((j as f64 - center + 0.5) * (1.0 / stretch));
            let mut weights: Vec<f64> = (start..end).map(weight).collect();
            let total: f64 = weights.iter().sum();
            if total != 0.0 {
                weights.iter_mut().for_each(|weight| *weight /= total);
            }
            (start, weights)
        })
        .collect();
    let largest = exact
        .iter()
        .flat_map(|(_, weights)| weights)
        .fold(0.0, |a: f64, b| a.max(*b));
    let fits = |bits: &u32| (0.5 + largest * f64::from(1 << (bits + 1))) as i64 >= 1 << 15;
    let bits = (0..22).find(fits).unwrap_or(22);
    let whole = |weight: f64| (weight * f64::from(1 << bits) + 0.5_f64.copysign(weight)) as i32;
    let windows = exact.into_iter().map(|(start, weights)| Window {
        start,
        weights: weights.into_iter().map(whole).collect(),
    });
    (windows.collect(), bits)
}

/// Resizes planes of equal size.
pub(super) fn resize_bytes(
    mut pixels: Vec<u8>,
    [height, width]: [usize; 2],
    [to_height, to_width]: [usize; 2],
    filter: Filter,
) -> Vec<u8> {
    if width != to_width {
        let (windows, bits) = windows(width, to_width, filter);
        let rows = pixels.chunks_exact(width);
        let row = |row: &[u8], new: &mut Vec<u8>| {
            new.extend(windows.iter().map(|window| {
                let pixels = row.get(window.start..).unwrap_or_default().iter();
                let products = pixels.zip(&window.weights).map(|(p, w)| i32::from(*p) * w);
                rounded(products.sum(), bits)
            }));
        };
        let mut new = Vec::with_capacity(rows.len() * to_width);
        rows.for_each(|pixels| row(pixels, &mut new));
        pixels = new;
    }
    if height != to_height {
        let (windows, bits) = windows(height, to_height, filter);
        let planes = pixels.chunks_exact(height * to_width);
        let mut new = Vec::with_capacity(planes.len() * to_height * to_width);
        let mut sums = vec![0_i32; to_width];
        for plane in planes {
            for window in &windows {
                sums.fill(0);
                let rows = plane.chunks_exact(to_width).skip(window.start);
                for (row, weight) in rows.zip(&window.weights) {
                    for (sum, pixel) in sums.iter_mut().zip(row) {
                        *sum += i32::from(*pixel) * weight;
                    }
                }
                new.extend(sums.iter().map(|sum| rounded(*sum, bits)));
            }
        }
        pixels = new;
    }
    pixels
}

/// A sum with weights of this many bits, as a byte.
fn rounded(sum: i32, bits: u32) -> u8 {
    let half = if bits == 0 { 0 } else { 1 << (bits - 1) };
    ((sum + half) >> bits).clamp(0, 255) as u8
}
