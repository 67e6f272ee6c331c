//! Averages of a model's values over training: `torch.optim.swa_utils`.
//!
//! [`EMA`] and [`SWA`] are formulas ([`AveragingRule`]) on one list of tensors by path ([`AveragedModel`]), and so is an
//! average of another crate. There is no second model: the averaged values are temporarily swapped into the existing one,
//! or it is called with them.

mod averaged_model;
mod ema;
mod error;
mod state;
mod swa;
mod tensors;
mod update_bn;

pub use averaged_model::{AveragedModel, AveragingRule};
pub use ema::{EMA, EMAConfig};
pub use error::AveragingError;
pub use swa::{SWA, SWAConfig};
pub use update_bn::update_bn;
