use std::fmt;

use super::entries::StateTensor;
use super::given::{Held, resolve};
use super::{StateDict, values_lock};
use crate::module::Module;
use crate::{Result, Tensor, ValueProblems};

/// A module that temporarily has other values; made by [`swap_state_dict`](crate::ModuleExt::swap_state_dict). Dropping it
/// restores the module's own.
#[must_use = "the values are given back when the guard is dropped"]
pub struct SwappedState<'m> {
    /// The tensors with their own values.
    kept: Vec<(StateTensor<'m>, Tensor)>,
}

/// The name of the operation in errors.
const OP: &str = "swap_state_dict";

impl<'m> SwappedState<'m> {
    pub(crate) fn new(root: &'m dyn Module, state: &StateDict) -> Result<Self> {
        let given = state
            .iter()
            .map(|(key, value)| (key.to_owned(), value.clone()));
        let mut values = Vec::new();
        for Held { key, tensor, given } in resolve(OP, root, given.collect(), false)? {
            if let Some(value) = given {
                let own = tensor.value();
                let value = match tensor {
                    StateTensor::Extra(_) => value,
                    _ => value.to_dtype(own.dtype())?.to_device(&own.device())?,
                };
                values.push((key, tensor, value));
            }
        }
        let mut marked = Marked(Vec::new());
        for (key, tensor, _) in &values {
            if !tensor.mark_swapped(true) {
                marked.0.push(*tensor);
                continue;
            }
            return Err(ValueProblems {
                op: OP,
                module: root.kind(),
                swapped: vec![key.clone()],
                ..Default::default()
            }
            .into());
        }
        let kept = values_lock::write(|| {
            let exchange = |(_, tensor, value): &(String, StateTensor<'m>, Tensor)| {
                let own = tensor.value();
                tensor.put(value.clone());
                (*tensor, own)
            };
            values.iter().map(exchange).collect()
        });
        marked.0.clear();
        Ok(Self { kept })
    }
}

/// Restores every original value, even of tensors that were cast, moved or trained meanwhile.
impl Drop for SwappedState<'_> {
    fn drop(&mut self) {
        // The current values are dropped after the lock is released.
        let swapped: Vec<Tensor> = self.kept.iter().map(|(tensor, _)| tensor.value()).collect();
        values_lock::write(|| {
            for (tensor, own) in &self.kept {
                tensor.put(own.clone());
            }
        });
        for (tensor, _) in &self.kept {
            tensor.mark_swapped(false);
        }
        drop(swapped);
    }
}

/// Tensors that are marked until this is dropped.
struct Marked<'m>(Vec<StateTensor<'m>>);

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        for tensor in &self.0 {
            tensor.mark_swapped(false);
        }
    }
}

impl fmt::Debug for SwappedState<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SwappedState({} tensors)", self.kept.len())
    }
}
