use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use super::next_number::next_number;
use super::{Field, FieldRole, Visitor, VisitorMut};

/// The mode flag of a module whose forward pass differs between training and evaluation.
///
/// A new flag is in training mode. [`ModuleExt::train`](crate::ModuleExt::train) and
/// [`eval`](crate::ModuleExt::eval) set every flag of a tree.
///
/// # Example
///
/// ```
/// let training = module_core::Training::new();
/// assert!(training.is_training());
/// ```
///
/// ```
/// use module_core::Training;
///
/// let training = Training::new();
/// training.set_frozen(true);
/// assert!(training.is_training() && training.is_frozen() && !training.tracks_statistics());
/// training.set_frozen(false);
/// assert!(training.tracks_statistics());
/// training.set(false);
/// assert!(!training.tracks_statistics());
/// ```
pub struct Training(AtomicU64);

/// The module is in training mode.
const TRAINING: u64 = 1;
/// Its statistics are frozen.
const FROZEN: u64 = 2;
/// The bits above these are the number by which hooks recognize the module, or 0.
const NUMBER: u32 = 2;

impl Training {
    /// A flag in training mode, the initial mode of PyTorch's modules.
    pub const fn new() -> Self {
        Self(AtomicU64::new(TRAINING))
    }

    /// Whether the module is in training mode.
    pub fn is_training(&self) -> bool {
        self.has(TRAINING)
    }

    /// Sets the mode of this one flag.
    pub fn set(&self, training: bool) {
        self.change(TRAINING, training);
    }

    /// Whether the statistics of the module are frozen, whatever its mode.
    pub fn is_frozen(&self) -> bool {
        self.has(FROZEN)
    }

    /// Freezes or unfreezes the statistics of the module.
    pub fn set_frozen(&self, frozen: bool) {
        self.change(FROZEN, frozen);
    }

    /// Whether the module computes statistics from its inputs and updates its own: it is in training mode and not frozen.
    /// Otherwise, a batch normalization uses its stored statistics.
    pub fn tracks_statistics(&self) -> bool {
        self.0.load(Ordering::Relaxed) & (TRAINING | FROZEN) == TRAINING
    }

    /// The number, if there is one.
    pub(super) fn number(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.0.load(Ordering::Relaxed) >> NUMBER)
    }

    /// The number, which is unique among all flags.
    pub(super) fn assign_number(&self) -> NonZeroU64 {
        let number = next_number();
        let add = |bits: u64| (bits >> NUMBER == 0).then_some(bits | number.get() << NUMBER);
        let relaxed = Ordering::Relaxed;
        let before = self.0.fetch_update(relaxed, relaxed, add);
        match before {
            Ok(_) => number,
            Err(bits) => NonZeroU64::new(bits >> NUMBER).unwrap_or(number),
        }
    }

    fn has(&self, bit: u64) -> bool {
        self.0.load(Ordering::Relaxed) & bit != 0
    }

    fn change(&self, bit: u64, on: bool) {
        if on {
            self.0.fetch_or(bit, Ordering::Relaxed);
        } else {
            self.0.fetch_and(!bit, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Training {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Training")
            .field("training", &self.is_training())
            .field("frozen", &self.is_frozen())
            .finish()
    }
}

impl Default for Training {
    fn default() -> Self {
        Self::new()
    }
}

#[diagnostic::do_not_recommend]
impl Field for Training {
    const ROLE: FieldRole = FieldRole::Training;

    fn visit_field<'a>(&'a self, _name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.training(self);
    }

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
