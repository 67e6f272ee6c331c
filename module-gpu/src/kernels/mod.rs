//! The kernels, one file for each family.

mod attention;
mod attention_code;
mod binary;
mod cast;
mod choose;
mod compare;
mod convolution;
mod copy;
mod cross_entropy;
mod full;
mod fused_on_host;
mod gather_along;
mod indexing;
mod join;
mod links;
mod matmul;
mod normalize;
mod number;
mod packed_matmul;
mod pool;
mod pool_windows;
mod reduce;
mod resample;
mod resample_weights;
mod rounded_inputs;
mod sample;
mod scan;
mod softmax;
mod sort;
mod table;
mod unary;
mod unary_code;
mod unfold;
mod update;
mod write_through;

pub(crate) use indexing::Scatter;
