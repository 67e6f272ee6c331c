//! Initializers: how parameters get their initial values, bit for bit as PyTorch draws them.
//!
//! An initializer is a value. [`Parameter::with_init`](crate::Parameter::with_init) makes a parameter with one, and
//! [`Parameter::initialize`](crate::Parameter::initialize) gives it another. The parameter owns the last one, and
//! `reset_parameters` draws with it again. [`apply`] and [`each`] initialize modules of a tree, and [`Recommended`] chooses the
//! usual initializers for a network.
//!
//! Source: `torch.nn.init`; Glorot and Bengio (2010) for Xavier, He et al. (2015) for Kaiming.
//!
//! # Example
//!
//! ```
//! use module_nn::init::{self, XavierUniform, zeros};
//! use module_nn::prelude::*;
//!
//! let net = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
//! init::each(&net, |_path, linear: &Linear| {
//!     linear.weight().initialize(XavierUniform::new(1.0))?;
//!     linear.bias().get().map_or(Ok(()), |bias| bias.initialize(zeros()))
//! })?;
//! net.reset_parameters()?; // Draws by Xavier's rule again.
//! # Ok::<(), Error>(())
//! ```

mod draws;
mod fans;
mod gain;
mod orthogonal;
mod overwritten;
mod patterns;
mod recommended;
mod tree;

pub use draws::{
    Constant, Normal, TimmTruncNormal, TimmTruncNormalTf, TruncNormal, Uniform, ones, zeros,
};
pub use fans::{FanMode, KaimingNormal, KaimingUniform, XavierNormal, XavierUniform, fans};
pub use gain::{Nonlinearity, calculate_gain};
pub use orthogonal::Orthogonal;
pub(crate) use overwritten::Overwritten;
pub use patterns::{Blocks, Dirac, Eye, Sparse};
pub use recommended::{InitReport, Recommended};
pub use tree::{apply, each};
