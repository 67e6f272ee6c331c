//! Average and max pooling of planes.

use module_nn::{AvgPoolOptions, PoolOptions, Tensor};

use super::case::{Case, draw};
use super::terms::{Bound, Weighted, linear};

/// `[planes, height, width]`, and windows over the last two.
#[derive(Clone, Copy, Debug)]
struct Windows {
    planes: usize,
    size: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Windows {
    /// For each output the places that its window covers.
    fn places(self) -> Vec<Vec<usize>> {
        let Self {
            size,
            kernel,
            stride,
            padding,
            ..
        } = self;
        let count = |i: usize| (size[i] + 2 * padding[i] - kernel[i]) / stride[i] + 1;
        let covered = |i: usize, at: usize| {
            let start = at * stride[i];
            let end = (start + kernel[i]).saturating_sub(padding[i]);
            start.saturating_sub(padding[i])..end.min(size[i])
        };
        let mut all = Vec::new();
        for plane in 0..self.planes {
            for row in 0..count(0) {
                for column in 0..count(1) {
                    let lines = covered(0, row).map(|y| (plane * size[0] + y) * size[1]);
                    let places = lines.flat_map(|line| covered(1, column).map(move |x| line + x));
                    all.push(places.collect());
                }
            }
        }
        all
    }

    fn shape(self) -> [usize; 4] {
        [1, self.planes, self.size[0], self.size[1]]
    }

    /// The mean of a window, to which the padding adds zeros.
    fn average(self) -> Case {
        let share = 1.0 / (self.kernel[0] * self.kernel[1]) as f64;
        let products: Weighted = Box::new(move |visit| {
            for (out, places) in self.places().iter().enumerate() {
                places.iter().for_each(|&place| visit(out, place, share));
            }
        });
        let operation = move |x: &[Tensor]| {
            let options = AvgPoolOptions::new(self.kernel).stride(self.stride);
            x[0].avg_pool2d(options.padding(self.padding))
        };
        // The sum is divided, or multiplied with a rounded number.
        let reference = linear(Bound::Sums(1.0), products);
        let operands = vec![draw(&self.shape(), 1)];
        Case::new(format!("average {self:?}"), operands, operation, reference)
    }

    /// The greatest of a window, which gets the gradients of all windows whose greatest it is.
    fn greatest(self) -> Case {
        let x = draw(&self.shape(), 2);
        let values = x.to_vec::<f32>().unwrap();
        let places = self.places();
        let most = places.iter().map(|places| {
            let most = places
                .iter()
                .max_by(|&&a, &&b| values[a].total_cmp(&values[b]));
            *most.unwrap()
        });
        let most: Vec<_> = most.collect();
        let copies: Weighted = Box::new(move |visit| {
            for (out, &place) in most.iter().enumerate() {
                visit(out, place, 1.0);
            }
        });
        let operation = move |x: &[Tensor]| {
            let options = PoolOptions::new(self.kernel).stride(self.stride);
            x[0].max_pool2d(options.padding(self.padding))
        };
        let reference = linear(Bound::Sums(0.0), copies);
        Case::new(format!("max {self:?}"), vec![x], operation, reference)
    }
}

/// The means of windows of nearly equal size, which cover the input.
fn adaptive(planes: usize, size: [usize; 2], to: [usize; 2]) -> Case {
    let products: Weighted = Box::new(move |visit| {
        let range =
            |i: usize, at: usize| at * size[i] / to[i]..((at + 1) * size[i]).div_ceil(to[i]);
        for out in 0..planes * to[0] * to[1] {
            let plane = out / (to[0] * to[1]);
            let (rows, columns) = (range(0, out / to[1] % to[0]), range(1, out % to[1]));
            let share = 1.0 / (rows.len() * columns.len()) as f64;
            for row in rows {
                for column in columns.clone() {
                    visit(out, (plane * size[0] + row) * size[1] + column, share);
                }
            }
        }
    });
    // A division for each dimension, or a product with a rounded number.
    let reference = linear(Bound::Sums(2.0), products);
    let operands = vec![draw(&[1, planes, size[0], size[1]], 3)];
    let name = format!("adaptive average of {planes} {size:?} to {to:?}");
    Case::new(
        name,
        operands,
        move |x| x[0].adaptive_avg_pool2d(to),
        reference,
    )
}

pub(crate) fn cases() -> Vec<Case> {
    let windows =
        |planes: usize, size: [usize; 2], kernel: [usize; 2], stride: [usize; 2]| Windows {
            planes,
            size,
            kernel,
            stride,
            padding: [0; 2],
        };
    let padded = |padding: [usize; 2], windows: Windows| Windows { padding, ..windows };
    // Strides of one and two are computed side by side, others one by one; long windows are composed of small ones.
    let all = [
        windows(3, [2, 2], [2, 2], [2, 2]),
        windows(5, [16, 17], [2, 2], [2, 2]),
        windows(2, [31, 33], [3, 3], [2, 2]),
        padded([1, 1], windows(7, [32, 65], [3, 3], [2, 2])),
        padded([1, 1], windows(4, [15, 16], [3, 3], [1, 1])),
        padded([2, 3], windows(2, [29, 47], [5, 7], [1, 1])),
        windows(3, [41, 64], [5, 4], [3, 5]),
        padded([6, 6], windows(2, [27, 35], [13, 13], [1, 1])),
        windows(2, [9, 130], [1, 17], [1, 1]),
        windows(40, [7, 7], [7, 7], [1, 1]),
        padded([1, 1], windows(17, [250, 251], [3, 3], [1, 1])),
    ];
    let average = all.iter().map(|windows| windows.average());
    let greatest = all.iter().map(|windows| windows.greatest());
    let shared = [
        (3, [7, 7], [1, 1]),
        (2, [13, 17], [4, 6]),
        (5, [16, 33], [7, 16]),
        (2, [5, 6], [9, 11]),
    ];
    let shared = shared.map(|(planes, size, to)| adaptive(planes, size, to));
    average.chain(greatest).chain(shared).collect()
}
