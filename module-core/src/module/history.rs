use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::{Init, Parameter};
use crate::rng::Generator;
use crate::{ModuleError, Result, Tensor};

/// How many initializers a parameter remembers, the last one included.
const MOST: usize = 16;

/// A number greater than all before.
fn next_order() -> u64 {
    static ORDER: AtomicU64 = AtomicU64::new(0);
    ORDER.fetch_add(1, Ordering::Relaxed)
}

/// One application of an initializer.
#[derive(Clone)]
pub(super) struct Draw {
    /// When it was: greater than that of every draw before. Parameters that are drawn as one have it
    /// in common. A draw that was put right before another has that one's number and `false`.
    order: (u64, bool),
    /// The stream of random numbers that it was from.
    stream: u64,
    pub(super) init: Arc<dyn Init>,
}

impl Draw {
    /// The next draw of all.
    pub(super) fn next(init: Arc<dyn Init>, stream: u64) -> Self {
        Self {
            order: (next_order(), true),
            stream,
            init,
        }
    }

    fn is_one_with(&self, other: &Self) -> bool {
        self.order == other.order && Arc::ptr_eq(&self.init, &other.init)
    }
}

/// The initializers that a parameter was given, oldest first.
///
/// All but the last were overwritten, but what they drew from the generator others no longer could
/// draw, so that repeating a construction must draw it too. What was overwritten before the generator
/// was last seeded is no part of what its seed repeats, and is forgotten; so is the oldest of more than
/// [`MOST`].
#[derive(Clone, Default)]
pub(super) struct History(SmallVec<[Draw; 1]>);

impl History {
    pub(super) fn of(draw: Draw) -> Self {
        Self(SmallVec::from_iter([draw]))
    }

    pub(super) fn push(&mut self, draw: Draw) {
        self.0.retain(|old| old.stream == draw.stream);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(draw);
    }

    pub(super) fn last(&self) -> Option<&Draw> {
        self.0.last()
    }

    /// Moves the last draw right before that of another parameter.
    pub(super) fn put_before(&mut self, next: &Self) {
        if let (Some(own), Some(next)) = (self.0.last_mut(), next.0.last()) {
            own.order = (next.order.0, false);
        }
    }
}

/// The generator that was given, or the default one of the parameter's device.
fn generator_of(parameter: &Parameter, given: Option<&Generator>) -> Generator {
    let of_device = || parameter.device().default_generator();
    given.cloned().unwrap_or_else(of_device)
}

/// Draws the values of some parameters anew, as they were drawn at first: every initializer that they
/// were given runs again, in the order of all; of those whose values were overwritten only the
/// generator goes on. The parameters stay as they are.
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
