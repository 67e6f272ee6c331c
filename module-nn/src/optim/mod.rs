//! Optimizers: they know parameters by their paths in the model.
//!
//! [`SGD`], [`AdamW`] and the others are update rules ([`UpdateRule`]) on one step loop ([`RuleOptimizer`]), and so is an
//! optimizer of another crate: its options and one function. One that steps in another way keeps its states in
//! [`ParamStates`]. [`LBFGS`] evaluates the loss itself and is given a closure. There is no `SparseAdam`, because
//! there are no sparse gradients: `Adam` moves every row of an embedding.
//!
//! A [`GradScaler`] keeps gradients of half precision from vanishing.
//!
//! A [`Schedule`] changes the learning rates from step to step, [`ReduceLROnPlateau`] by a metric.

mod adadelta;
mod adafactor;
mod adagrad;
mod adam;
mod adamax;
mod adamw;
mod arithmetic;
mod asgd;
mod clip;
mod config_of;
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
mod rule_state;
mod schedule;
mod sgd;
mod state_fields;

pub use adadelta::{Adadelta, AdadeltaConfig, AdadeltaState};
pub use adafactor::{Adafactor, AdafactorConfig, AdafactorState};
pub use adagrad::{Adagrad, AdagradConfig, AdagradState};
pub use adam::{Adam, AdamConfig};
pub use adamax::{Adamax, AdamaxConfig, AdamaxState};
pub use adamw::{AdamState, AdamW, AdamWConfig};
pub use asgd::{ASGD, ASGDConfig, ASGDState};
pub use clip::{ClipGradNormConfig, clip_grad_norm, clip_grad_value, get_total_norm};
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
pub use param_states::{ParamInfo, ParamStates};
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
    ReduceLROnPlateauConfig, RuleSchedule, Schedule, ScheduleRule, ScheduleStep, SequentialLR,
    StepKind, StepLR, StepLRConfig, ThresholdMode, WarmupCosine, WarmupCosineConfig,
};
pub use sgd::{SGD, SGDConfig};
