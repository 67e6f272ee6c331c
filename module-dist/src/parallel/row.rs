use std::sync::Arc;

use module_nn::prelude::*;

use super::collectives::{own_part, part_size, reduce_from_ranks, scatter_to_ranks};
use super::common::{from_rank_0, own_maybe};
use crate::Comm;

const NAME: &str = "RowParallelLinear";

/// A [`Linear`] whose inputs are divided among ranks: each has the columns of the weight for its part.
///
/// ```text
/// y = Σᵣ xᵣ·Wᵣᵀ + b      W = [W₀, W₁, …]
/// ```
///
/// The input is the divided output of a [`ColumnParallelLinear`](super::ColumnParallelLinear), or with
/// [`scatter_input`](Self::scatter_input) the whole input, which is the same on all ranks. The output is the same on all
/// ranks; so is the bias, which is added once.
///
/// Source: Megatron-LM, `RowParallelLinear`; Shoeybi et al. (2019), section 3.
///
/// # Shapes
///
/// Input `[…, in_features / ranks]`, or `[…, in_features]` if it is divided here; output `[…, out_features]`.
///
/// # State dict
///
/// `weight` `[out_features, in_features / ranks]` and, unless `bias` is false, `bias` `[out_features]`;
/// [`state_dict`](super::state_dict) joins the weight.
///
/// # Initialization
///
/// That of [`Linear`], of which each rank keeps its part; the numbers are those of rank 0.
///
/// # Errors
///
/// [`ParallelError::NotDivisible`](super::ParallelError::NotDivisible); those of [`Linear`] and of the collectives.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::RowParallelLinear;
/// use module_nn::prelude::*;
///
/// let linear = LinearConfig::new(4, 2);
/// let shapes = LocalComm::run(2, |comm| {
///     let layer = RowParallelLinear::new(&linear, comm)?.scatter_input(true);
///     let y = layer.call(Tensor::ones([5, 4], DType::F32)?)?;
///     Ok((layer.weight().shape().to_string(), y.shape().to_string()))
/// })?;
/// assert_eq!(shapes[0], ("[2, 2]".to_owned(), "[5, 2]".to_owned()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct RowParallelLinear {
    in_features: usize,
    out_features: usize,
    scatter_input: bool,
    weight: Parameter,
    bias: Bias,
    #[module(skip)]
    comm: Arc<dyn Comm>,
}

impl RowParallelLinear {
    /// A layer with fresh weights: those that [`LinearConfig::build`] draws on rank 0. All ranks call it.
    ///
    /// # Errors
    ///
    /// `in_features` that the number of ranks does not divide; those of `LinearConfig::build` and of the collectives.
    pub fn new(config: &LinearConfig, comm: Arc<dyn Comm>) -> Result<Self> {
        part_size(NAME, "in_features", config.in_features, &*comm)?;
        Self::from_linear(&config.build()?, comm)
    }

    /// This rank's part of a layer: of rank 0's, if they differ. All ranks call it.
    ///
    /// # Errors
    ///
    /// `in_features` that the number of ranks does not divide; those of the collectives.
    pub fn from_linear(linear: &Linear, comm: Arc<dyn Comm>) -> Result<Self> {
        let config = linear.config();
        part_size(NAME, "in_features", config.in_features, &*comm)?;
        let weight = from_rank_0(linear.weight(), &*comm)?;
        let own = own_part(NAME, "in_features", &weight, 1, &*comm)?;
        Ok(Self {
            in_features: config.in_features,
            out_features: config.out_features,
            scatter_input: false,
            weight: Parameter::new(own)?,
            bias: own_maybe(linear.bias(), &*comm, |x| Ok(x.clone()))?,
            comm,
        })
    }

    /// Whether the input is the whole one, which the layer divides.
    #[must_use]
    pub fn scatter_input(self, scatter_input: bool) -> Self {
        Self {
            scatter_input,
            ..self
        }
    }

    /// This rank's columns of the weight, `[out_features, in_features / ranks]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The bias, which is whole on every rank.
    pub fn bias(&self) -> &Bias {
        &self.bias
    }
}

impl Forward for RowParallelLinear {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let x = match self.scatter_input {
            true => scatter_to_ranks(&input, -1, &self.comm)?,
            false => input,
        };
        let part = x.linear(&self.weight.tensor(), None)?;
        let sum = reduce_from_ranks(&part, &self.comm)?;
        match self.bias.get() {
            Some(bias) => sum.add(bias.tensor()),
            None => Ok(sum),
        }
    }
}
