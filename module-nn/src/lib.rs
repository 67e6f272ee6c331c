//! PyTorch's layers, losses, initializers, optimizers and data loading, on the module contract of [`module_core`], which
//! this crate re-exports: one dependency is enough.
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

/// Everything needed to write a network.
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
