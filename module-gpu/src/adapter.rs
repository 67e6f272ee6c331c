//! The adapters of this machine: its graphics processors, and software that stands in for one.

use std::fmt;

use wgpu::{
    Backends, CooperativeMatrixProperties, CooperativeScalarType, Features, Instance,
    InstanceDescriptor, InstanceFlags, Limits,
};

use crate::matrix_tiles::{SUBGROUP, WORKGROUP_BYTES};
use crate::wait::wait_for;

/// The interfaces that run the kernels. OpenGL is not among them: it lacks what the kernels need.
const BACKENDS: Backends = Backends::PRIMARY;

/// An adapter of this machine and its limits.
///
/// # Example
///
/// ```
/// for adapter in module_gpu::adapters() {
///     println!("gpu:{}: {adapter}", adapter.index);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Adapter {
    /// The index of its device: `gpu:0` is the first.
    pub index: usize,
    /// The name of the processor.
    pub name: String,
    /// The interface that it is used through: `vulkan`, `metal`, `dx12`.
    pub interface: String,
    /// The driver and its version, as far as the system says.
    pub driver: String,
    /// Whether the adapter is software that runs on the CPU.
    pub is_software: bool,
    /// The maximum number of bytes of the elements of one tensor.
    pub max_storage_bytes: u64,
    /// Whether the adapter computes with `F64`; otherwise the CPU does.
    pub has_f64: bool,
    /// Whether the adapter computes with `I64`; otherwise the CPU does.
    pub has_i64: bool,
    /// Whether the adapter has tensor cores for `F16`
    /// ([`device_with_tensor_cores`](crate::device_with_tensor_cores)).
    pub has_tensor_cores: bool,
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = self.max_storage_bytes >> 20;
        write!(
            f,
            "{} ({}, tensors of up to {mib} MiB",
            self.name, self.interface
        )?;
        for (has, dtype) in [(self.has_f64, "float64"), (self.has_i64, "int64")] {
            if !has {
                write!(f, ", no {dtype}")?;
            }
        }
        f.write_str(")")
    }
}

/// The adapters of this machine: processors of their own first, then integrated ones, then software.
///
/// The list is empty on a machine without a driver that `wgpu` can use; the README of this crate says what to install.
pub fn adapters() -> Vec<Adapter> {
    let all = found();
    all.into_iter().map(|(_, about)| about).collect()
}

/// The adapters with their handles, in the order of their indices.
pub(crate) fn found() -> Vec<(wgpu::Adapter, Adapter)> {
    let mut descriptor = InstanceDescriptor::new_without_display_handle();
    descriptor.backends = BACKENDS;
    // Layers that check every call are for the development of `wgpu`.
    descriptor.flags = InstanceFlags::empty();
    let instance = Instance::new(descriptor);
    let mut all = wait_for(instance.enumerate_adapters(BACKENDS));
    all.retain(|adapter| {
        let capabilities = adapter.get_downlevel_capabilities();
        capabilities
            .flags
            .contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
    });
    all.sort_by_key(|adapter| order(adapter.get_info().device_type));
    let described = |(index, adapter): (usize, wgpu::Adapter)| {
        let about = describe(index, &adapter);
        (adapter, about)
    };
    all.into_iter().enumerate().map(described).collect()
}

fn order(kind: wgpu::DeviceType) -> usize {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

fn describe(index: usize, adapter: &wgpu::Adapter) -> Adapter {
    let (info, limits, features) = (adapter.get_info(), adapter.limits(), adapter.features());
    Adapter {
        index,
        name: info.name,
        interface: info.backend.to_string(),
        driver: format!("{} {}", info.driver, info.driver_info)
            .trim()
            .to_owned(),
        is_software: info.device_type == wgpu::DeviceType::Cpu,
        max_storage_bytes: max_storage_bytes(&limits),
        has_f64: features.contains(Features::SHADER_F64),
        has_i64: features.contains(Features::SHADER_INT64),
        has_tensor_cores: has_tensor_cores(adapter),
    }
}

/// What products of `F16` need for tensor cores.
pub(crate) const TENSOR_CORES: Features =
    Features::EXPERIMENTAL_COOPERATIVE_MATRIX.union(Features::SHADER_F16);

/// Whether kernels can multiply matrices of 16 × 16 `F16`, with sums in `F32`, by subgroups of the size that they expect.
fn has_tensor_cores(adapter: &wgpu::Adapter) -> bool {
    let info = adapter.get_info();
    let subgroup = [info.subgroup_min_size, info.subgroup_max_size];
    let is_wanted = |matrix: &CooperativeMatrixProperties| {
        [matrix.m_size, matrix.n_size, matrix.k_size] == [16; 3]
            && matrix.ab_type == CooperativeScalarType::F16
            && matrix.cr_type == CooperativeScalarType::F32
    };
    adapter.features().contains(TENSOR_CORES)
        && subgroup == [SUBGROUP as u32; 2]
        && adapter.limits().max_compute_workgroup_storage_size >= WORKGROUP_BYTES
        && adapter
            .cooperative_matrix_properties()
            .iter()
            .any(is_wanted)
}

/// The maximum size of a buffer that a kernel can read.
pub(crate) fn max_storage_bytes(limits: &Limits) -> u64 {
    limits
        .max_buffer_size
        .min(limits.max_storage_buffer_binding_size)
}
