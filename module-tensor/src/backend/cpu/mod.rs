//! The CPU backend: host memory, and the kernels on it.

mod aligned_vec;
mod all_dtypes;
mod arg_reduce;
mod as_strided_scatter;
mod attention;
mod attention_mask;
mod attention_products;
mod attention_scores;
mod backend;
mod band;
mod bf16_product;
mod bf16_rows;
mod blocks;
mod carrier;
mod cast;
mod checked_indices;
mod choose;
mod coded_rows;
mod compute;
mod conv;
mod conv_by_planes;
mod conv_depthwise;
mod conv_direct;
mod conv_few_channels;
mod conv_joined;
mod conv_linear;
mod conv_planes;
mod conv_pointwise;
mod conv_samples;
mod conv_windows;
mod copy;
mod count;
mod cross_entropy;
mod ctc;
mod division;
mod dots;
mod each;
mod elementwise;
mod extremes;
mod float;
mod fmod;
mod fold;
mod fold_lines;
mod full;
mod fused;
mod gather;
mod gather_along;
mod gemm;
mod greatest;
mod half_pairs;
mod half_precision;
mod half_product;
mod half_sums;
mod index;
mod index_add;
mod int8_groups;
mod int8_product;
mod interleave;
mod joined_runs;
mod lane;
mod lanes;
mod lock;
mod logsumexp;
mod map;
mod matmul;
mod matrix_vector;
mod max_lines;
mod max_loops;
mod max_passes;
mod memory;
mod narrow;
mod nonzero;
mod normalize;
mod number;
mod packed_matmul;
mod packed_rows;
mod pair_kernel;
mod panels;
mod parallel_steps;
mod pieces;
mod plane_means;
mod pool;
mod pool_windows;
mod recurrent;
mod reduce;
mod reduced_lines;
mod regular_windows;
mod repeated;
mod resample;
mod resample_axes;
mod resample_axis;
pub(crate) mod rng;
mod row_loops;
mod runs;
mod sample;
mod scan;
mod short_lines;
mod short_rows;
mod softmax;
mod sort;
mod special;
mod storage;
mod strided_lines;
mod sum_columns;
mod sum_loops;
mod sum_passes;
#[cfg(test)]
mod tests;
#[cfg(feature = "threads")]
mod thread_pool;
mod threads;
mod transpose;
mod truncate;
mod truth;
mod unary;
mod unfold;
mod update;
mod update_in_place;
mod vector;
mod view;
mod window;
mod winograd;

pub(super) use backend::CPU;
pub(crate) use int8_groups::{Int8Groups, int8_dot as cpu_int8_dot};
pub(crate) use memory::{check_allocatable as check_host_allocatable, scratch as cpu_scratch};
pub(crate) use storage::cpu_storage;
pub(crate) use threads::fill_in_parts;
pub use threads::{num_threads, set_num_threads};
pub(crate) use update::{ByFormula, CompiledFormula, cpu_computes, cpu_unshare, update_cpu};
pub(crate) use view::{array_view as cpu_view, host_slice, le_bytes as cpu_bytes};
pub use winograd::{exact_convolutions, set_exact_convolutions};

use super::dispatch;
use super::unary::unary_ops;
use super::{
    ArgReduceOp, AttentionGeometry, AttentionInputs, BinaryOp, CodeOrder, CodedRows, CompareOp,
    ConvGeometry, ConvOp, CrossEntropyGeometry, CrossEntropyInputs, CtcGeometry, Device, Element,
    FillRange, GatherAlongGeometry, GatherDim, GridPaddingMode, GridSampleGeometry, GridSampleMode,
    HostData, Int8Rows, LinearOp, NormGeometry, NormGradients, NormInputs, NormOver, Normalized,
    Operand, Outside, PackedRuns, PoolDivisor, PoolGeometry, PoolWindow, PoolWindows, Real,
    RecurrentGeometry, RecurrentGradients, RecurrentInputs, RecurrentNeeds, RecurrentOp,
    RecurrentStates, ReduceOp, ResampleGeometry, ResampleMode, SampleGeometry, SampleOp, Saved,
    SharedBytes, SoftmaxOp, Storage, StorageData, UnaryOp, UnfoldGeometry, UnfoldOp, UpdateFormula,
};
use crate::simd;
use memory::{check_allocatable, scratch};
use storage::{CpuStorage, elements, elements_of};
