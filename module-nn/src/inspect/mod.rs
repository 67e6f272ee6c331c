//! Inspection of models: the calls of a forward pass, the outputs of parts, the gradients that reach them, and pictures
//! of the pass (with the feature `inspect-pictures`).
//!
//! | to see | use |
//! |---|---|
//! | the layers with their shapes, parameters and multiply-adds | [`summary`](summary()), which returns a [`Summary`] |
//! | every call of a pass, in order, with times and tensors | [`Trace`], which also writes a file for a profiler |
//! | the network as a picture | [`Picture`], from a [`Trace`] |
//! | the outputs of chosen parts | [`FeatureExtractor`] |
//! | gradients that vanish, explode or are missing | [`GradientInspector`] |
//!
//! [`replace`](replace()), [`replace_typed`] and [`wrap`] exchange parts of a model for others.
//!
//! # Example
//!
//! ```
//! use module_nn::prelude::*;
//!
//! let net = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 2)?);
//! let summary = summary(&net, Tensor::zeros([1, 4], DType::F32)?)?;
//! assert_eq!(summary.num_parameters(), 58);
//! println!("{summary}");
//! # Ok::<(), Error>(())
//! ```

mod chrome;
mod clock;
mod cost;
mod features;
mod flow;
mod gradients;
mod model_info;
#[cfg(feature = "inspect-pictures")]
mod picture;
mod record;
mod replace;
mod rows;
mod summary;
mod table;
mod tensor_info;
mod trace;
mod units;

pub use features::{Feature, FeatureExtractor, Features};
pub use flow::{Endpoint, Flow};
pub use gradients::{GradientFlag, GradientInspector, GradientReport, GradientStats};
#[cfg(feature = "inspect-pictures")]
pub use picture::Picture;
pub use replace::{replace, replace_typed, wrap};
pub use summary::{Column, Summary, summary};
pub use tensor_info::TensorInfo;
pub use trace::{ParameterInfo, Trace, TracedCall};
