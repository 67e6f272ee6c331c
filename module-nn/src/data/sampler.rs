use std::sync::Arc;

use module_core::{Error, Result};

/// The indices of an epoch: PyTorch's `Sampler`.
///
/// `Index` is `usize`, or `Vec<usize>` for a sampler of whole batches ([`BatchSampler`](super::BatchSampler)). All indices
/// of an epoch are drawn at once. PyTorch's samplers draw as they go, which leaves the generator in another state if a loop
/// is left early, and in the same state otherwise.
///
/// An `Arc` of a sampler is a sampler too, so that a program can keep a handle.
///
/// # Example
///
/// ```
/// use module_nn::data::{DataLoaderConfig, Sampler};
/// use module_nn::prelude::*;
///
/// /// Every second sample.
/// struct Even(usize);
///
/// impl Sampler for Even {
///     type Index = usize;
///
///     fn len(&self) -> usize {
///         self.0.div_ceil(2)
///     }
///
///     fn indices(&self) -> Result<Vec<usize>> {
///         Ok((0..self.0).step_by(2).collect())
///     }
/// }
///
/// let loader = DataLoaderConfig::new().sampler(Even(5)).batch_size(3).build(vec![10_i64, 11, 12, 13, 14])?;
/// for batch in &loader {
///     assert_eq!(batch?.to_vec::<i64>()?, [10, 12, 14]);
/// }
/// // It has no state, and refuses that of another sampler.
/// let sampler = Even(5);
/// assert!(!sampler.is_empty() && sampler.get_state().is_empty());
/// assert!(Even(5).set_state(&[1, 2, 3]).is_err());
/// # Ok::<(), Error>(())
/// ```
pub trait Sampler: Send + Sync {
    /// The item type: the index of a sample, or the indices of a batch.
    type Index: Send;

    /// The number of items per epoch.
    fn len(&self) -> usize;

    /// The items of the next epoch, in order.
    ///
    /// # Errors
    ///
    /// A draw that fails.
    fn indices(&self) -> Result<Vec<Self::Index>>;

    /// Whether an epoch has no items.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state that determines future epochs: that of the sampler's own generator, and the number of the epoch. The
    /// [`DataLoader`](super::DataLoader) saves the default generator.
    fn get_state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Restores a state that [`get_state`](Self::get_state) returned.
    ///
    /// # Errors
    ///
    /// The state of something else; then nothing is changed.
    fn set_state(&self, state: &[u8]) -> Result<()> {
        match state.is_empty() {
            true => Ok(()),
            false => Err(other_state(state)),
        }
    }
}

/// The error for a state that a sampler cannot restore.
pub(super) fn other_state(state: &[u8]) -> Error {
    let problem = "is not the state of this sampler; build it as the one whose state was saved";
    let length = format_args!("{} bytes", state.len());
    Error::argument("sampler", "state", length, problem)
}

macro_rules! sampler_of_pointers {
    ($($pointer:ident)+) => {$(
        impl<S: Sampler + ?Sized> Sampler for $pointer<S> {
            type Index = S::Index;

            fn len(&self) -> usize {
                (**self).len()
            }

            fn indices(&self) -> Result<Vec<S::Index>> {
                (**self).indices()
            }

            fn is_empty(&self) -> bool {
                (**self).is_empty()
            }

            fn get_state(&self) -> Vec<u8> {
                (**self).get_state()
            }

            fn set_state(&self, state: &[u8]) -> Result<()> {
                (**self).set_state(state)
            }
        }
    )+};
}

sampler_of_pointers! { Arc Box }
