//! Optimizers: they know parameters by their paths in the model.
//!
//! [`SGD`] and [`AdamW`] are update rules ([`UpdateRule`]) on one step loop ([`RuleOptimizer`]), and so is an
//! optimizer of another crate: its options and one function. One that steps in another way keeps its states in
//! [`ParamStates`].
//!
//! A [`Schedule`] changes the learning rates from step to step, [`ReduceLROnPlateau`] by a metric.

mod adamw;
mod config_of;
mod error;
mod group_state;
mod optimizer;
mod param_groups;
mod param_state;
mod param_states;
mod range;
mod rule;
mod rule_state;
mod schedule;
mod sgd;

pub use adamw::{AdamW, AdamWConfig, AdamWState};
pub use error::OptimizerError;
pub use optimizer::Optimizer;
pub use param_groups::{ParamGroup, ParamGroups};
pub use param_state::{ParamState, Slots};
pub use param_states::{ParamInfo, ParamStates};
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
