//! Linear maps of one tensor with a geometry: average pooling, resizing, copies in another order. Each has two directions,
//! and each direction is the gradient of the other.

use std::sync::Arc;

use crate::backend::{
    GatherAlongGeometry, LinearOp, PoolDivisor, PoolGeometry, ResampleGeometry, Storage,
};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Result, Shape};

pub(super) enum LinearMap {
    AvgPool(PoolGeometry, PoolDivisor),
    Resample(ResampleGeometry),
    GatherAlong(GatherAlongGeometry),
}

impl LinearMap {
    /// The shape of the result in this direction.
    fn shape(&self, op: LinearOp) -> &Shape {
        let (input, output) = match self {
            Self::AvgPool(geometry, _) => (&geometry.input, &geometry.output),
            Self::Resample(geometry) => (&geometry.input, &geometry.output),
            Self::GatherAlong(geometry) => (&geometry.input, &geometry.output),
        };
        match op {
            LinearOp::Forward => output,
            LinearOp::Backward => input,
        }
    }

    fn run(&self, op: LinearOp, x: &Tensor) -> Result<Storage> {
        let (device, operand) = (x.device(), x.operand());
        let backend = device.backend();
        match self {
            Self::AvgPool(geometry, divisor) => backend.avg_pool(op, operand, geometry, *divisor),
            Self::Resample(geometry) => backend.resample(op, operand, geometry),
            // A flip is its own inverse.
            Self::GatherAlong(geometry) if geometry.is_flip() => {
                backend.gather_along(LinearOp::Forward, operand, geometry)
            }
            Self::GatherAlong(geometry) => backend.gather_along(op, operand, geometry),
        }
    }
}

impl Tensor {
    /// The map of this tensor, which has the shape of its input.
    pub(super) fn apply_map(&self, name: &'static str, map: LinearMap) -> Result<Self> {
        let op = LinearOp::Forward;
        let shape = map.shape(op).clone();
        shape.checked_numel(name, self.dtype().size_in_bytes())?;
        self.storage().check_plain(name)?;
        let out = Self::fresh(map.run(op, self)?, shape);
        let map = |_: &Self| Mapped {
            name,
            op,
            map: Arc::new(map),
        };
        Ok(out.record([self], map))
    }
}

/// A map that ran in one direction.
struct Mapped {
    name: &'static str,
    op: LinearOp,
    map: Arc<LinearMap>,
}

impl Function for Mapped {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { name, op, map } = self;
        let (name, op, grad) = (*name, op.reversed(), ctx.grad());
        let out = Tensor::fresh(map.run(op, grad)?, map.shape(op).clone());
        let map = map.clone();
        one(out.record([grad], |_| Self { name, op, map }))
    }
}
