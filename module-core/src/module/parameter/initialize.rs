//! How a parameter gets its values from initializers, at first and again later.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::super::deferred::is_deferred;
use super::super::history::{Draw, History};
use super::super::replay::replay;
use super::{Init, Parameter, check_shape};
use crate::rng::Generator;
use crate::{DType, DTypeError, Result, Shape, Tensor, default_device, default_dtype};

impl Parameter {
    /// A parameter that `init` fills, now from the default generator and again at every [`reset`](Self::reset); inside
    /// [`deferred`](crate::deferred), only at a reset.
    ///
    /// # Errors
    ///
    /// A shape that does not fit in memory or that the initializer does not support.
    pub fn with_init(shape: impl Into<Shape>, init: impl Init) -> Result<Self> {
        Self::with_init_of(&shape.into(), Arc::new(init))
    }

    /// Compiled once, because there are many initializers.
    fn with_init_of(shape: &Shape, init: Arc<dyn Init>) -> Result<Self> {
        let dtype = default_dtype();
        let generator = default_device().default_generator();
        let value = match is_deferred() {
            true => Tensor::absent("with_init", shape, dtype)?,
            false => init
                .init(shape, dtype, &generator)?
                .to_device(&default_device())?,
        };
        let stream = generator.stream();
        check_draw("with_init", shape, dtype, &value)?;
        Self::from_parts(value, History::of(Draw::next(init, stream)))
    }

    /// Whether the parameter owns an initializer.
    pub fn can_reset(&self) -> bool {
        self.initializer().is_some()
    }

    /// The parameter's last initializer.
    pub fn initializer(&self) -> Option<Arc<dyn Init>> {
        self.history().last().map(|draw| draw.init.clone())
    }

    /// The initializers so far; the lock is not held while they draw.
    pub(in super::super) fn history(&self) -> History {
        let history = self.0.history.read();
        history.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change_history(&self, f: impl FnOnce(&mut History)) {
        let history = self.0.history.write();
        f(&mut history.unwrap_or_else(PoisonError::into_inner));
    }

    /// Redraws the values with `init`, from the default generator, and drops the gradient. The parameter owns the
    /// initializer from now on, so that [`reset`](Self::reset) repeats it. Inside [`deferred`](crate::deferred) nothing is
    /// drawn, and the parameter has no values until a reset.
    ///
    /// A parameter remembers its previous initializers, the last 15 since the generator was seeded:
    /// [`reset_parameters`](crate::ModuleExt::reset_parameters) advances the generator as they did, so that all values
    /// equal those of the construction.
    ///
    /// # Errors
    ///
    /// A shape that the initializer does not support. The parameter is then unchanged.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor, module::ConstantInit};
    ///
    /// let weight = Parameter::new(Tensor::from([1.0_f32, 2.0]))?;
    /// weight.initialize(ConstantInit(0.5))?;
    /// assert_eq!(weight.tensor().to_vec::<f32>()?, [0.5, 0.5]);
    /// assert!(weight.can_reset());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn initialize(&self, init: impl Init) -> Result<()> {
        self.initialize_by(Arc::new(init))
    }

    fn initialize_by(&self, init: Arc<dyn Init>) -> Result<()> {
        let generator = self.device().default_generator();
        let value = match is_deferred() {
            true => Tensor::absent("initialize", &self.shape(), (self.dtype(), self.device()))?,
            false => self.draw_by(&*init, &generator)?,
        };
        let stream = generator.stream();
        self.change_history(|history| history.push(Draw::next(init, stream)));
        self.replace(value, None);
        self.mark_loaded(false);
        Ok(())
    }

