//! The interface between tensors and devices.
//!
//! A backend owns memory and kernels. It knows nothing about gradients, and the code above it does not know how it computes.
//! Another crate adds a device, such as an accelerator, by implementing [`Backend`].
//!
//! The kernels of fused families, such as [`NormKernels`], get each operand in the dtype of its tensor, and the dtype
//! to compute in (`compute` of the geometry). Each device decides how to convert: the CPU widens half precision,
//! computes, and rounds each result once. Outputs come back in the dtype of the input, gradients in the dtype of the
//! tensor that they belong to. A [`Saved`] holds what a gradient needs from the forward pass, in a form that the device
//! chooses and that nothing else reads.
//!
//! | group | items |
//! |---|---|
//! | a device | [`Device`], [`Backend`] and its optional families of fused kernels: [`NormKernels`], [`AttentionKernels`], [`CrossEntropyKernels`], [`CtcKernels`], [`RecurrentKernels`], [`SoftmaxKernels`], [`DropoutKernels`], [`GridSampleKernels`], [`UpdateKernels`] |
//! | memory | [`Storage`], [`StorageData`], [`Operand`], [`Element`], [`HostData`] |
//! | operations, by family | [`UnaryOp`], [`BinaryOp`], [`CompareOp`], [`ReduceOp`], [`ArgReduceOp`], [`ConvOp`], [`UnfoldOp`], [`SoftmaxOp`], [`SampleOp`], [`LinearOp`] |
//! | parameters of kernels | [`ConvGeometry`], [`PoolGeometry`], [`NormGeometry`], [`AttentionGeometry`] and the other types whose names end in `Geometry` |
//! | packed elements | [`Packed`], [`PackedRuns`], [`BlockFormat`] |
//! | random numbers | [`DeviceGenerator`], [`Distribution`] |
//! | formulas of optimizers | [`UpdateFormula`], [`Real`], [`Formula`] |
//!
//! # Example
//!
//! ```
//! use module_tensor::backend::{HostData, Operand, SharedBytes};
//! use module_tensor::{DType, Device, Element, Layout, Scalar};
//!
//! // What every operation goes through: memory on the device, a kernel, and back.
//! let backend = Device::cpu().backend();
//! let x = Operand {
//!     storage: backend.upload(HostData::F32(vec![1.5, 2.5, 3.5, 4.5]))?,
//!     layout: Layout::contiguous([2, 2].into()),
//! };
//! let flat = |storage| Operand { storage, layout: Layout::contiguous(4.into()) };
//! let integers = flat(backend.cast(x.clone(), DType::I64)?);
//! assert_eq!(i64::from_host(backend.download(&integers)?), Some(vec![1, 2, 3, 4]));
//! let copy = flat(backend.contiguous(x.clone())?);
//! assert_eq!(f32::from_host(backend.download(&copy)?), Some(vec![1.5, 2.5, 3.5, 4.5]));
//! let sevens = flat(backend.full(4, DType::I64, Scalar::from(7_i64))?);
//! assert_eq!(i64::from_host(backend.download(&sevens)?), Some(vec![7; 4]));
//!
//! // Bytes of a file need not be copied.
//! let bytes = SharedBytes::new(vec![1_u8, 2, 3, 4]);
//! let borrowed = flat(backend.borrow(bytes, DType::U8)?);
//! assert_eq!(u8::from_host(backend.download(&borrowed)?), Some(vec![1, 2, 3, 4]));
//!
//! // The CPU reads no other device's memory, has a generator, and nothing to wait for.
//! assert!(backend.copy_from(&x)?.is_none());
//! assert_eq!(backend.generator(3).map(|generator| generator.initial_seed()), Some(3));
//! backend.synchronize()?;
//! backend.empty_cache();
//! # Ok::<(), module_tensor::Error>(())
//! ```

mod absent;
mod composed;
pub(crate) mod cpu;
mod device;
mod dispatch;
mod formula;
mod fused;
mod geometry;
mod host;
mod kernels;
mod memory;
mod ops;
mod packed;
mod quantized;
mod random;
mod real;
mod releasable;
mod saved;
mod shared;
mod storage;
mod storage_info;
mod unary;

pub use crate::simd::cpu_capability;
pub(crate) use absent::Absent;
pub(crate) use cpu::{
    ByFormula, CompiledFormula, Int8Groups, check_host_allocatable, cpu_bytes, cpu_computes,
    cpu_int8_dot, cpu_scratch, cpu_storage, cpu_unshare, cpu_view, fill_in_parts, host_slice,
    update_cpu,
};
pub use cpu::{exact_convolutions, num_threads, set_exact_convolutions, set_num_threads};
pub use device::{Device, default_device, with_default_device};
pub use formula::{Formula, FormulaOp, FormulaStep};
pub use fused::{
    AttentionInputs, AttentionKernels, CrossEntropyInputs, CrossEntropyKernels, CtcKernels,
    DropoutKernels, GridSampleKernels, NormGradients, NormInputs, NormKernels, Normalized,
    RecurrentGradients, RecurrentInputs, RecurrentKernels, RecurrentNeeds, RecurrentStates,
    SoftmaxKernels, UpdateKernels,
};
pub use geometry::{
    AttentionGeometry, CausalGeometry, ConvGeometry, CrossEntropyGeometry, CtcGeometry,
    GatherAlongGeometry, GatherDim, GridPaddingMode, GridSampleGeometry, GridSampleMode,
    NormGeometry, NormOver, Outside, PoolDivisor, PoolGeometry, PoolWindow, PoolWindows,
    RecurrentGeometry, ResampleGeometry, ResampleMode, SampleGeometry, UnfoldGeometry,
};
pub use host::{Element, HostData};
pub use kernels::Backend;
pub use memory::StorageData;
pub use ops::{
    ArgReduceOp, BinaryOp, CompareOp, ConvOp, FillRange, LinearOp, RecurrentOp, ReduceOp, SampleOp,
    SoftmaxOp, UnfoldOp,
};
pub use packed::{CodeOrder, CodeTables, CodedRows, Int8Rows, Packed, PackedRuns};
pub use quantized::{
    BlockFormat, BlockStorage, Int4Parts, Int4Storage, Int8Parts, Int8Storage, Nf4Absmax, Nf4Parts,
    Nf4Storage,
};
pub use random::{DeviceGenerator, Distribution};
pub use real::{Real, UpdateFormula};
pub(crate) use releasable::Releasable;
pub use saved::Saved;
pub use shared::SharedBytes;
pub use storage::{Operand, Storage};
pub use unary::UnaryOp;
