use std::fmt;

use serde::{Serialize, Serializer};

/// The severity of a [`Finding`](super::Finding).
///
/// # Example
///
/// ```
/// use module_nn::audit::Severity;
///
/// assert!(Severity::Error > Severity::Warning);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Probably unintended.
    Warning,
    /// A part of the model does not learn, or learns something unintended.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// The problems that an [`Audit`](super::Audit) looks for. A kind prints as a name such as `unreached-parameter`.
        ///
        /// # Example
        ///
        /// ```
        /// use module_nn::audit::FindingKind;
        ///
        /// assert_eq!(FindingKind::CutGraph.name(), "cut-graph");
        /// assert!(FindingKind::ALL.contains(&FindingKind::DeadUnits));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum FindingKind {
            $($(#[$doc])* $kind,)*
        }

        impl FindingKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The printed name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A parameter that no loss depends on.
    UnreachedParameter = "unreached-parameter",
    /// A tensor that the loss trains but no module registers.
    UnregisteredParameter = "unregistered-parameter",
    /// A module whose result is used where no gradient comes back.
    CutGraph = "cut-graph",
    /// A module that is trained in evaluation mode.
    EvalModeTraining = "eval-mode-training",
    /// A module that is evaluated in training mode.
    TrainModeEvaluation = "train-mode-evaluation",
    /// A gradient from before the step, to which that of the step was added.
    StaleGradient = "stale-gradient",
    /// Probabilities where logits are expected.
    DoubleSoftmax = "double-softmax",
    /// Units that start out equal.
    SymmetricUnits = "symmetric-units",
    /// Units that were inactive for every sample.
    DeadUnits = "dead-units",
    /// Gradients that are far smaller than those of other parts.
    VanishingGradient = "vanishing-gradient",
    /// Gradients or values that are far larger than those of other parts.
    ExplodingGradient = "exploding-gradient",
    /// NaN or an infinity.
    NonFiniteValue = "non-finite-value",
    /// Steps that are as large as the weights.
    LargeUpdate = "large-update",
    /// A frozen parameter whose value changed.
    FrozenParameterMoved = "frozen-parameter-moved",
    /// Running statistics that change although the parameters next to them are frozen.
    FrozenStatisticsDrift = "frozen-statistics-drift",
    /// A parameter that has a gradient but does not move.
    OptimizerMissesParameter = "optimizer-misses-parameter",
    /// Steps that move nothing.
    NothingMoved = "nothing-moved",
    /// Targets that are constant, out of range or all ignored.
    SuspiciousTargets = "suspicious-targets",
    /// A loss that does not depend on the input.
    InputIndependentLoss = "input-independent-loss",
    /// A row of the output that depends on other rows of the batch.
    BatchLeak = "batch-leak",
    /// Values that a partial load left at their initial values.
    FreshAfterLoad = "fresh-after-load",
    /// Precision lost in half-precision sums.
    PrecisionLoss = "precision-loss",
    /// Elements of the input that no output depends on.
    UnusedInput = "unused-input",
    /// A module whose `forward` ran without `call`.
    BypassedCall = "bypassed-call",
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for FindingKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
