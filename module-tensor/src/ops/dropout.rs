//! Dropout.

use crate::backend::DropoutKernels;
use crate::rng::{Distribution, RngError, default_generator};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Layout, Result, Shape};

impl Tensor {
    /// Zeroes each element with probability `p` and scales the rest by `1/(1 - p)`. The mask is drawn from the default
    /// generator and equals PyTorch's on the CPU.
    ///
    /// A device with [`DropoutKernels`] computes its own mask from a number that the default generator of the CPU draws.
    ///
    /// Nothing is drawn for `p = 0` and `p = 1`.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, fork_rng};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0]);
    /// let y = fork_rng(0, || x.dropout(0.5))?;
    /// assert!(y.to_vec::<f32>()?.iter().zip(1..).all(|(&y, i)| y == 0.0 || y == 2.0 * i as f32));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn dropout(&self, p: f64) -> Result<Self> {
        // PyTorch returns the input before drawing.
        if p == 0.0 || (self.numel() == 0 && (0.0..=1.0).contains(&p)) {
            self.check_floating("dropout")?;
            return Ok(self.clone());
        }
        if p > 0.0 && p < 1.0 && self.dropout_kernels().is_some() {
            return self.drop_by_key(p, draw_key()?);
        }
        self.mul(&self.draw_like("dropout", Distribution::Dropout { p })?)
    }

    /// The kernels that drop elements of this dtype by a key, if the device has them.
    fn dropout_kernels(&self) -> Option<&'static dyn DropoutKernels> {
        let kernels = self.device().backend().dropout();
        kernels.filter(|kernels| kernels.serves(self.dtype()))
    }

    /// Drops the elements that the key decides; computed again in the backward pass, the mask takes no memory.
    fn drop_by_key(&self, p: f64, key: u64) -> Result<Self> {
        let Some(kernels) = self.dropout_kernels() else {
            return Err(self.device().unavailable("dropout"));
        };
        let out = kernels.dropout(self.plain("dropout")?, p, key)?;
        Ok(self
            .like_shape(out)
            .record([self], |_| DropByKey { p, key }))
    }

    /// Zeroes each channel with probability `p` and scales the rest by `1/(1 - p)`. The mask equals PyTorch's.
    ///
    /// Nothing is drawn for `p = 0` and `p = 1`.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, …]`
    ///
    /// # Errors
    ///
    /// Those of [`dropout`](Self::dropout), and fewer than two dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let x = Tensor::ones([1, 3, 2], DType::F32)?;
    /// let y = fork_rng(0, || x.feature_dropout(0.5))?.to_vec::<f32>()?;
    /// assert!(y.chunks(2).all(|channel| channel == [0.0, 0.0] || channel == [2.0, 2.0]));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias("dropout1d", "dropout2d", "dropout3d"))]
    pub fn feature_dropout(&self, p: f64) -> Result<Self> {
        const NAME: &str = "feature_dropout";
        match self.without_draw(NAME, p)? {
            Some(out) => Ok(out),
            None => self.mul(
                &self
                    .per_channel(NAME)?
                    .draw_like(NAME, Distribution::Dropout { p })?,
            ),
        }
    }

    /// Dropout that preserves mean 0 and variance 1, as [`selu`](Self::selu) does: with probability `p` an element becomes
    /// `-λ α`, the lower bound of `selu`, and all are then scaled and shifted. The mask equals PyTorch's.
    ///
    /// Nothing is drawn for `p = 0` and `p = 1`, which gives zeros.
    ///
    /// Source: Klambauer, Unterthiner, Mayr and Hochreiter, "Self-Normalizing Neural Networks", 2017.
    ///
    /// # Errors
    ///
    /// Those of [`dropout`](Self::dropout).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let y = fork_rng(0, || Tensor::randn([10_000], DType::F64)?.alpha_dropout(0.3))?;
    /// assert!(y.mean(..)?.item::<f64>()?.abs() < 0.05);
    /// assert!((y.var(.., 1.0)?.item::<f64>()? - 1.0).abs() < 0.05);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn alpha_dropout(&self, p: f64) -> Result<Self> {
        const NAME: &str = "alpha_dropout";
        match self.without_draw(NAME, p)? {
            Some(out) => Ok(out),
            None => self.drop_to_saturation(&self.draw_like(NAME, keep(p))?, p),
        }
    }

    /// [`alpha_dropout`](Self::alpha_dropout) for whole channels.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, …]`
    ///
    /// # Errors
    ///
    /// Those of [`feature_dropout`](Self::feature_dropout).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let x = Tensor::ones([1, 3, 2], DType::F32)?;
    /// let y = fork_rng(0, || x.feature_alpha_dropout(0.5))?.to_vec::<f32>()?;
    /// assert!(y.chunks(2).all(|channel| channel[0] == channel[1]));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn feature_alpha_dropout(&self, p: f64) -> Result<Self> {
        const NAME: &str = "feature_alpha_dropout";
        match self.without_draw(NAME, p)? {
            Some(out) => Ok(out),
            None => self.drop_to_saturation(&self.per_channel(NAME)?.draw_like(NAME, keep(p))?, p),
        }
    }

    /// The result if PyTorch draws nothing: for a probability of 0 or 1, or a tensor without elements.
    fn without_draw(&self, op: &'static str, p: f64) -> Result<Option<Self>> {
        self.check_floating(op)?;
        if !(0.0..=1.0).contains(&p) {
            return Err(RngError::Probability { op, p }.into());
        }
        Ok(match p {
            0.0 => Some(self.clone()),
            _ if self.numel() == 0 => Some(self.clone()),
            1.0 => Some(self.mul(0.0)?),
            _ => None,
        })
    }

    /// A tensor with one element for each channel, which broadcasts to this one.
    fn per_channel(&self, op: &'static str) -> Result<Self> {
        let [_, _, ..] = **self.shape() else {
            return Err(self.shape().error(op, "at least two dimensions"));
        };
        let sizes = self.shape().iter().enumerate();
        let sizes: Shape = sizes
            .map(|(d, &size)| if d < 2 { size } else { 1 })
            .collect();
        Self::zeros(sizes, (self.dtype(), &self.device()))
    }

    /// Replaces the elements that the mask of ones and zeros drops by `-λα`, then scales and shifts all, in
    /// PyTorch's order of roundings.
    fn drop_to_saturation(&self, keep: &Self, p: f64) -> Result<Self> {
        // λ α of `selu`.
        const BOUND: f64 = 1.758_099_340_847_376_6;
        let scale = 1.0 / ((BOUND * BOUND * p + 1.0) * (1.0 - p)).sqrt();
        let shift = keep.add(-1.0)?.mul(BOUND * scale)?.add(BOUND * scale * p)?;
        self.mul(&keep.mul(scale)?)?.add(&shift)
    }
}

/// Ones with probability `1 - p`, and zeros.
fn keep(p: f64) -> Distribution {
    Distribution::Bernoulli { p: 1.0 - p }
}

/// A number from zero to `i64::MAX`, from the default generator of the CPU, whose state then determines every mask.
fn draw_key() -> Result<u64> {
    let (low, high) = (i64::MIN, 0);
    let drawn = default_generator().draw(Distribution::Integers { low, high }, 1, DType::I64)?;
    let drawn = Tensor::from_storage(drawn, Layout::contiguous(().into())).item::<i64>()?;
    Ok(drawn.wrapping_sub(low) as u64)
}

struct DropByKey {
    p: f64,
    key: u64,
}

impl Function for DropByKey {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().drop_by_key(self.p, self.key)?)
    }
}
