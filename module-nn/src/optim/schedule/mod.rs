//! Learning-rate schedules: `torch.optim.lr_scheduler`.
//!
//! Most are a formula ([`ScheduleRule`]) on one step ([`RuleSchedule`]), and so is a schedule of another crate.

mod base;
mod chained_scheduler;
mod common;
mod constant_lr;
mod cosine_annealing_lr;
mod cosine_annealing_warm_restarts;
mod cyclic_lr;
mod exponential_lr;
mod lambda_lr;
mod lambdas;
mod linear_lr;
mod multi_step_lr;
mod multiplicative_lr;
mod one_cycle_lr;
mod parts;
mod polynomial_lr;
mod rates;
mod reduce_lr_on_plateau;
mod rule;
mod schedule_step;
mod sequential_lr;
mod step_lr;
mod swa_lr;
mod warmup_cosine;

pub use base::Schedule;
pub use chained_scheduler::ChainedScheduler;
pub use constant_lr::{ConstantLR, ConstantLRConfig};
pub use cosine_annealing_lr::{CosineAnnealingLR, CosineAnnealingLRConfig};
pub use cosine_annealing_warm_restarts::{
    CosineAnnealingWarmRestarts, CosineAnnealingWarmRestartsConfig,
};
pub use cyclic_lr::{CyclicLR, CyclicLRConfig, CyclicLRMode, CyclicScaleMode};
pub use exponential_lr::{ExponentialLR, ExponentialLRConfig};
pub use lambda_lr::LambdaLR;
pub use lambdas::LRLambda;
pub use linear_lr::{LinearLR, LinearLRConfig};
pub use multi_step_lr::{MultiStepLR, MultiStepLRConfig};
pub use multiplicative_lr::MultiplicativeLR;
pub use one_cycle_lr::{AnnealStrategy, OneCycleLR, OneCycleLRConfig};
pub use polynomial_lr::{PolynomialLR, PolynomialLRConfig};
pub use reduce_lr_on_plateau::{
    PlateauMode, ReduceLROnPlateau, ReduceLROnPlateauConfig, ThresholdMode,
};
pub use rule::{RuleSchedule, ScheduleRule};
pub use schedule_step::{ScheduleStep, StepKind};
pub use sequential_lr::SequentialLR;
pub use step_lr::{StepLR, StepLRConfig};
pub use swa_lr::{SWALR, SWALRConfig};
pub use warmup_cosine::{WarmupCosine, WarmupCosineConfig};
