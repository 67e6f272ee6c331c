//! What fused kernels read and return, on either side of the mirror.

use module_tensor::Result;
use module_tensor::backend::{
    AttentionInputs, CrossEntropyInputs, NormInputs, Normalised, Operand, RecurrentInputs,
    RecurrentSlopes,
};

use crate::Mirror;

/// What holds operands.
pub(crate) trait Inputs: Sized {
    /// The same behind the mirror.
    fn behind(self, mirror: &Mirror) -> Result<Self>;
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
    pub(crate) fn hide_norm(&self, x: Normalised) -> Normalised {
        Normalised {
            output: self.hide(x.output),
            mean: self.hide(x.mean),
            var: self.hide(x.var),
        }
    }

    pub(crate) fn hide_slopes(&self, x: RecurrentSlopes) -> RecurrentSlopes {
        let hide = |x: Option<_>| x.map(|x| self.hide(x));
        RecurrentSlopes {
            gates: self.hide(x.gates),
            sums: hide(x.sums),
            states: hide(x.states),
            hidden: self.hide(x.hidden),
            cell: hide(x.cell),
        }
    }
}
