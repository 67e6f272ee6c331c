use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use module_tensor::backend::Operand;
use module_tensor::{DType, Device, DeviceError, Error, Result};
use wgpu::{ExperimentalFeatures, Features, MemoryHints};

use crate::adapter::{self, Adapter};
use crate::failures::Failures;
use crate::index_checks::{self, CLEAR, IndexChecks};
use crate::pipelines::{Pipeline, Pipelines, Signature};
use crate::pool::{Memory, Pool};
use crate::recorder::Recorder;
use crate::staging::Staging;
use crate::stats::{Counters, Stats, add};
use crate::storage::GpuStorage;
use crate::wait::wait_for;

pub(crate) const KIND: &str = "gpu";

/// The buffers that a kernel reads and writes at most.
const BUFFERS: u32 = 10;

/// The kernels and the memory of a GPU; found by
/// [`Device::backend_as`](module_tensor::Device::backend_as).
///
/// # Example
///
/// ```
/// use module_gpu::Gpu;
///
/// if let Ok(device) = module_gpu::device(0) {
///     let gpu: &Gpu = device.backend_as().unwrap();
///     println!("{}: {:?}", gpu.adapter(), gpu.stats());
/// }
/// ```
pub struct Gpu {
    about: Adapter,
    device: OnceLock<Device>,
    pub(crate) wgpu: wgpu::Device,
    pub(crate) pool: Arc<Pool>,
    pub(crate) staging: Staging,
    pub(crate) pipelines: Pipelines,
    recorder: Mutex<Recorder>,
    pub(crate) failures: Arc<Failures>,
    pub(crate) index_checks: IndexChecks,
    pub(crate) counters: Counters,
    cpu_dropout: AtomicBool,
    tensor_cores: bool,
}

/// The permission for experiments of wgpu.
#[allow(unsafe_code)]
fn allow_experiments() -> ExperimentalFeatures {
    // SAFETY: of the experiments, only `TENSOR_CORES` are asked for, whose operations are in `matrix_tiles` only: all invocations
    // of a workgroup reach them, and what they read and write lies in the memory of the workgroup, which is as large as they need.
    unsafe { ExperimentalFeatures::enabled() }
}

/// The bytes of memory that are kept for reuse at most, on a processor that shares the memory of the system.
const KEPT: u64 = 512 << 20;

/// A kernel to launch.
pub(crate) struct Launch<'a> {
    pub(crate) op: &'static str,
    /// Says all that the source depends on.
    pub(crate) key: String,
    pub(crate) reads: &'a [&'a Memory],
    pub(crate) writes: &'a [&'a Memory],
    pub(crate) parameters: &'a [u32],
    /// The number of workgroups.
    pub(crate) groups: u64,
    pub(crate) source: &'a dyn Fn() -> String,
}

