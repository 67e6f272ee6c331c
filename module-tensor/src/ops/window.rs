//! Arguments of convolutions and pooling over one to three spatial dimensions.

use crate::tensor::Tensor;
use crate::{Error, Result};

/// The name of an operation over `N` dimensions.
pub(super) fn name_by_dims<const N: usize>(names: [&'static str; 3]) -> &'static str {
    let [one, two, three] = names;
    match N {
        1 => one,
        2 => two,
        _ => three,
    }
}

/// `[batch, channels, height, width]`, with other names for the first two.
pub(super) fn images<const N: usize>([first, second]: [&str; 2]) -> String {
    let sizes = match N {
        1 => "length",
        2 => "height, width",
        _ => "depth, height, width",
    };
    format!("[{first}, {second}, {sizes}]")
}

/// The number of elements that a window spans, including the gaps of the dilation.
pub(super) fn reach(kernel: usize, dilation: usize) -> Option<usize> {
    let reach = dilation.checked_mul(kernel.checked_sub(1)?)?;
    reach.checked_add(1)
}

/// The product of sizes that have not been checked.
pub(super) fn product(sizes: &[usize]) -> Option<usize> {
    let mut sizes = sizes.iter();
    sizes.try_fold(1_usize, |product, &size| product.checked_mul(size))
}

/// Checks that no size is 0.
pub(super) fn check_positive<const N: usize, const M: usize>(
    op: &'static str,
    arguments: [(&'static str, [usize; N]); M],
) -> Result<()> {
    for (name, sizes) in arguments {
        if sizes.contains(&0) {
            let sizes = format_args!("{sizes:?}");
            return Err(Error::argument(op, name, sizes, "must not be 0"));
        }
    }
    Ok(())
}

impl Tensor {
    /// This tensor as `[batch, channels, size…]`, and whether it had a batch.
    pub(super) fn batched<const N: usize>(&self, op: &'static str) -> Result<(Self, bool)> {
        if !(1..=3).contains(&N) {
            let expected = "one to three spatial dimensions";
            return Err(self.shape().error(op, expected));
        }
        match self.rank().checked_sub(N) {
            Some(2) => Ok((self.clone(), true)),
            Some(1) => Ok((self.unsqueeze(0)?, false)),
            _ => {
                let expected = format!(
                    "{} or without the batch",
                    images::<N>(["batch", "channels"])
                );
                Err(self.shape().error(op, expected))
            }
        }
    }

    /// Refuses `[batch, channels, …]` without channels, where PyTorch does.
    pub(super) fn check_channels(&self, op: &'static str) -> Result<()> {
        match self.shape().get(1) {
            Some(0) => Err(self.shape().error(op, "at least one channel")),
            _ => Ok(()),
        }
    }

    pub(super) fn unbatched(self, batched: bool) -> Result<Self> {
        if batched { Ok(self) } else { self.squeeze(0) }
    }

    /// The last `N` sizes.
    pub(super) fn spatial<const N: usize>(&self) -> [usize; N] {
        let lead = self.rank().saturating_sub(N);
        std::array::from_fn(|d| self.shape().get(lead + d).copied().unwrap_or(1))
    }
}
