use std::ops::Range;

use module_nn::prelude::*;

use crate::Digits;

/// Some of the digits, upright and upside down.
pub struct TurnedDigits {
    /// `[count, 64]`, as they were written.
    pub upright: Tensor,
    /// The same, upside down.
    pub turned: Tensor,
    /// `[count]`, the digits as `I64`.
    pub labels: Tensor,
}

impl TurnedDigits {
    /// The digits in a range.
    ///
    /// # Errors
    ///
    /// A range that reaches beyond the digits.
    pub fn of(digits: &Digits, range: Range<usize>) -> Result<Self> {
        let upright = digits.images.narrow(0, range.clone())?.flatten(1, -1)?;
        Ok(Self {
            turned: upright.flip(1)?,
            upright,
            labels: digits.labels.narrow(0, range)?,
        })
    }

    /// The number of images that a network reads correctly: upright, and upside down.
    ///
    /// # Errors
    ///
    /// Those of the network.
    pub fn right(&self, net: &impl Call<Tensor, Output = Tensor>) -> Result<[i64; 2]> {
        let right = |images: &Tensor| {
            let found = no_grad(|| net.call(images.clone()))?.argmax(1)?;
            found.eq(&self.labels)?.sum(..)?.item::<i64>()
        };
        Ok([right(&self.upright)?, right(&self.turned)?])
    }

    /// Prints these numbers.
    ///
    /// # Errors
    ///
    /// Those of the network.
    pub fn print(&self, net: &impl Call<Tensor, Output = Tensor>, what: &str) -> Result<()> {
        let ([upright, turned], count) = (self.right(net)?, self.labels.numel());
        println!("{what:32} {upright:3} of {count} upright, {turned:3} upside down");
        Ok(())
    }
}
