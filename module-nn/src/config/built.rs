//! The path from `Conv2d::new(3, 8, 3).stride(2)` to the configuration.

use module_core::{Error, Result};

/// A trait that no built layer has.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "this argument is set on the configuration, but here the layer is already built",
    label = "an argument of the configuration",
    note = "`Conv2d::new` takes only the required arguments; `Conv2dConfig::new(3, 8, 3).stride(2).build()?` sets others, and every layer has such a configuration"
)]
pub trait Configurable {}

macro_rules! arguments {
    ($($name:ident)*) => {
        /// The optional arguments of layers and losses as methods of what `new` returns, so that the compiler finds them
        /// there and says where they belong.
        #[doc(hidden)]
        pub trait ConfigArguments: Sized {
            $(fn $name<T>(self, _: T) -> Self {
                self
            })*
        }
    };
}

arguments!(
    activation add_bias_kv add_zero_attn affine align_corners alpha approximate batch_first beta bias
    bidirectional ceil_mode count_include_pad delta dilation dim dim_feedforward divisor_override
    dropout elementwise_affine eps groups ignore_index keepdim kdim label_smoothing lambd
    layer_norm_eps log_input log_target margin max_norm max_val min_val mode momentum
    negative_slope nonlinearity norm_first norm_type num_layers num_parameters output_padding
    padding padding_idx padding_mode pos_weight proj_size reduction scale_factor stride threshold
    track_running_stats vdim weight zero_infinity
);

impl<L> ConfigArguments for Result<L, Error> where Self: Configurable {}
