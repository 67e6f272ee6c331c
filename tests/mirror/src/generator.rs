use module_tensor::backend::{DeviceGenerator, Distribution, HostData, Operand, Storage};
use module_tensor::{DType, Device, Error, Layout, Result};

use crate::storage::MirrorStorage;

/// Random numbers that differ from the CPU's: hashes of a seed and a counter.
pub(crate) struct Hashes {
    pub(crate) device: Device,
    pub(crate) seed: u64,
    pub(crate) count: u64,
}

impl Hashes {
    /// The next number in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        self.count += 1;
        let mut x = self
            .seed
            .wrapping_add(self.count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The next factor of dropout.
    pub(crate) fn factor(&mut self, p: f64) -> f64 {
        match self.unit() < p {
            true => 0.0,
            false => 1.0 / (1.0 - p),
        }
    }

    fn next(&mut self, distribution: Distribution) -> Result<f64> {
        Ok(match distribution {
            Distribution::Uniform { low, high } => low + (high - low) * self.unit(),
            Distribution::Normal { mean, std } => {
                let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
                mean + std * radius * (std::f64::consts::TAU * self.unit()).cos()
            }
            Distribution::Bernoulli { p } => f64::from(u8::from(self.unit() < p)),
            Distribution::Dropout { p } => self.factor(p),
            _ => return Err(self.device.unavailable(distribution.name())),
        })
    }
}

impl DeviceGenerator for Hashes {
    fn manual_seed(&mut self, seed: u64) {
        (self.seed, self.count) = (seed, 0);
    }

    fn initial_seed(&self) -> u64 {
        self.seed
    }

    fn get_state(&self) -> Vec<u8> {
        [self.seed.to_le_bytes(), self.count.to_le_bytes()].concat()
    }

    fn set_state(&mut self, state: &[u8]) -> Result<()> {
        let (words, rest) = state.as_chunks::<8>();
        let (&[seed, count], []) = (words, rest) else {
            let problem = "must be 16 bytes";
            return Err(Error::argument("set_state", "length", state.len(), problem));
        };
        self.seed = u64::from_le_bytes(seed);
        self.count = u64::from_le_bytes(count);
        Ok(())
    }

    fn draw(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<Storage> {
        let values: Result<Vec<f64>> = (0..numel).map(|_| self.next(distribution)).collect();
        let cpu = Device::cpu().backend();
        let values = cpu.upload(HostData::F64(values?))?;
        let layout = Layout::contiguous(numel.into());
        let behind = cpu.cast(
            Operand {
                storage: values,
                layout,
            },
            dtype,
        )?;
        let device = self.device;
        Ok(Storage::new(MirrorStorage {
            behind,
            device,
            _counted: None,
        }))
    }
}