    /// Takes over the values of `other`, its initializers and its position in the order of draws: a reset of the tree gives
    /// both the same values again. Transformer stacks initialize their layers this way.
    ///
    /// # Errors
    ///
    /// A different shape. The parameter is then unchanged.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{ModuleExt, Parameter, module::ConstantInit};
    ///
    /// let first = Parameter::with_init([2], ConstantInit(1.0))?;
    /// let second = Parameter::with_init([2], ConstantInit(0.0))?;
    /// second.initialize_like(&first)?;
    /// assert_eq!(second.tensor().to_vec::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn initialize_like(&self, other: &Self) -> Result<()> {
        let value = other.detach();
        check_shape("initialize_like", &self.shape(), &value)?;
        let value = match value.has_values() {
            true => self.cast_like_own(&value)?,
            false => Tensor::absent(
                "initialize_like",
                value.shape(),
                (self.dtype(), self.device()),
            )?,
        };
        let history = other.history();
        self.change_history(|own| *own = history);
        self.replace(value, None);
        self.mark_loaded(other.is_loaded());
        Ok(())
    }

    /// Whether the values came from a state dict and have not been redrawn since; training does not change this.
    pub fn is_loaded(&self) -> bool {
        self.0.loaded.load(Ordering::Relaxed)
    }

    pub(crate) fn mark_loaded(&self, loaded: bool) {
        self.0.loaded.store(loaded, Ordering::Relaxed);
    }

    /// Redraws the values with the parameter's own initializer and drops the gradient.
    ///
    /// # Errors
    ///
    /// A parameter that was made from a tensor and has no initializer; those of the initializer. The parameter is then
    /// unchanged.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{DType, Generator, Init, Parameter, Result, Shape, Tensor};
    ///
    /// struct Normal;
    ///
    /// impl Init for Normal {
    ///     fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
    ///         Tensor::normal(shape, 0.0, 1.0, dtype, generator)
    ///     }
    /// }
    ///
    /// let weight = Parameter::with_init([3], Normal)?;
    /// weight.set(Tensor::zeros([3], DType::F32)?)?;
    /// let drawn = weight.draw(&Generator::new(0))?; // The parameter is unchanged.
    /// assert_eq!(weight.detach().to_vec::<f32>()?, [0.0; 3]);
    /// weight.reset(&Generator::new(0))?;
    /// assert!(weight.detach().equal(&drawn)? && !weight.is_loaded());
    ///
    /// // The initializer by itself.
    /// let init = weight.initializer().expect("it was made with one");
    /// assert!(init.init(&weight.shape(), DType::F32, &Generator::new(0))?.equal(&drawn)?);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn reset(&self, generator: &Generator) -> Result<()> {
        self.replace(self.draw(generator)?, None);
        self.mark_loaded(false);
        Ok(())
    }

    /// When a tree is redrawn, this parameter is drawn directly before `next`, not at its own position: for an initializer
    /// that depends on what `next` will draw.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{DType, Generator, Init, ModuleExt, Parameter, Result, Shape, Tensor, fork_rng};
    ///
    /// struct Normal;
    ///
    /// impl Init for Normal {
    ///     fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
    ///         Tensor::normal(shape, 0.0, 1.0, dtype, generator)
    ///     }
    /// }
    ///
    /// // The second parameter is drawn first when the tree is redrawn.
    /// let first = Parameter::with_init([1], Normal)?;
    /// let second = Parameter::with_init([1], Normal)?.draw_before(&first);
    /// let net = vec![first, second];
    /// net.reset_parameters_with(&Generator::new(0))?;
    /// let generator = Generator::new(0);
    /// let [a, b] = [(); 2].map(|()| Normal.init(&[1].into(), DType::F32, &generator));
    /// assert!(net[1].detach().equal(&a?)? && net[0].detach().equal(&b?)?);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn draw_before(self, next: &Self) -> Self {
        let next = next.history();
        self.change_history(|history| history.put_before(&next));
        self
    }

    /// Values drawn by the parameter's own initializer; the parameter is unchanged.
    ///
    /// # Errors
    ///
    /// Those of [`reset`](Self::reset).
    pub fn draw(&self, generator: &Generator) -> Result<Tensor> {
        replay(&[self], Some(generator)).map(|mut values| values.remove(0))
    }

    pub(in super::super) fn draw_by(
        &self,
        init: &dyn Init,
        generator: &Generator,
    ) -> Result<Tensor> {
        let old = self.detach();
        let value = init.init(old.shape(), old.dtype(), generator)?;
        check_draw("reset", old.shape(), old.dtype(), &value)?;
        value.to_device(&old.device())
    }

    /// The values of another parameter in this one's dtype and on its device.
    pub(in super::super) fn cast_like_own(&self, value: &Tensor) -> Result<Tensor> {
        let old = self.detach();
        value.to_dtype(old.dtype())?.to_device(&old.device())
    }
}

/// An initializer must return the requested shape, dtype and device.
fn check_draw(op: &'static str, shape: &Shape, dtype: DType, value: &Tensor) -> Result<()> {
    check_shape(op, shape, value)?;
    if value.dtype() == dtype {
        return Ok(());
    }
    let (lhs, rhs) = (dtype, value.dtype());
    Err(DTypeError::Mismatch { op, lhs, rhs }.into())
}
