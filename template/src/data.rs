//! The data: points on the arms of a spiral.

use std::f64::consts::TAU;

use module_nn::data::TensorDataset;
use module_nn::prelude::*;

/// The number of arms, which are the classes.
pub const ARMS: usize = 3;

/// `count` points `[x, y]` of each arm, with the number of the arm as label. The seed decides which points.
///
/// # Errors
///
/// More points than fit in memory.
pub fn spirals(count: usize, seed: u64) -> Result<TensorDataset<(Tensor, Tensor)>> {
    let size = ARMS * count;
    let noise = fork_rng(seed, || Tensor::randn(size, DType::F32))?.to_vec::<f32>()?;
    let (mut points, mut labels) = (Vec::new(), Vec::new());
    for (i, noise) in noise.into_iter().enumerate() {
        let (arm, radius) = (i % ARMS, (i / ARMS) as f64 / count as f64);
        let angle = TAU * (arm as f64 / ARMS as f64 + 0.75 * radius) + 0.1 * f64::from(noise);
        points.extend([(radius * angle.cos()) as f32, (radius * angle.sin()) as f32]);
        labels.push(arm as i64);
    }
    TensorDataset::new((
        Tensor::from_vec(points, [size, 2])?,
        Tensor::from_vec(labels, size)?,
    ))
}
