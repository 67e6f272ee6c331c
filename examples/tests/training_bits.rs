//! The bits of fifty training steps: a restructuring must not change any of them.
//!
//! The value was recorded with AVX-512, and the SIMD levels with fused multiply-adds compute the same bits. Without that
//! instruction, sums are rounded differently, and there is nothing to compare.

use module_examples::{Digits, DigitsNet};
use module_nn::prelude::*;

/// FNV-1a over all losses, then over every value of the state dict, in order: with direct convolutions, and, for a network
/// with more channels, with the faster algorithms.
const EXACT: u64 = 0x46e9_abbc_1ae0_76df;
const FAST: u64 = 0x340b_558b_e67b_d3df;

fn add(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

fn has_fused_multiply_add() -> bool {
    cfg!(target_arch = "aarch64") || module_nn::cpu_capability() != "default"
}

fn fifty_steps(width: usize) -> Result<u64> {
    manual_seed(0);
    let data = Digits::read()?;
    let model = DigitsNet::new(width)?;
    let config = SGDConfig::new(0.05).momentum(0.9).weight_decay(1e-3);
    let mut optimizer = config.build(&model)?;
    let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    let order = Tensor::randperm(data.len(), ())?;
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for step in 0..50 {
        let batch = data.select(&order.narrow(0, 32 * step..32 * (step + 1))?)?;
        let loss = criterion.call((model.call(batch.images)?, batch.labels))?;
        model.zero_grad();
        loss.backward()?;
        optimizer.step(&model)?;
        add(&mut hash, &loss.item::<f32>()?.to_le_bytes());
    }
    for (key, value) in &model.state_dict()? {
        add(&mut hash, key.as_bytes());
        for v in value.to_dtype(DType::F32)?.to_vec::<f32>()? {
            add(&mut hash, &v.to_le_bytes());
        }
    }
    Ok(hash)
}

#[test]
fn fifty_steps_of_digits_give_the_recorded_bits() -> Result<()> {
    for (exact, width, recorded) in [(true, 8, EXACT), (false, 64, FAST)] {
        module_nn::set_exact_convolutions(exact);
        let hash = fifty_steps(width)?;
        if has_fused_multiply_add() {
            assert_eq!(hash, recorded, "exact: {exact}, {hash:#018x}");
        }
    }
    Ok(())
}
