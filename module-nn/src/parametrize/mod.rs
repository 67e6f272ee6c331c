//! Weights computed from others: PyTorch's `torch.nn.utils.parametrize`.
//!
//! PyTorch replaces a member of a module at run time. Here, a layer defines how it runs with a weight other than its
//! own ([`WithWeight`]), a [`Parametrization`] computes a weight, and [`Parametrized`] is the layer with the computed
//! weight, under PyTorch's keys.
//!
//! | PyTorch | here |
//! |---|---|
//! | `parametrizations.weight_norm` | [`weight_norm`](weight_norm()), [`WeightNorm`] |
//! | `parametrizations.spectral_norm` | [`spectral_norm`](spectral_norm()), [`SpectralNorm`] |
//! | `parametrize.register_parametrization` | [`parametrize`](parametrize()) |
//! | `parametrize.remove_parametrizations` | [`Parametrized::remove`] |
//! | a class with `forward` and `right_inverse` | a type that implements [`Parametrization`] |

mod layer;
mod spectral_norm;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod weight_norm;
mod without_weight;

pub use layer::{Parametrization, Parametrized, WithWeight, parametrize};
pub use spectral_norm::{SpectralNorm, SpectralNormConfig, spectral_norm};
pub use weight_norm::{WeightNorm, weight_norm};
