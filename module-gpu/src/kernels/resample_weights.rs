//! The weights of the pixels of a dimension that is resized.

use module_tensor::backend::ResampleMode;

use super::table::lists;

/// For each output pixel the input pixels that it is a sum of, and their weights.
pub(crate) struct Weights(Vec<Vec<(u32, f32)>>);

impl Weights {
    /// The number of output pixels.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The same weights for the gradient of an input of `size` pixels.
    pub(crate) fn transposed(&self, size: usize) -> Self {
        let mut lists = vec![Vec::new(); size];
        for (output, list) in self.0.iter().enumerate() {
            for &(input, weight) in list {
                if let Some(list) = lists.get_mut(input as usize) {
                    list.push((output as u32, weight));
                }
            }
        }
        Self(lists)
    }

    /// The lists as a table, in which a pixel and the bits of its weight alternate.
    pub(crate) fn words(&self) -> Vec<u32> {
        let words = |list: &Vec<(u32, f32)>| {
            let pairs = list
                .iter()
                .flat_map(|&(pixel, weight)| [pixel, weight.to_bits()]);
            pairs.collect()
        };
        let all: Vec<Vec<u32>> = self.0.iter().map(words).collect();
        lists(&all)
    }
}

/// The weights for a dimension of `size` pixels that becomes one of `to`; `None` for a mode that is not known here.
pub(crate) fn axis(mode: ResampleMode, size: usize, to: usize, scale: f64) -> Option<Weights> {
    let dim = Dimension { size, to, scale };
    Some(match mode {
        ResampleMode::Nearest => dim.nearest(|at| at as f32 * scale as f32),
        ResampleMode::NearestExact => {
            dim.nearest(|at| (at as f32 + 0.5).mul_add(scale as f32, -0.5) + 0.5)
        }
        ResampleMode::Linear { .. } if to == size => dim.nearest(|at| at as f32),
        ResampleMode::Linear { align_corners } => {
            dim.neighbors(align_corners, 0, |t| vec![1.0 - t, t])
        }
        ResampleMode::Cubic { align_corners } => dim.neighbors(align_corners, 1, |t| {
            let distances = [t + 1.0, t, 1.0 - t, 2.0 - t];
            distances.map(|distance| cubic(distance, -0.75)).to_vec()
        }),
        ResampleMode::AntialiasedLinear => dim.averages(1.0, |d| (1.0 - d.abs()).max(0.0)),
        ResampleMode::AntialiasedCubic => dim.averages(2.0, |d| cubic(d.abs(), -0.5)),
        _ => return None,
    })
}

/// The cubic filter at a distance.
fn cubic(d: f64, a: f64) -> f64 {
    if d <= 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        a * (((d - 5.0) * d + 8.0) * d - 4.0)
    } else {
        0.0
    }
}

struct Dimension {
    size: usize,
    to: usize,
    scale: f64,
}

impl Dimension {
    /// One pixel each, at the place rounded down.
    fn nearest(&self, place: impl Fn(usize) -> f32) -> Weights {
        let last = self.size.saturating_sub(1);
        let pixel = |at: usize| vec![((place(at) as usize).min(last) as u32, 1.0)];
        Weights((0..self.to).map(pixel).collect())
    }

    /// Neighbors of the source, the first of them `before` the pixel to the left.
    fn neighbors(
        &self,
        align_corners: bool,
        before: isize,
        weights: impl Fn(f64) -> Vec<f64>,
    ) -> Weights {
        let last = self.size.saturating_sub(1) as isize;
        let list = |at: usize| {
            let place = match align_corners {
                true => at as f64 * self.scale,
                false => (at as f64 + 0.5) * self.scale - 0.5,
            };
            // Only the cubic looks before the first pixel.
            let place = if before == 0 { place.max(0.0) } else { place };
            let left = (place.floor() as isize).min(last);
            let rest = (place - left as f64).clamp(0.0, 1.0);
            let mut list: Vec<(u32, f64)> = Vec::new();
            for (i, weight) in (0_isize..).zip(weights(rest)) {
                let pixel = (left + i - before).clamp(0, last) as u32;
                match list.last_mut().filter(|(of, _)| *of == pixel) {
                    Some((_, sum)) => *sum += weight,
                    None => list.push((pixel, weight)),
                }
            }
            list.into_iter()
                .map(|(pixel, weight)| (pixel, weight as f32))
                .collect()
        };
        Weights((0..self.to).map(list).collect())
    }

    /// The mean of the pixels around the center, weighted by a filter that ends `reach` pixels from it.
    fn averages(&self, reach: f64, filter: impl Fn(f64) -> f64) -> Weights {
        let width = self.scale.max(1.0);
        let support = reach * width;
        let list = |at: usize| {
            let center = (at as f64 + 0.5) * self.scale;
            let start = (center - support + 0.5).max(0.0) as usize;
            let start = start.min(self.size.saturating_sub(1));
            let end = ((center + support + 0.5) as usize)
                .min(self.size)
                .max(start + 1);
            let weights = (start..end).map(|i| filter((i as f64 + 0.5 - center) / width));
            let weights: Vec<f64> = weights.collect();
            let total: f64 = weights.iter().sum();
            let pixels = (start as u32..).zip(weights);
            pixels
                .map(|(pixel, weight)| (pixel, (weight / total) as f32))
                .collect()
        };
        Weights((0..self.to).map(list).collect())
    }
}
