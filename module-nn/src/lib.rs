//! PyTorch's `nn.Module` in Rust: layers, losses, initializers, optimizers, data loading, metrics, logs and adapters.
//!
//! This is the crate to depend on. It re-exports [`module_core`] (parameters, modules, hooks, checkpoints), which re-exports
//! `module_tensor` (tensors, gradients, devices).
//!
//! # Example
//!
//! ```
//! use module_nn::prelude::*;
//!
//! #[derive(Module)]
//! struct Net {
//!     hidden: Linear,
//!     head: Linear,
//! }
//!
//! impl Forward for Net {
//!     type Output = Tensor;
//!
//!     fn forward(&self, x: Tensor) -> Result<Tensor> {
//!         self.head.call(self.hidden.call(x)?.relu()?)
//!     }
//! }
//!
//! let net = Net { hidden: Linear::new(4, 8)?, head: Linear::new(8, 2)? };
//! assert_eq!(net.call(Tensor::randn([3, 4], DType::F32)?)?.shape().to_string(), "[3, 2]");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Where to begin
//!
//! 1. [`prelude`] has what most programs import.
//! 2. [`Module`] is a network: a struct whose fields are layers, parameters and buffers. [`Forward`] is its
//!    computation, and [`call`](Call::call) runs it. [`ModuleExt`] has the methods of all modules: `parameters`,
//!    `train`, `save`, `load`, `freeze`, `register_forward_hook`.
//! 3. [`layers`] lists the layers by family, [`loss`] the losses; [`Tensor`] has the operations between them.
//! 4. [`optim`] has the optimizers and learning-rate schedules, [`data`] the data sets and the loader.
//! 5. [`audit`] finds out why a network does not learn.
//!
//! The search on these pages also finds items by PyTorch's names.
//!
//! # Modules
//!
//! | to | see |
//! |---|---|
//! | build a network | [`layers`], [`functional`], [`init`], [`config`](mod@config) (arguments and layers of your own), [`rnn`] (sequences of several lengths) |
//! | train it | [`loss`], [`optim`], [`data`] with its readers and [`data::transforms`], [`metrics`], [`log`], [`plot`] |
//! | save memory | [`autocast()`](autocast), [`activation_checkpoint`] |
//! | save and load it | [`checkpoint`], [`StateDict`], [`LoadOptions`] |
//! | change it afterwards | [`lora`] (adapters), [`quantize`], [`parametrize`], [`inspect`] (which also replaces parts) |
//! | look into it | [`inspect`], [`hooks`], [`audit`] |
//! | use it | [`generate`] (texts), [`functional_call()`](functional_call) (with other parameter values) |
//! | work below the level of layers | [`module`], [`autograd`], [`backend`], [`rng`], [`error`], [`fused`] |

extern crate self as module_nn;

#[cfg(feature = "audit")]
pub mod audit;
pub mod config;
#[cfg(feature = "data")]
pub mod data;
#[cfg(all(test, feature = "data", feature = "peft"))]
mod error_tests;
pub mod functional;
#[cfg(feature = "generate")]
pub mod generate;
pub mod init;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod layers;
pub mod log;
pub mod lora;
pub mod loss;
#[cfg(feature = "metrics")]
pub mod metrics;
pub mod optim;
pub mod parametrize;
#[cfg(feature = "plot")]
pub mod plot;
pub mod quantize;
pub mod rnn;

pub use config::{Argument, Build, OneOrEach, Weights};
#[doc(hidden)]
pub use config::{ConfigArguments, Configurable};
pub use layers::*;
pub use loss::*;
#[doc(hidden)]
pub use module_core::__private;
pub use module_core::*;

/// The imports of most programs: modules, layers, losses, optimizers, schedules and loading.
pub mod prelude {
    #[doc(hidden)]
    pub use crate::ConfigArguments as _;
    #[cfg(feature = "fs")]
    pub use crate::TrainingCheckpoint;
    #[cfg(feature = "audit")]
    pub use crate::audit::Audit;
    #[cfg(feature = "inspect")]
    pub use crate::inspect::{
        FeatureExtractor, GradientFlag, GradientInspector, Summary, Trace, summary,
    };
    pub use crate::layers::*;
    pub use crate::loss::*;
    pub use crate::optim::{
        ASGD, ASGDConfig, Adadelta, AdadeltaConfig, Adafactor, AdafactorConfig, Adagrad,
        AdagradConfig, Adam, AdamConfig, AdamW, AdamWConfig, Adamax, AdamaxConfig, AnnealStrategy,
        AveragedModel, AveragingRule, BestSnapshot, ChainedScheduler, ConstantLR, ConstantLRConfig,
        CosineAnnealingLR, CosineAnnealingLRConfig, CosineAnnealingWarmRestarts,
        CosineAnnealingWarmRestartsConfig, CyclicLR, CyclicLRConfig, CyclicLRMode, CyclicScaleMode,
        EMA, EMAConfig, EarlyStopping, EarlyStoppingConfig, ExponentialLR, ExponentialLRConfig,
        GradScaler, GradScalerConfig, LambdaLR, LinearLR, LinearLRConfig, Lion, LionConfig,
        MultiStepLR, MultiStepLRConfig, MultiplicativeLR, Muon, MuonConfig, NAdam, NAdamConfig,
        OneCycleLR, OneCycleLRConfig, Optimizer, OptimizerError, PlateauMode, PolynomialLR,
        PolynomialLRConfig, RAdam, RAdamConfig, RMSprop, RMSpropConfig, ReduceLROnPlateau,
        ReduceLROnPlateauConfig, Rprop, RpropConfig, SGD, SGDConfig, SWA, SWAConfig, SWALR,
        SWALRConfig, Schedule, ScheduleRule, SequentialLR, StepLR, StepLRConfig, ThresholdMode,
        UpdateRule, WarmupCosine, WarmupCosineConfig, clip_grad_norm, clip_grad_value,
    };
    pub use crate::{
        AutocastPolicy, AutocastState, AutogradError, Bias, Buffer, Build, Call, DType, DTypeError,
        Describe, Device, DeviceError, Error, ErrorKind, ExtraState, FileError, Forward,
        HookOptions, HookSet, Identity, IndexItem, Init, Layer, LoadOptions, LoadProblems,
        LoadReport, Marker, Maybe, Module, ModuleError, ModuleExt, OrIdentity, Parameter,
        ReadOptions, Remap, Result, Select, Sequential, Shape, ShapeError, StateDict, Stateful,
        Tensor, Tensors, Training, Transpose, Walk, autocast, deferred, fork_rng, functional_call,
        manual_seed, no_autocast, no_grad,
    };
}

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
