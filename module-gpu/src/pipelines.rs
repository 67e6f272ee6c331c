//! Compiled kernels, by a key that says all that their source depends on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    BufferBindingType, ComputePipeline, ComputePipelineDescriptor, Device, ErrorFilter,
    PipelineLayoutDescriptor, ShaderModule, ShaderModuleDescriptor, ShaderRuntimeChecks,
    ShaderSource, ShaderStages,
};

#[cfg(test)]
use crate::adapter::TENSOR_CORES;
use crate::matrix_tiles::DIRECTIVES;
use crate::wait::wait_for;

/// A compiled kernel.
pub(crate) struct Pipeline {
    pub(crate) pipeline: ComputePipeline,
    pub(crate) layout: Arc<BindGroupLayout>,
    /// The size of its parameters.
    pub(crate) parameters: u64,
}

/// How many buffers a kernel reads and writes, and the number of its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Signature {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
    pub(crate) parameters: usize,
}

impl Signature {
    /// The number of vectors of four words that hold the parameters.
    fn vectors(self) -> usize {
        self.parameters.div_ceil(4).max(1)
    }
}

pub(crate) struct Pipelines {
    device: Device,
    all: Mutex<HashMap<String, Arc<Pipeline>>>,
    layouts: Mutex<HashMap<Signature, Arc<BindGroupLayout>>>,
}

impl Pipelines {
    pub(crate) fn new(device: Device) -> Self {
        Self {
            device,
            all: Mutex::default(),
            layouts: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Arc<Pipeline>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(key).cloned()
    }

    /// Compiles a kernel. In the source `$3` stands for parameter 3, a `u32`, `$f3` for it as an `f32` and `$i3` as an `i32`.
    ///
    /// # Errors
    ///
    /// The compiler's message.
    pub(crate) fn compile(
        &self,
        key: String,
        signature: Signature,
        source: &str,
    ) -> Result<Arc<Pipeline>, String> {
        let vectors = signature.vectors();
        // Directives come before everything else.
        let (directives, source) = match source.strip_prefix(DIRECTIVES) {
            Some(rest) => (DIRECTIVES, rest),
            None => ("", source),
        };
        let source = format!(
            "{directives}@group(0) @binding(0) var<uniform> parameters: array<vec4<u32>, {vectors}>;\n{}",
            with_parameters(source)
        );
        #[cfg(test)]
        let source = match self.device.features().contains(TENSOR_CORES) {
            true => source,
            false => crate::matrix_tiles::tests::emulation::emulated(&source),
        };
        let scope = self.device.push_error_scope(ErrorFilter::Validation);
        let module = self.module(ShaderModuleDescriptor {
            label: Some(&key),
            source: ShaderSource::Wgsl(source.as_str().into()),
        });
        let layout = self.layout(signature);
        let of_pipeline = self
            .device
            .create_pipeline_layout(&PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
        let pipeline = self
            .device
            .create_compute_pipeline(&ComputePipelineDescriptor {
                label: Some(&key),
                layout: Some(&of_pipeline),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions {
                    // Kernels write before they read.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            });
        if let Some(error) = wait_for(scope.pop()) {
            return Err(format!(
                "kernel `{key}` does not compile: {error}\n{source}"
            ));
        }
        let parameters = 16 * vectors as u64;
        let pipeline = Arc::new(Pipeline {
            pipeline,
            layout,
            parameters,
        });
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(all.entry(key).or_insert(pipeline)))
    }

    /// Checks all that wgpu checks, except that loops end: it counts each round for that, which takes up to half of a loop's time.
    #[allow(unsafe_code)]
    fn module(&self, source: ShaderModuleDescriptor<'_>) -> ShaderModule {
        let checks = ShaderRuntimeChecks {
            force_loop_bounding: false,
            ..ShaderRuntimeChecks::checked()
        };
        // SAFETY: the checks that are left are of loops. Those of this crate's kernels, to which nothing is added from outside,
        // count up to a number that leaves place for another step below the end of 32 bits (`word`), or down; halve or double a
        // number; or follow a list that a kernel of this crate has linked, in which every place occurs once.
        unsafe { self.device.create_shader_module_trusted(source, checks) }
    }

    fn layout(&self, signature: Signature) -> Arc<BindGroupLayout> {
        let mut all = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        let create = || {
            let entry = |binding: usize, ty: BufferBindingType| BindGroupLayoutEntry {
                binding: binding as u32,
                visibility: ShaderStages::COMPUTE,
                ty: BindingType::Buffer {
                    ty,
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            };
            let Signature { reads, writes, .. } = signature;
            let kind = |i: usize| BufferBindingType::Storage {
                read_only: i <= reads,
            };
            let mut entries = vec![entry(0, BufferBindingType::Uniform)];
            entries.extend((1..=reads + writes).map(|i| entry(i, kind(i))));
            let layout = self
                .device
                .create_bind_group_layout(&BindGroupLayoutDescriptor {
                    label: None,
                    entries: &entries,
                });
            Arc::new(layout)
        };
        Arc::clone(all.entry(signature).or_insert_with(create))
    }
}

/// Replaces `$3` by the expression for parameter 3.
pub(crate) fn with_parameters(source: &str) -> String {
    let mut parts = source.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (kind, rest) = match part.as_bytes().first() {
            Some(b'f') => ("f32", &part[1..]),
            Some(b'i') => ("i32", &part[1..]),
            _ => ("", part),
        };
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (number, rest) = rest.split_at(end);
        let number: usize = number.parse().unwrap_or_default();
        let (vector, place) = (number / 4, ["x", "y", "z", "w"][number % 4]);
        let value = format!("parameters[{vector}].{place}");
        if kind.is_empty() {
            out.push_str(&value);
        } else {
            out.push_str(&format!("bitcast<{kind}>({value})"));
        }
        out.push_str(rest);
    }
    out
}
