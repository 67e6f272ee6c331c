use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_positive, config};
use crate::functional;

/// Interleaves the channels of all groups: channel `i` of group `g` goes to `i·groups + g`.
///
/// Source: Zhang et al., *ShuffleNet: An Extremely Efficient Convolutional Neural Network for Mobile Devices*
/// (2017).
///
/// # Shapes
///
/// `[batch, channels, size…]` to the same, with at least one size.
///
/// # Errors
///
/// Fewer than three dimensions, groups that do not divide the channels.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[[1.0_f32], [2.0], [3.0], [4.0]]]);
/// let y = ChannelShuffle::new(2)?.call(x)?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct ChannelShuffle {
    groups: usize,
}

config! {
    /// The arguments of [`ChannelShuffle`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let shuffle = ChannelShuffleConfig::new(3).build()?;
    /// assert_eq!(shuffle.tree().to_string(), "ChannelShuffle(groups=3)");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ChannelShuffleConfig => ChannelShuffle {
        required {
            /// The number of groups.
            groups: usize,
        }
    }
}

impl Build for ChannelShuffleConfig {
    type Output = ChannelShuffle;

    /// The layer.
    ///
    /// # Errors
    ///
    /// Zero groups.
    fn build(&self) -> Result<ChannelShuffle> {
        let groups = self.groups;
        check_positive("ChannelShuffle", "groups", groups)?;
        Ok(ChannelShuffle { groups })
    }
}

impl ChannelShuffle {
    /// The arguments that it was built from.
    pub fn config(&self) -> ChannelShuffleConfig {
        ChannelShuffleConfig {
            groups: self.groups,
        }
    }
}

impl Forward for ChannelShuffle {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        functional::channel_shuffle(&input, self.groups)
    }
}
