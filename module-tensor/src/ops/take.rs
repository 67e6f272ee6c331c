//! Copies in which each dimension has an order of its own: what flips and padding have in common.

use std::sync::Arc;

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Result, Shape};

/// For each dimension of a result the places of the tensor that its elements come from.
pub(super) type Places = Arc<[Vec<usize>]>;

impl Tensor {
    /// `out[i, j, …] = x[places[0][i], places[1][j], …]`; callers have checked the places.
    pub(super) fn taken(&self, name: &'static str, places: Places) -> Result<Self> {
        let shape: Shape = places.iter().map(Vec::len).collect();
        shape.checked_numel(name, self.dtype().size_in_bytes())?;
        let storage = self.device().backend().take(self.operand(), &places)?;
        Ok(Self::fresh(storage, shape).record([self], |_| Taken {
            name,
            from: self.shape().clone(),
            places,
        }))
    }
}

struct Taken {
    name: &'static str,
    from: Shape,
    places: Places,
}

impl Function for Taken {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { name, from, places } = self;
        let (name, places, grad) = (*name, places.clone(), ctx.grad());
        let backend = grad.device().backend();
        let storage = backend.take_back(grad.operand(), &places, from)?;
        let out = Tensor::fresh(storage, from.clone());
        one(out.record([grad], |_| TakenBack { name, places }))
    }
}

struct TakenBack {
    name: &'static str,
    places: Places,
}

impl Function for TakenBack {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().taken(self.name, self.places.clone())?)
    }
}
