//! Looking into models: what a forward pass does, the outputs of parts, the gradients that arrive there, and pictures of
//! the pass (with the feature `inspect-pictures`).

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

pub use features::{Feature, FeatureExtractor, Features};
pub use flow::{Endpoint, Flow};
pub use gradients::{GradientFlag, GradientInspector, GradientReport, GradientStats};
#[cfg(feature = "inspect-pictures")]
pub use picture::Picture;
pub use replace::{replace, replace_typed, wrap};
pub use summary::{Column, Summary, summary};
pub use tensor_info::TensorInfo;
pub use trace::{ParameterInfo, Trace, TracedCall};
