//! Redraws the values of parameters exactly as they were first drawn.

use super::Parameter;
use crate::rng::Generator;
use crate::{ModuleError, Result, Tensor};

/// The given generator, or the default one of the parameter's device.
fn generator_of(parameter: &Parameter, given: Option<&Generator>) -> Generator {
    let of_device = || parameter.device().default_generator();
    given.cloned().unwrap_or_else(of_device)
}

/// Redraws the values of some parameters in the same way as at first: all their initializers run again, in the global
/// order; for overwritten values only the generator is advanced. The parameters are unchanged.
///
/// # Errors
///
/// Those of the initializers, and a parameter that has none.
pub(super) fn replay(
    parameters: &[&Parameter],
    generator: Option<&Generator>,
) -> Result<Vec<Tensor>> {
    let mut draws = Vec::new();
    for (place, parameter) in parameters.iter().enumerate() {
        let history = parameter.history();
        let Some(last) = history.0.len().checked_sub(1) else {
            let paths = vec!["parameter".into()];
            return Err(ModuleError::NoInitializer { paths }.into());
        };
        let own = history.0.into_iter().enumerate();
        draws.extend(own.map(|(i, draw)| (draw, place, i == last)));
    }
    draws.sort_by_key(|(draw, ..)| draw.order);
    let mut values = vec![None; parameters.len()];
    for same in draws.chunk_by(|(a, ..), (b, ..)| a.is_one_with(b)) {
        let mut drawn: Option<Tensor> = None;
        for (draw, place, last) in same {
            let (Some(parameter), Some(slot)) = (parameters.get(*place), values.get_mut(*place))
            else {
                continue;
            };
            if *last {
                let value = match &drawn {
                    Some(value) => parameter.cast_like_own(value)?,
                    None => parameter.draw_by(&*draw.init, &generator_of(parameter, generator))?,
                };
                drawn = Some(value.clone());
                *slot = Some(value);
            }
        }
        if let (None, Some((draw, place, _))) = (drawn, same.first())
            && let Some(parameter) = parameters.get(*place)
        {
            let (shape, dtype) = (parameter.shape(), parameter.dtype());
            let generator = generator_of(parameter, generator);
            draw.init.skip(&shape, dtype, &generator)?;
        }
    }
    Ok(values.into_iter().flatten().collect())
}
