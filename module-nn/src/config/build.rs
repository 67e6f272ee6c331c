use crate::{OrIdentity, Result};

/// A configuration, from which a layer or a loss is built.
///
/// The code that [`config!`](crate::config!) writes with `=> Layer` calls this, so that `Linear::new(4, 2)` and
/// `LinearConfig::new(4, 2).build()` work without importing the trait. With the trait itself, functions can accept any
/// configuration.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// fn stack<C>(config: &C, count: usize) -> Result<Vec<C::Output>>
/// where
///     C: Build,
/// {
///     (0..count).map(|_| config.build()).collect()
/// }
///
/// let layers = stack(&LinearConfig::new(4, 4).bias(false), 3)?;
/// assert_eq!(layers.len(), 3);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what it builds",
    label = "no `Build`",
    note = "write `impl Build for {Self}` below the table of its arguments"
)]
pub trait Build {
    /// The layer or the loss.
    type Output;

    /// Checks the arguments, and makes the layer with newly drawn parameters.
    ///
    /// # Errors
    ///
    /// Arguments that the layer refuses.
    fn build(&self) -> Result<Self::Output>;
}

/// A layer that may be absent: `self.norm.build()?` for an `Option` of a configuration.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm: Option<LayerNormConfig> = None;
/// let norm: OrIdentity<LayerNorm> = norm.build()?;
/// assert_eq!(norm.tree().to_string(), "Identity()");
/// # Ok::<(), Error>(())
/// ```
impl<C: Build> Build for Option<C> {
    type Output = OrIdentity<C::Output>;

    fn build(&self) -> Result<OrIdentity<C::Output>> {
        match self {
            Some(config) => config.build().map(OrIdentity::Module),
            None => Ok(OrIdentity::absent()),
        }
    }
}
