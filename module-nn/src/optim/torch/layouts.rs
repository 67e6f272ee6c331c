//! The states that PyTorch's optimizers save: the options of a group and the tensors of a state, in PyTorch's order.

/// The state that a PyTorch optimizer saves.
pub(super) struct Layout {
    pub(super) options: &'static [(&'static str, Setting)],
    pub(super) state: &'static [(&'static str, Slot)],
    /// An option that only ours has, and the value with which ours behaves like PyTorch's.
    pub(super) only_if: Option<(&'static str, bool)>,
}

/// An option of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// An option that both have.
    Shared,
    /// An option that both have, but that is missing in files of older releases, where it was `False`.
    Later,
    /// An option that both have; PyTorch's `None` has this name here.
    NoneIs(&'static str),
    /// An option that says how PyTorch computes but changes no result, with its default.
    Execution(Option<bool>),
    /// An option that distinguishes two of our optimizers, with its value for this one.
    Fixed(bool),
}

/// A tensor of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// The number of steps, which PyTorch stores as a number of its default dtype.
    Step,
    /// A number of PyTorch's default dtype.
    Number,
    /// A tensor that matches the parameter.
    Like,
    /// A tensor that matches the parameter, but has size 1 in this dimension, counted from the end.
    Reduced(usize),
}

use Setting::{Execution, Fixed, Later, NoneIs, Shared};
use Slot::{Like, Number, Reduced, Step};

const FOREACH: (&str, Setting) = ("foreach", Execution(None));
const FUSED: (&str, Setting) = ("fused", Execution(None));
const CAPTURABLE: (&str, Setting) = ("capturable", Execution(Some(false)));
const DIFFERENTIABLE: (&str, Setting) = ("differentiable", Execution(Some(false)));
const LR: (&str, Setting) = ("lr", Shared);
const BETAS: (&str, Setting) = ("betas", Shared);
const EPS: (&str, Setting) = ("eps", Shared);
const DECAY: (&str, Setting) = ("weight_decay", Shared);
const MAXIMIZE: (&str, Setting) = ("maximize", Later);
const DECOUPLED: (&str, Setting) = ("decoupled_weight_decay", Later);

macro_rules! layout {
    ([$($option:expr),* $(,)?], [$($slot:expr),* $(,)?]) => {
        layout!([$($option),*], [$($slot),*], None)
    };
    ([$($option:expr),* $(,)?], [$($slot:expr),* $(,)?], $only_if:expr) => {
        Layout { options: &[$($option),*], state: &[$($slot),*], only_if: $only_if }
    };
}

