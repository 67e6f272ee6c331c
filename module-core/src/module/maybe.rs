use super::{Buffer, Field, FieldRole, HoldsState, Parameter, Visitor, VisitorMut};

/// A parameter or a buffer that a module may lack, such as the bias of a layer.
///
/// An absent one has no key, is never visited and cannot be used by mistake. It is not an `Option`, because an absent
/// *module* is `Identity` (see [`OrIdentity`](crate::OrIdentity)): what a layer lacks is decided when it is built, and only
/// tensors can be absent.
///
/// # Example
///
/// ```
/// use module_core::{Maybe, Parameter, Result, Tensor};
///
/// fn shift(x: Tensor, bias: &Maybe<Parameter>) -> Result<Tensor> {
///     match bias {
///         Maybe::Present(bias) => x.add(&bias.tensor()),
///         Maybe::Absent => Ok(x),
///     }
/// }
///
/// let x = Tensor::from([1.0_f32]);
/// assert_eq!(shift(x, &Maybe::Absent)?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Debug)]
pub enum Maybe<T: Optional> {
    /// The module has it.
    Present(T),
    /// The module lacks it.
    Absent,
}

/// The bias of a layer.
pub type Bias = Maybe<Parameter>;

mod sealed {
    pub trait Sealed {}

    impl Sealed for crate::Parameter {}
    impl Sealed for crate::Buffer {}
}

/// A tensor that a module may lack: a [`Parameter`] or a [`Buffer`]. Sealed.
///
/// # Example
///
/// ```
/// use module_core::{Maybe, Parameter, Tensor};
///
/// let bias = |wanted| Maybe::when(wanted, || Parameter::new(Tensor::from([0.0_f32])));
/// assert!(bias(true)?.get().is_some());
/// assert!(bias(false)?.get().is_none());
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::module::Optional;
/// use module_core::{Buffer, Maybe, Tensor};
///
/// /// How many of some tensors there are.
/// fn count<T: Optional>(tensors: &[Maybe<T>]) -> usize {
///     tensors.iter().filter(|tensor| tensor.is_present()).count()
/// }
///
/// let mean = Maybe::from(Buffer::new(Tensor::from([0.0_f32])));
/// assert_eq!(count(&[mean, Maybe::Absent]), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be absent",
    label = "neither a `Parameter` nor a `Buffer`",
    note = "a child module that may be absent is `OrIdentity`, or an enum that derives `Module`"
)]
pub trait Optional: Field + sealed::Sealed {}

impl Optional for Parameter {}
impl Optional for Buffer {}

impl<T: Optional> Maybe<T> {
    /// Makes the tensor if `wanted`.
    ///
    /// # Errors
    ///
    /// Those of `make`.
    pub fn when(wanted: bool, make: impl FnOnce() -> crate::Result<T>) -> crate::Result<Self> {
        Ok(if wanted {
            Self::Present(make()?)
        } else {
            Self::Absent
        })
    }

    /// The tensor, if the module has it.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Present(tensor) => Some(tensor),
            Self::Absent => None,
        }
    }

    /// Whether the module has it.
    pub fn is_present(&self) -> bool {
        self.get().is_some()
    }
}

impl<T: Optional> From<T> for Maybe<T> {
    fn from(tensor: T) -> Self {
        Self::Present(tensor)
    }
}

impl<T: Optional> From<Option<T>> for Maybe<T> {
    fn from(tensor: Option<T>) -> Self {
        tensor.map_or(Self::Absent, Self::Present)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Optional> Field for Maybe<T> {
    const ROLE: FieldRole = T::ROLE;

    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        if let Self::Present(tensor) = self {
            tensor.visit_field(name, visitor);
        }
    }

    fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        if let Self::Present(tensor) = self {
            tensor.visit_field_mut(name, visitor);
        }
    }
}

impl<T: Optional> HoldsState for Maybe<T> {}
