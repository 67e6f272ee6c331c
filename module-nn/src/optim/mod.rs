//! Optimizers, which identify parameters by their paths in the model.
//!
//! [`SGD`], [`AdamW`] and most others are update rules ([`UpdateRule`]), which [`RuleOptimizer`] applies to each parameter. An
//! optimizer of your own can be one too: options and one function. One that steps in another way keeps its states in
//! [`ParamStates`]. [`LBFGS`] takes a closure, with which it evaluates the loss several times. There is no `SparseAdam`, because
//! there are no sparse gradients: `Adam` updates every row of an embedding.
//!
//! Gradients accumulate over backward passes until they are cleared. To step over `n` micro-batches as if they were one
//! batch, divide each loss by their number; the last step of an epoch may have fewer:
//!
//! ```
//! use module_nn::functional::{Reduction, mse_loss};
//! use module_nn::prelude::*;
//!
//! let model = Linear::new(2, 1)?;
//! let mut optimizer = SGD::new(&model, 0.1)?;
//! let (x, y) = (Tensor::randn([4, 2], DType::F32)?, Tensor::zeros([4, 1], DType::F32)?);
//! let batches = vec![(x, y); 5];
//! for together in batches.chunks(2) {
//!     for (x, y) in together {
//!         let loss = mse_loss(&model.call(x.clone())?, y, Reduction::Mean)?;
//!         loss.mul(1.0 / together.len() as f64)?.backward()?;
//!     }
//!     optimizer.step(&model)?;
//!     model.zero_grad();
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! A [`GradScaler`] keeps `F16` gradients from becoming zero.
//!
//! A [`Schedule`] changes the learning rates from step to step; [`ReduceLROnPlateau`] lowers them when a metric stops improving.
//!
//! [`EMA`] and [`SWA`] average the values of a model; [`EarlyStopping`] and [`BestSnapshot`] watch a metric.
//!
//! # Contents
//!
//! | group | items |
//! |---|---|
//! | optimizers with one rate for all elements | [`SGD`], [`ASGD`], [`Lion`], [`Muon`] |
//! | with a rate for each element | [`AdamW`], [`Adam`], [`NAdam`], [`RAdam`], [`Adamax`], [`Adagrad`], [`Adadelta`], [`RMSprop`], [`Adafactor`], [`Rprop`] |
//! | of second order | [`LBFGS`] |
//! | parameter groups | [`ParamGroups`], [`ParamGroup`], [`no_decay`](no_decay()) |
//! | gradients | [`clip_grad_norm`], [`clip_grad_value`], [`ClipGradNormConfig`], [`get_total_norm`], [`GradScaler`] |
//! | schedules by step | [`StepLR`], [`MultiStepLR`], [`ConstantLR`], [`LinearLR`], [`ExponentialLR`], [`PolynomialLR`], [`CosineAnnealingLR`], [`CosineAnnealingWarmRestarts`], [`CyclicLR`], [`OneCycleLR`], [`WarmupCosine`], [`SWALR`], [`LambdaLR`], [`MultiplicativeLR`] |
//! | of several schedules, or of a metric | [`SequentialLR`], [`ChainedScheduler`], [`ReduceLROnPlateau`] |
//! | averages | [`EMA`], [`SWA`], [`AveragedModel`], [`update_bn`] |
//! | when to stop | [`EarlyStopping`], [`BestSnapshot`] |
//! | an optimizer of your own | [`UpdateRule`] and [`RuleOptimizer`], or [`Optimizer`] itself with [`ParamStates`] |

mod adadelta;
mod adafactor;
mod adagrad;
mod adam;
mod adam_step;
mod adamax;
mod adamw;
mod arithmetic;
mod as_text;
mod asgd;
mod averaging;
mod best;
mod best_snapshot;
mod clip;
mod config_of;
mod early_stopping;
mod error;
mod grad_scaler;
mod group_state;
mod lbfgs;
mod lion;
mod muon;
mod nadam;
mod no_decay;
mod optimizer;
mod param_groups;
mod param_state;
mod param_states;
mod radam;
mod range;
mod rmsprop;
mod rprop;
mod rule;
mod rule_optimizer;
mod rule_state;
mod schedule;
mod sgd;
mod state_fields;
mod step_parameters;
#[cfg(feature = "torch-files")]
mod torch;

pub use adadelta::{Adadelta, AdadeltaConfig, AdadeltaState};
pub use adafactor::{Adafactor, AdafactorConfig, AdafactorState};
pub use adagrad::{Adagrad, AdagradConfig, AdagradState};
pub use adam::{Adam, AdamConfig};
pub use adam_step::AdamState;
pub use adamax::{Adamax, AdamaxConfig, AdamaxState};
pub use adamw::{AdamW, AdamWConfig};
pub use asgd::{ASGD, ASGDConfig, ASGDState};
pub use averaging::{
    AveragedModel, AveragingError, AveragingRule, EMA, EMAConfig, SWA, SWAConfig, update_bn,
};
pub use best_snapshot::BestSnapshot;
pub use clip::{ClipGradNormConfig, clip_grad_norm, clip_grad_value, get_total_norm};
pub use early_stopping::{EarlyStopping, EarlyStoppingConfig};
pub use error::OptimizerError;
pub use grad_scaler::{GradScaler, GradScalerConfig};
pub use lbfgs::{LBFGS, LBFGSConfig, LineSearchFn};
pub use lion::{Lion, LionConfig, LionState};
pub use muon::{AdjustLr, Muon, MuonConfig, MuonState};
pub use nadam::{NAdam, NAdamConfig, NAdamState};
pub use no_decay::no_decay;
pub use optimizer::Optimizer;
pub use param_groups::{ParamGroup, ParamGroups};
pub use param_state::{ParamState, Slots};
pub use param_states::ParamStates;
pub use radam::{RAdam, RAdamConfig, RAdamState};
pub use rmsprop::{RMSprop, RMSpropConfig, RMSpropState};
pub use rprop::{Rprop, RpropConfig, RpropState};
pub use rule::{RuleOptimizer, UpdateRule};
pub use schedule::{
    AnnealStrategy, ChainedScheduler, ConstantLR, ConstantLRConfig, CosineAnnealingLR,
    CosineAnnealingLRConfig, CosineAnnealingWarmRestarts, CosineAnnealingWarmRestartsConfig,
    CyclicLR, CyclicLRConfig, CyclicLRMode, CyclicScaleMode, ExponentialLR, ExponentialLRConfig,
    LRLambda, LambdaLR, LinearLR, LinearLRConfig, MultiStepLR, MultiStepLRConfig, MultiplicativeLR,
    OneCycleLR, OneCycleLRConfig, PlateauMode, PolynomialLR, PolynomialLRConfig, ReduceLROnPlateau,
    ReduceLROnPlateauConfig, RuleSchedule, SWALR, SWALRConfig, Schedule, ScheduleRule,
    ScheduleStep, SequentialLR, StepKind, StepLR, StepLRConfig, ThresholdMode, WarmupCosine,
    WarmupCosineConfig,
};
pub use sgd::{SGD, SGDConfig};
pub use step_parameters::ParamInfo;
