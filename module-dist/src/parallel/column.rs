use std::sync::Arc;

use module_nn::prelude::*;

use super::collectives::{copy_to_ranks, gather_from_ranks, own_part, part_size};
use super::common::{from_rank_0, own_maybe, same_part};
use crate::Comm;

const NAME: &str = "ColumnParallelLinear";

/// A [`Linear`] whose outputs are divided among ranks: each has the rows of the weight that make its part.
///
/// ```text
/// yᵣ = x·Wᵣᵀ + bᵣ      W = [W₀; W₁; …]
/// ```
///
/// The input is the same on all ranks; its gradient is summed over them. The output stays divided, for a
/// [`RowParallelLinear`](super::RowParallelLinear) behind it, unless [`gather_output`](Self::gather_output) joins it.
///
/// Source: Megatron-LM, `ColumnParallelLinear`; Shoeybi et al. (2019), section 3.
///
/// # Shapes
///
/// Input `[…, in_features]`, output `[…, out_features / ranks]`, or `[…, out_features]` if it is joined.
///
/// # State dict
///
/// `weight` `[out_features / ranks, in_features]` and, unless `bias` is false, `bias` `[out_features / ranks]`;
/// [`state_dict`](super::state_dict) joins them.
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
/// use module_dist::parallel::{ColumnParallelLinear, RowParallelLinear};
/// use module_nn::prelude::*;
///
/// let outputs = LocalComm::run(2, |comm| {
///     manual_seed(0);
///     let up = ColumnParallelLinear::new(&LinearConfig::new(3, 8), comm.clone())?;
///     let down = RowParallelLinear::new(&LinearConfig::new(8, 3), comm)?;
///     let x = Tensor::ones([1, 3], DType::F32)?;
///     let hidden = up.call(x)?.relu()?;
///     assert_eq!(hidden.size(-1)?, 4);
///     down.call(hidden)?.to_vec::<f32>()
/// })?;
/// assert_eq!(outputs[0], outputs[1]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct ColumnParallelLinear {
    in_features: usize,
    out_features: usize,
    gather_output: bool,
    weight: Parameter,
    bias: Bias,
    #[module(skip)]
    comm: Arc<dyn Comm>,
}

impl ColumnParallelLinear {
    /// A layer with fresh weights: those that [`LinearConfig::build`] draws on rank 0. All ranks call it.
    ///
    /// # Errors
    ///
    /// `out_features` that the number of ranks does not divide; those of `LinearConfig::build` and of the collectives.
    pub fn new(config: &LinearConfig, comm: Arc<dyn Comm>) -> Result<Self> {
        // Checked before anything is drawn.
        part_size(NAME, "out_features", config.out_features, &*comm)?;
        Self::from_linear(&config.build()?, comm)
    }

    /// This rank's part of a layer: of rank 0's, if they differ. All ranks call it.
    ///
    /// # Errors
    ///
    /// `out_features` that the number of ranks does not divide; those of the collectives.
    pub fn from_linear(linear: &Linear, comm: Arc<dyn Comm>) -> Result<Self> {
        let config = linear.config();
        part_size(NAME, "out_features", config.out_features, &*comm)?;
        let weight = from_rank_0(linear.weight(), &*comm)?;
        let own = |x: &Tensor| own_part(NAME, "out_features", x, 0, &*comm);
        Ok(Self {
            in_features: config.in_features,
            out_features: config.out_features,
            gather_output: false,
            weight: Parameter::new(own(&weight)?)?,
            bias: own_maybe(linear.bias(), &*comm, own)?,
            comm,
        })
    }

    /// Whether the output is joined from all ranks.
    #[must_use]
    pub fn gather_output(self, gather_output: bool) -> Self {
        Self {
            gather_output,
            ..self
        }
    }

    /// This rank's rows of the weight, `[out_features / ranks, in_features]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// This rank's part of the bias.
    pub fn bias(&self) -> &Bias {
        &self.bias
    }

    /// Ties its weight to another one that is divided in the same way, such as that of a
    /// [`VocabParallelEmbedding`](super::VocabParallelEmbedding).
    ///
    /// # Errors
    ///
    /// A weight of another shape.
    pub fn tie_weight(&mut self, weight: &Parameter) -> Result<()> {
        same_part(NAME, &self.weight, weight)?;
        self.weight = weight.share();
        Ok(())
    }
}

impl Forward for ColumnParallelLinear {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let x = copy_to_ranks(&input, &self.comm)?;
        let bias = self.bias.get().map(Parameter::tensor);
        let part = x.linear(&self.weight.tensor(), bias.as_ref())?;
        match self.gather_output {
            true => gather_from_ranks(&part, -1, &self.comm),
            false => Ok(part),
        }
    }
}
