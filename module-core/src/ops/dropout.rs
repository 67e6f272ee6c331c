//! Dropout.

use std::cmp::Ordering;

use crate::Result;
use crate::layout::Layout;
use crate::rng::with_default;
use crate::tensor::{DropoutMask, Tensor};

impl Tensor {
    /// Zeroes each element with probability `p` and scales the rest by `1/(1 - p)`, drawing from
    /// the default generator the mask that PyTorch draws.
    ///
    /// Nothing is drawn for `p = 0` and `p = 1`.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`, a dtype that is not floating-point.
    pub fn dropout(&self, p: f64) -> Result<Self> {
        // PyTorch returns the input before it draws.
        if p == 0.0 || (self.numel() == 0 && (0.0..=1.0).contains(&p)) {
            self.check_floating("dropout")?;
            return Ok(self.clone());
        }
        let order = memory_order(self.layout());
        let mask = with_default(|generator| {
            let shape = order.iter().map(|&dim| self.shape()[dim]).collect();
            Self::drawn("dropout", shape, self.dtype(), DropoutMask { p }, generator)
        })?;
        let mut back = vec![0; order.len()];
        for (place, &dim) in order.iter().enumerate() {
            // A rank fits `isize`, as does everything that is in memory.
            back[dim] = place as isize;
        }
        self.mul(&mask.permute(back)?.to_device(&self.device())?)
    }
}

/// The dimensions from the slowest to the fastest in memory.
///
/// PyTorch gives the mask the memory order of the input and fills it in that order, so that the
/// transpose of a matrix is masked as the matrix is. A dimension with stride 0 says nothing about
/// the order and stays where it is: this is PyTorch's own sorting, from `infer_dense_strides`.
fn memory_order(layout: &Layout) -> Vec<usize> {
    let mut fastest_first: Vec<usize> = (0..layout.rank()).rev().collect();
    let compare = |a: usize, b: usize| match (layout.strides()[a], layout.strides()[b]) {
        (0, _) | (_, 0) => None,
        (x, y) if x == y => (layout.shape()[a] > layout.shape()[b]).then_some(Ordering::Greater),
        (x, y) => Some(x.cmp(&y)),
    };
    for start in 1..fastest_first.len() {
        let mut moving = start;
        for other in (0..start).rev() {
            match compare(fastest_first[other], fastest_first[moving]) {
                Some(Ordering::Greater) => {
                    fastest_first.swap(other, moving);
                    moving = other;
                }
                Some(_) => break,
                None => {}
            }
        }
    }
    fastest_first.reverse();
    fastest_first
}
