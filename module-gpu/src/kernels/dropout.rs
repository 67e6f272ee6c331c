//! Dropout, whose mask is computed from a key in the kernel.

use module_tensor::backend::{DropoutKernels, Operand, Storage};
use module_tensor::{DType, Result};

use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;
use crate::map::FIRST;

const NAME: &str = "dropout";

/// `random(i, key)`: Philox2x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011: 32
/// bits from a counter, which is `i` and half of the key, and the other half of the key.
const PHILOX: &str = "
fn product_high(x: u32, y: u32) -> u32 {
    let low = (x & 0xffffu) * (y & 0xffffu);
    let first = (x >> 16u) * (y & 0xffffu) + (low >> 16u);
    let second = (x & 0xffffu) * (y >> 16u) + (first & 0xffffu);
    return (x >> 16u) * (y >> 16u) + (first >> 16u) + (second >> 16u);
}
fn random(i: u32, key: vec2<u32>) -> u32 {
    var counter = vec2<u32>(i, key.y);
    var round_key = key.x;
    for (var round = 0u; round < 10u; round++) {
        let high = product_high(0xd256d193u, counter.x);
        counter = vec2<u32>(high ^ round_key ^ counter.y, 0xd256d193u * counter.x);
        round_key += 0x9e3779b9u;
    }
    return counter.x;
}
";

impl DropoutKernels for Gpu {
    fn serves(&self, dtype: DType) -> bool {
        matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
    }

    fn dropout(&self, x: Operand, p: f64, key: u64) -> Result<Storage> {
        let Some(elem) = self.computes_in_f32(&x) else {
            return Err(self.device().unavailable(NAME));
        };
        // Of 2³² numbers, so many drop an element.
        let dropped = (p * 2.0_f64.powi(32)).round() as u32;
        let scale = (1.0 / (1.0 - p)) as f32;
        self.elementwise(Elementwise {
            op: NAME,
            key: NAME.to_owned(),
            operands: &[(&x, elem)],
            others: &[],
            out: elem,
            dtype: x.storage.dtype(),
            parameters: vec![key as u32, (key >> 32) as u32, dropped, scale.to_bits()],
            code: &|| {
                let [low, high, dropped, scale] = std::array::from_fn(|i| FIRST + i);
                Code {
                    functions: PHILOX.to_owned(),
                    statements: format!(
                        "    let number = random(i, vec2<u32>(${low}, ${high}));
    return x * select($f{scale}, 0.0, number < ${dropped});\n"
                    ),
                }
            },
        })
    }
}
