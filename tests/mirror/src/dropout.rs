//! Dropout by a key.

use module_tensor::backend::{DropoutKernels, HostData, Operand, Storage};
use module_tensor::{DType, Device, Result};

use crate::Mirror;
use crate::generator::Hashes;

impl DropoutKernels for Mirror {
    fn serves(&self, dtype: DType) -> bool {
        dtype == DType::F64
    }

    fn dropout(&self, x: Operand, p: f64, key: u64) -> Result<Storage> {
        let mut hashes = Hashes {
            device: self.device(),
            seed: key,
            count: 0,
        };
        let mut elements = match Device::cpu().backend().download(&self.read(x)?)? {
            HostData::F64(elements) => elements,
            _ => return Err(self.device().unavailable("dropout")),
        };
        for element in &mut elements {
            *element *= hashes.factor(p);
        }
        let dropped = Device::cpu().backend().upload(HostData::F64(elements))?;
        Ok(self.hide(dropped))
    }
}
