//! The inputs of fused kernels, for the mirror and for the CPU.

use module_tensor::backend::{
    AttentionInputs, CrossEntropyInputs, NormInputs, Operand, RecurrentInputs,
};
use module_tensor::{DType, Result};

use crate::{Family, Mirror};

/// A type that holds operands.
pub(crate) trait Inputs: Sized {
    /// The same with the CPU's operands.
    fn behind(self, mirror: &Mirror) -> Result<Self>;
}

/// The inputs of a fused kernel.
pub(crate) trait FamilyInputs: Inputs {
    /// The dtype of the first operand.
    fn dtype(&self) -> DType;
}

impl FamilyInputs for Operand {
    fn dtype(&self) -> DType {
        self.storage.dtype()
    }
}

impl FamilyInputs for NormInputs {
    fn dtype(&self) -> DType {
        self.x.dtype()
    }
}

impl FamilyInputs for CrossEntropyInputs {
    fn dtype(&self) -> DType {
        self.x.dtype()
    }
}

impl FamilyInputs for AttentionInputs {
    fn dtype(&self) -> DType {
        self.query.dtype()
    }
}

impl FamilyInputs for RecurrentInputs {
    fn dtype(&self) -> DType {
        self.gates.dtype()
    }
}

impl Inputs for Operand {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        mirror.read(self)
    }
}

impl<T: Inputs> Inputs for Option<T> {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        self.map(|x| x.behind(mirror)).transpose()
    }
}

impl<T: Inputs> Inputs for [T; 2] {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        let [a, b] = self;
        Ok([a.behind(mirror)?, b.behind(mirror)?])
    }
}

impl Inputs for NormInputs {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        Ok(Self {
            x: self.x.behind(mirror)?,
            weight: self.weight.behind(mirror)?,
            bias: self.bias.behind(mirror)?,
            statistics: self.statistics.behind(mirror)?,
        })
    }
}

impl Inputs for CrossEntropyInputs {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        Ok(Self {
            x: self.x.behind(mirror)?,
            target: self.target.behind(mirror)?,
            weight: self.weight.behind(mirror)?,
        })
    }
}

impl Inputs for AttentionInputs {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        Ok(Self {
            query: self.query.behind(mirror)?,
            key: self.key.behind(mirror)?,
            value: self.value.behind(mirror)?,
            mask: self.mask.behind(mirror)?,
        })
    }
}

impl Inputs for RecurrentInputs {
    fn behind(self, mirror: &Mirror) -> Result<Self> {
        Ok(Self {
            gates: self.gates.behind(mirror)?,
            hidden: self.hidden.behind(mirror)?,
            cell: self.cell.behind(mirror)?,
            weight: self.weight.behind(mirror)?,
            bias: self.bias.behind(mirror)?,
            projection: self.projection.behind(mirror)?,
        })
    }
}

impl Mirror {
    /// The CPU operands of a fused kernel; the mirror records their dtype.
    pub(crate) fn take<I: FamilyInputs>(&self, family: Family, inputs: I) -> Result<I> {
        self.note(family, inputs.dtype());
        inputs.behind(self)
    }
}
