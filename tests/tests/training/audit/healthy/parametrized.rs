//! Networks whose weights are computed from other parameters.

use module_nn::parametrize::{SpectralNormConfig, spectral_norm, weight_norm};
use module_nn::prelude::*;

use super::super::support::cross_entropy_of;
use super::{healthy, step};

#[test]
fn weights_of_a_length_and_a_direction() {
    healthy(|| {
        let model = Sequential::new()
            .push(weight_norm(Linear::new(6, 16)?, Some(0))?)
            .push(ReLU::new())
            .push(weight_norm(Linear::new(16, 16)?, None)?)
            .push(ReLU::new())
            .push(weight_norm(Linear::new(16, 3)?, Some(0))?);
        let mut optimizer = Adam::new(&model, 1e-3)?;
        Ok((model, move |model: &Sequential| {
            step(model, &mut optimizer, cross_entropy_of(model)?)
        }))
    });
}

#[test]
fn weights_of_a_bounded_gain() {
    healthy(|| {
        let config = SpectralNormConfig::new();
        let model = Sequential::new()
            .push(spectral_norm(Linear::new(6, 16)?, &config)?)
            .push(ReLU::new())
            .push(spectral_norm(Linear::new(16, 3)?, &config)?);
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            step(model, &mut optimizer, cross_entropy_of(model)?)
        }))
    });
}