impl Gpu {
    /// Opens an adapter, with tensor cores if they are asked for.
    pub(crate) fn open(
        adapter: &wgpu::Adapter,
        about: Adapter,
        tensor_cores: bool,
    ) -> Result<Self> {
        let index = about.index;
        let buffers = adapter.limits().max_storage_buffers_per_shader_stage;
        if buffers < BUFFERS {
            let problem = format!(
                "kernels need {BUFFERS} storage buffers, and the adapter has {buffers}; use another one"
            );
            return Err(failed(index, problem));
        }
        let mut wanted = Features::SHADER_F64 | Features::SHADER_INT64;
        let mut experimental_features = ExperimentalFeatures::disabled();
        if tensor_cores {
            wanted |= adapter::TENSOR_CORES;
            experimental_features = allow_experiments();
        }
        let request = adapter.request_device(&wgpu::DeviceDescriptor {
            label: Some("module-gpu"),
            required_features: adapter.features() & wanted,
            required_limits: adapter.limits(),
            experimental_features,
            memory_hints: MemoryHints::Performance,
            ..Default::default()
        });
        let (device, queue) = wait_for(request).map_err(|error| failed(index, error))?;
        let failures = Arc::new(Failures::default());
        let kept = Arc::clone(&failures);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            kept.keep(&error.to_string());
        }));
        let kept = Arc::clone(&failures);
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                kept.keep(&format!("the device was lost: {message}"));
            }
        });
        // A processor with memory of its own keeps all that it was given, as asking the driver for memory takes milliseconds.
        let most_kept = match adapter.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => u64::MAX,
            _ => KEPT,
        };
        let pool = Pool::new(device.clone(), about.max_storage_bytes, most_kept);
        let pool = Arc::new(pool);
        let index_checks =
            IndexChecks::new(&pool).ok_or_else(|| memory_error(index, index_checks::BYTES))?;
        queue.write_buffer(index_checks.memory.buffer(), 0, &CLEAR);
        let staging = Staging::default();
        let recorder = Recorder::new(
            device.clone(),
            queue,
            staging.clone(),
            Arc::clone(&failures),
        );
        Ok(Self {
            about,
            device: OnceLock::new(),
            pool,
            pipelines: Pipelines::new(device.clone()),
            staging,
            recorder: Mutex::new(recorder),
            wgpu: device,
            failures,
            index_checks,
            counters: Counters::default(),
            cpu_dropout: AtomicBool::new(false),
            tensor_cores,
        })
    }

    /// Whether products use the tensor cores of the adapter.
    pub(crate) fn has_tensor_cores(&self) -> bool {
        self.tensor_cores
    }

    /// The adapter behind the device.
    pub fn adapter(&self) -> &Adapter {
        &self.about
    }

    /// The work of the device since it was opened.
    pub fn stats(&self) -> Stats {
        self.counters.stats()
    }

    /// The bytes of memory that storages use; [`kept_bytes`](Self::kept_bytes) are not counted.
    pub fn used_bytes(&self) -> u64 {
        self.pool.bytes()[0]
    }

    /// The bytes of memory that are kept for new storages.
    pub fn kept_bytes(&self) -> u64 {
        self.pool.bytes()[1]
    }

    /// Refuses memory beyond this many bytes, those that are kept included.
    pub fn set_memory_limit(&self, bytes: u64) {
        self.pool.set_limit(bytes);
    }

    /// How many launches are handed to the driver together, 64 unless it is set; 0 counts as 1.
    ///
    /// With 1, an error that arrives late names the one operation that asked for the work, as with PyTorch's
    /// `CUDA_LAUNCH_BLOCKING=1`; larger groups cost less time.
    ///
    /// # Example
    ///
    /// ```
    /// use module_gpu::Gpu;
    ///
    /// if let Ok(device) = module_gpu::device(0)
    ///     && let Some(gpu) = device.backend_as::<Gpu>()
    /// {
    ///     gpu.set_group_size(1); // while looking for an error
    /// }
    /// ```
    pub fn set_group_size(&self, launches: usize) {
        self.recorder().set_group_size(launches, &self.counters);
    }

    /// Whether dropout drops the elements that it drops on the CPU, which are PyTorch's there. The masks are then drawn on the
    /// CPU, about 2 ns for each element, and moved to the device.
    ///
    /// Otherwise a kernel computes them from a number that the default generator of the CPU draws: a seed still gives the same
    /// masks again, and a checkpoint of that generator's state is enough to resume.
    ///
    /// # Example
    ///
    /// ```
    /// use module_gpu::Gpu;
    /// use module_nn::prelude::*;
    ///
    /// # fn main() -> module_nn::Result<()> {
    /// let Ok(device) = module_gpu::device(0) else {
    ///     return Ok(());
    /// };
    /// let gpu: &Gpu = device.backend_as().unwrap();
    /// let x = Tensor::ones([100], DType::F32)?;
    /// gpu.set_cpu_dropout(true);
    /// let on_device = fork_rng(0, || x.to_device(&device)?.dropout(0.5))?;
    /// assert!(on_device.to_device(&Device::cpu())?.equal(&fork_rng(0, || x.dropout(0.5))?)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_cpu_dropout(&self, is_set: bool) {
        self.cpu_dropout.store(is_set, Ordering::Relaxed);
    }

    pub(crate) fn has_cpu_dropout(&self) -> bool {
        self.cpu_dropout.load(Ordering::Relaxed)
    }

    /// The device under which this backend is registered.
    pub(crate) fn device(&self) -> Device {
        let find = || {
            let mut all = Device::all().into_iter();
            let own = |d: &Device| d.kind() == KIND && d.index() == self.about.index;
            // Kernels are called with tensors on the device, which is registered by then.
            all.find(own).unwrap_or_default()
        };
        *self.device.get_or_init(find)
    }

    pub(crate) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of the driver.
    pub(crate) fn failed(
        &self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        failed(self.about.index, source)
    }

    /// New memory for this many elements.
    pub(crate) fn allocate(&self, numel: usize, dtype: DType) -> Result<GpuStorage> {
        let bytes = numel.saturating_mul(dtype.size_in_bytes());
        let take = || self.pool.take(bytes as u64);
        let take_again = || {
            // What is kept may be all that there is; the driver has it back when the work that used it is done.
            self.recorder().submit(&self.counters);
            self.pool.empty();
            self.staging.empty();
            let _ = self.wgpu.poll(wgpu::PollType::wait_indefinitely());
            take()
        };
        let memory = match self.pool.may_hold(bytes as u64) {
            true => take().or_else(take_again),
            false => None,
        };
        let memory = memory.ok_or_else(|| memory_error(self.about.index, bytes))?;
        let device = self.device();
        Ok(GpuStorage {
            memory,
            dtype,
            numel,
            device,
        })
    }

    /// The memory of an operand.
    pub(crate) fn data<'a>(&self, op: &'static str, x: &'a Operand) -> Result<&'a GpuStorage> {
        x.storage.data(op, self.device())
    }

    /// Records the launch of a kernel.
    ///
    /// # Errors
    ///
    /// A kernel that the driver does not compile.
    pub(crate) fn launch(&self, launch: Launch<'_>) -> Result<()> {
        let pipeline = self.pipeline(&launch)?;
        let memory = launch.reads.iter().chain(launch.writes);
        let buffers: Vec<&wgpu::Buffer> = memory.map(|memory| memory.buffer()).collect();
        let (parameters, groups) = (launch.parameters, launch.groups);
        let mut recorder = self.recorder();
        recorder.launch(
            launch.op,
            &pipeline,
            &buffers,
            parameters,
            groups,
            &self.counters,
        );
        Ok(())
    }

    fn pipeline(&self, launch: &Launch<'_>) -> Result<Arc<Pipeline>> {
        if let Some(pipeline) = self.pipelines.get(&launch.key) {
            return Ok(pipeline);
        }
        add(&self.counters.compiled, 1);
        let signature = Signature {
            reads: launch.reads.len(),
            writes: launch.writes.len(),
            parameters: launch.parameters.len(),
        };
        let source = (launch.source)();
        let compiled = self
            .pipelines
            .compile(launch.key.clone(), signature, &source);
        compiled.map_err(|error| self.failed(format!("{}: {error}", launch.op)))
    }
}

/// The largest number that kernels count to, in 32 bits, beyond which they may go by a step.
const MOST: u32 = 0xfff0_0000;

/// A number that kernels take as a parameter.
///
/// # Errors
///
/// One beyond what kernels count to.
pub(crate) fn word(op: &'static str, number: usize) -> Result<u32> {
    let word = u32::try_from(number).ok().filter(|&word| word <= MOST);
    word.ok_or_else(|| too_many(op, number))
}

/// The error of a tensor whose elements kernels cannot count.
pub(crate) fn too_many(op: &'static str, numel: usize) -> Error {
    let problem = format!("kernels of this device count to {MOST}; split the tensor");
    Error::argument(op, "numel", numel, problem)
}

pub(crate) fn failed(
    index: usize,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    let (device, source) = (format!("{KIND}:{index}"), source.into());
    DeviceError::Failed { device, source }.into()
}

fn memory_error(index: usize, bytes: usize) -> Error {
    let device = format!("{KIND}:{index}");
    DeviceError::OutOfMemory { device, bytes }.into()
}