/// The optimizers that PyTorch has.
static LAYOUTS: [(&str, Layout); 13] = [
    (
        "SGD",
        layout!(
            [
                LR,
                ("momentum", Shared),
                ("dampening", Shared),
                DECAY,
                ("nesterov", Later),
                MAXIMIZE,
                FOREACH,
                DIFFERENTIABLE,
                FUSED,
            ],
            [("momentum_buffer", Like)]
        ),
    ),
    ("Adam", adam(&ADAM_OPTIONS)),
    ("AdamW", adam(&ADAMW_OPTIONS)),
    (
        "NAdam",
        layout!(
            [
                LR,
                BETAS,
                EPS,
                DECAY,
                ("momentum_decay", Shared),
                DECOUPLED,
                MAXIMIZE,
                FOREACH,
                CAPTURABLE,
                DIFFERENTIABLE,
            ],
            [
                ("step", Step),
                ("mu_product", Number),
                ("exp_avg", Like),
                ("exp_avg_sq", Like)
            ]
        ),
    ),
    (
        "RAdam",
        layout!(
            [
                LR,
                BETAS,
                EPS,
                DECAY,
                MAXIMIZE,
                FOREACH,
                CAPTURABLE,
                DECOUPLED,
                DIFFERENTIABLE
            ],
            [("step", Step), ("exp_avg", Like), ("exp_avg_sq", Like)]
        ),
    ),
    (
        "Adamax",
        layout!(
            [
                LR,
                BETAS,
                EPS,
                DECAY,
                FOREACH,
                MAXIMIZE,
                DIFFERENTIABLE,
                CAPTURABLE
            ],
            [("step", Step), ("exp_avg", Like), ("exp_inf", Like)]
        ),
    ),
    (
        "Adagrad",
        layout!(
            [
                LR,
                ("lr_decay", Shared),
                EPS,
                DECAY,
                ("initial_accumulator_value", Shared),
                FOREACH,
                MAXIMIZE,
                DIFFERENTIABLE,
                FUSED,
            ],
            [("step", Step), ("sum", Like)]
        ),
    ),
    (
        "Adadelta",
        layout!(
            [
                LR,
                ("rho", Shared),
                EPS,
                DECAY,
                MAXIMIZE,
                CAPTURABLE,
                FOREACH,
                DIFFERENTIABLE
            ],
            [("step", Step), ("square_avg", Like), ("acc_delta", Like)]
        ),
    ),
    (
        "RMSprop",
        layout!(
            [
                LR,
                ("momentum", Shared),
                ("alpha", Shared),
                EPS,
                ("centered", Later),
                DECAY,
                CAPTURABLE,
                FOREACH,
                MAXIMIZE,
                DIFFERENTIABLE,
            ],
            [
                ("step", Step),
                ("square_avg", Like),
                ("momentum_buffer", Like),
                ("grad_avg", Like)
            ]
        ),
    ),
    (
        "Rprop",
        layout!(
            [
                LR,
                ("etas", Shared),
                ("step_sizes", Shared),
                FOREACH,
                MAXIMIZE,
                DIFFERENTIABLE,
                CAPTURABLE,
            ],
            [("step", Step), ("prev", Like), ("step_size", Like)]
        ),
    ),
    (
        "ASGD",
        layout!(
            [
                LR,
                ("lambd", Shared),
                ("alpha", Shared),
                ("t0", Shared),
                DECAY,
                FOREACH,
                MAXIMIZE,
                DIFFERENTIABLE,
                CAPTURABLE,
            ],
            [
                ("step", Step),
                ("eta", Number),
                ("mu", Number),
                ("ax", Like)
            ]
        ),
    ),
    (
        "Adafactor",
        layout!(
            [
                LR,
                ("beta2_decay", Shared),
                EPS,
                ("d", Shared),
                DECAY,
                FOREACH,
                MAXIMIZE
            ],
            [
                ("step", Step),
                ("row_var", Reduced(1)),
                ("col_var", Reduced(2)),
                ("variance", Like),
            ]
        ),
    ),
    (
        "Muon",
        layout!(
            [
                LR,
                DECAY,
                ("momentum", Shared),
                ("nesterov", Shared),
                ("ns_coefficients", Shared),
                EPS,
                ("ns_steps", Shared),
                ("adjust_lr_fn", NoneIs("original")),
            ],
            [("momentum_buffer", Like)],
            Some(("use_muon", true))
        ),
    ),
];

const fn adam(options: &'static [(&'static str, Setting)]) -> Layout {
    Layout {
        options,
        state: &[
            ("step", Step),
            ("exp_avg", Like),
            ("exp_avg_sq", Like),
            ("max_exp_avg_sq", Like),
        ],
        only_if: None,
    }
}

static ADAM_OPTIONS: [(&str, Setting); 11] = adam_options(false);
static ADAMW_OPTIONS: [(&str, Setting); 11] = adam_options(true);

const fn adam_options(decoupled: bool) -> [(&'static str, Setting); 11] {
    [
        LR,
        BETAS,
        EPS,
        DECAY,
        ("amsgrad", Later),
        MAXIMIZE,
        FOREACH,
        CAPTURABLE,
        DIFFERENTIABLE,
        FUSED,
        ("decoupled_weight_decay", Fixed(decoupled)),
    ]
}

/// The layout of an optimizer, if PyTorch has one with the name.
pub(super) fn layout_of(optimizer: &str) -> Option<&'static Layout> {
    let mut layouts = LAYOUTS.iter();
    let found = layouts.find(|(name, _)| *name == optimizer);
    found.map(|(_, layout)| layout)
}
