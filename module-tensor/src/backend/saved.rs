use smallvec::SmallVec;

use super::Storage;
use crate::{Error, Result};

/// Memory that a kernel keeps from its forward pass for the gradient, in the form in which its device computes.
///
/// Operations keep it and pass it back to the same device, and never look inside.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::backend::Saved;
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// let saved = Saved::new([x.storage().clone()]);
/// let [kept] = saved.storages("example")?;
/// assert!(kept.is_same(x.storage()));
/// assert!(saved.storages::<2>("example").is_err());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Saved(SmallVec<[Storage; 3]>);

impl Saved {
    /// Some memory, or none.
    pub fn new(storages: impl IntoIterator<Item = Storage>) -> Self {
        Self(storages.into_iter().collect())
    }

    /// The memory in the order in which it was saved, for the kernel `op`.
    ///
    /// # Errors
    ///
    /// A number of storages other than `N`: it was saved by another kernel.
    pub fn storages<const N: usize>(&self, op: &'static str) -> Result<[&Storage; N]> {
        let all: SmallVec<[&Storage; 3]> = self.0.iter().collect();
        (*all).try_into().map_err(|_| {
            let problem = format!(
                "storage(s) where {N} were to be saved; pass back the result of this device's forward pass"
            );
            Error::argument(op, "saved", all.len(), problem)
        })
    }
}
