//! How a convolution prints.

use std::fmt;

use module_core::{Padding, Sizes};

use super::ConvConfig;
use crate::layers::PaddingMode;

impl<const N: usize> ConvConfig<N> {
    /// Prints the arguments that differ from the defaults, as PyTorch does.
    pub(in crate::layers) fn print(
        &self,
        f: &mut fmt::Formatter<'_>,
        output_padding: [usize; N],
    ) -> fmt::Result {
        let Self {
            in_channels,
            out_channels,
            kernel_size,
            stride,
            ..
        } = self;
        write!(
            f,
            "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"
        )?;
        if self.padding != Padding::Size([0; N]) {
            write!(f, ", padding={}", self.padding)?;
        }
        if self.dilation.get() != [1; N] {
            write!(f, ", dilation={}", self.dilation)?;
        }
        if output_padding != [0; N] {
            write!(f, ", output_padding={}", Sizes::<N>::from(output_padding))?;
        }
        if self.groups != 1 {
            write!(f, ", groups={}", self.groups)?;
        }
        if !self.bias {
            write!(f, ", bias=False")?;
        }
        match self.padding_mode {
            PaddingMode::Zeros => Ok(()),
            mode => write!(f, ", padding_mode={}", mode.name()),
        }
    }
}
