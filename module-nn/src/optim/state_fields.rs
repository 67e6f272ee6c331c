//! Optimizer states that are written as a list of fields.

use module_core::{Result, Tensor};

use super::Slots;

/// A field of an optimizer's state, as it is saved.
pub(super) trait StateField: Sized {
    /// Whether it matches the parameter in shape, dtype and device.
    const LIKE_PARAMETER: bool;

    /// The initial value, for a parameter that was never moved: zero, or none for an optional field.
    fn first(value: &Tensor) -> Result<Self>;

    /// The saved tensor; none for an optional field that is absent.
    fn save(&self) -> Option<Tensor>;

    /// Restores the field from what was saved.
    fn take(slots: &mut Slots<'_>, name: &str) -> Result<Self, String>;
}

/// A state that starts with the fields' [initial values](StateField::first).
pub(super) trait FirstState: Sized {
    /// The state of a parameter that was never moved.
    fn first(value: &Tensor) -> Result<Self>;
}

/// The state, or the initial one if there is none.
pub(super) fn or_first<'a, S: FirstState>(
    state: &'a mut Option<S>,
    value: &Tensor,
) -> Result<&'a mut S> {
    or_insert_with(state, || S::first(value))
}

/// The existing value, or the initial one.
pub(super) fn or_insert_with<T>(
    state: &mut Option<T>,
    first: impl FnOnce() -> Result<T>,
) -> Result<&mut T> {
    Ok(match state {
        Some(state) => state,
        None => state.insert(first()?),
    })
}

/// The tensor of an optional field, zeros if it starts now; it is dropped if it is not kept.
pub(super) fn keep_if<'a>(
    field: &'a mut Option<Tensor>,
    is_kept: bool,
    value: &Tensor,
) -> Result<Option<&'a mut Tensor>> {
    if !is_kept {
        *field = None;
        return Ok(None);
    }
    or_insert_with(field, || value.zeros_like()).map(Some)
}

impl StateField for Tensor {
    const LIKE_PARAMETER: bool = true;

    fn first(value: &Tensor) -> Result<Self> {
        value.zeros_like()
    }

    fn save(&self) -> Option<Tensor> {
        Some(self.clone())
    }

    fn take(slots: &mut Slots<'_>, name: &str) -> Result<Self, String> {
        slots.take(name)
    }
}

impl StateField for Option<Tensor> {
    const LIKE_PARAMETER: bool = true;

    fn first(_: &Tensor) -> Result<Self> {
        Ok(None)
    }

    fn save(&self) -> Option<Tensor> {
        self.clone()
    }

    fn take(slots: &mut Slots<'_>, name: &str) -> Result<Self, String> {
        Ok(slots.take_optional(name))
    }
}

/// The number of steps.
impl StateField for u64 {
    const LIKE_PARAMETER: bool = false;

    fn first(_: &Tensor) -> Result<Self> {
        Ok(0)
    }

    fn save(&self) -> Option<Tensor> {
        // No run has 2⁶³ steps.
        i64::try_from(*self).ok().map(Tensor::from)
    }

    fn take(slots: &mut Slots<'_>, name: &str) -> Result<Self, String> {
        let tensor = slots.take(name)?;
        let number: i64 = tensor.item().map_err(|e| format!("`{name}`: {e}"))?;
        Self::try_from(number).map_err(|_| format!("`{name}` is {number}"))
    }
}

/// A number that PyTorch stores as a tensor of its default dtype.
impl StateField for f32 {
    const LIKE_PARAMETER: bool = false;

    fn first(_: &Tensor) -> Result<Self> {
        Ok(0.0)
    }

    fn save(&self) -> Option<Tensor> {
        Some(Tensor::from(*self))
    }

    fn take(slots: &mut Slots<'_>, name: &str) -> Result<Self, String> {
        let tensor = slots.take(name)?;
        tensor.item().map_err(|e| format!("`{name}`: {e}"))
    }
}

/// The fields that are present, of those of a state.
pub(super) fn slots_of(
    fields: &mut [(&'static str, Option<Tensor>)],
) -> Vec<(&'static str, Tensor)> {
    let fields = fields.iter_mut();
    fields
        .filter_map(|(name, x)| Some((*name, x.take()?)))
        .collect()
}

/// Writes the struct of an optimizer's state and its [`ParamState`](super::ParamState): each field is saved under its name.
/// The first one must match the parameter, which each step checks.
macro_rules! param_state {
    (
        $(#[$doc:meta])*
        pub struct $state:ident {
            $(#[$first_doc:meta])* $first:ident: Tensor,
            $($(#[$other_doc:meta])* $other:ident: $other_type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $state {
            $(#[$first_doc])*
            pub(super) $first: module_core::Tensor,
            $($(#[$other_doc])* pub(super) $other: $other_type,)*
        }

        impl $crate::optim::state_fields::FirstState for $state {
            fn first(value: &module_core::Tensor) -> module_core::Result<Self> {
                use $crate::optim::state_fields::StateField;
                Ok(Self {
                    $first: StateField::first(value)?,
                    $($other: StateField::first(value)?,)*
                })
            }
        }

        impl $crate::optim::ParamState for $state {
            const UNLIKE_PARAMETER: &'static [&'static str] = &[$(
                if <$other_type as $crate::optim::state_fields::StateField>::LIKE_PARAMETER {
                    ""
                } else {
                    stringify!($other)
                },
            )*];

            fn tensor(&self) -> Option<&module_core::Tensor> {
                Some(&self.$first)
            }

            fn slots(&self) -> module_core::Result<Vec<(&'static str, module_core::Tensor)>> {
                use $crate::optim::state_fields::{StateField, slots_of};
                Ok(slots_of(&mut [
                    (stringify!($first), StateField::save(&self.$first)),
                    $((stringify!($other), StateField::save(&self.$other)),)*
                ]))
            }

            fn from_slots(slots: &mut $crate::optim::Slots<'_>) -> Result<Self, String> {
                use $crate::optim::state_fields::StateField;
                Ok(Self {
                    $first: StateField::take(slots, stringify!($first))?,
                    $($other: StateField::take(slots, stringify!($other))?,)*
                })
            }
        }
    };
}

pub(super) use param_state;
