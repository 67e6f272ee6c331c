//! A pipeline of layers.

mod schedule;
mod state;
mod tie;

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use module_nn::BackwardOptions;
use module_nn::prelude::*;

pub use schedule::{PipelineAction, one_forward_one_backward};
use tie::Tie;

use super::ParallelError;
use super::common::from_rank_0;
use crate::Comm;

/// The tags of messages between stages.
const ACTIVATION: u32 = 0x5049_5001;
const GRADIENT: u32 = 0x5049_5002;
const TIED: u32 = 0x5049_5003;

/// A [`Sequential`] whose layers are divided among ranks, each with some consecutive ones, through which micro-batches pass:
/// the schedule is [1F1B](one_forward_one_backward).
///
/// The gradients are those of one process with the whole batch, if the loss is a mean and the layers process each sample by
/// itself: the loss is the mean of those of the micro-batches. Layers keep their keys. A parameter that is tied across
/// stages gets the sum of the gradients of all of them, on each.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::Pipeline;
/// use module_nn::prelude::*;
///
/// let losses = LocalComm::run(2, |comm| {
///     manual_seed(0);
///     let net = Sequential::new().push(Linear::new(4, 8)?).push(ReLU::new()).push(Linear::new(8, 3)?);
///     let pipeline = Pipeline::new(net, comm, 2)?;
///     let mut optimizer = SGD::new(pipeline.layers(), 0.1)?;
///     let (x, y) = (Tensor::ones([4, 4], DType::F32)?, Tensor::from([0_i64, 1, 2, 0]));
///     let loss = CrossEntropyLoss::new();
///     let mut losses = Vec::new();
///     for _ in 0..2 {
///         let value = pipeline.forward_backward(&x, &y, |output, target| loss.call((output, target)))?;
///         optimizer.step(pipeline.layers())?;
///         optimizer.zero_grad(pipeline.layers());
///         losses.push(value.item::<f32>()?);
///     }
///     Ok(losses)
/// })?;
/// assert!(losses[0] == losses[1] && losses[0][1] < losses[0][0]);
/// # Ok::<(), Error>(())
/// ```
pub struct Pipeline {
    layers: Sequential,
    /// The keys of the layers of all stages.
    keys: Vec<String>,
    own: Range<usize>,
    micro_batches: usize,
    ties: Vec<Tie>,
    comm: Arc<dyn Comm>,
}

impl Pipeline {
    /// This rank's part of `layers`, whose numbers differ by at most one between ranks. All ranks call it with the same
    /// layers; the values are those of rank 0.
    ///
    /// # Errors
    ///
    /// [`ParallelError::Stages`]: fewer layers than ranks; no micro-batches; layers that differ from those on rank 0.
    pub fn new(layers: Sequential, comm: Arc<dyn Comm>, micro_batches: usize) -> Result<Self> {
        let (count, ranks) = (layers.len(), comm.size());
        let more = count % ranks;
        let counts = (0..ranks).map(|rank| count / ranks + usize::from(rank < more));
        Self::with_stages(layers, &counts.collect::<Vec<_>>(), comm, micro_batches)
    }

    /// [`new`](Self::new) with these numbers of layers for the ranks.
    ///
    /// # Errors
    ///
    /// [`ParallelError::Stages`]: not one number of at least 1 for each rank, or a sum that differs from the number of
    /// layers; no micro-batches; layers that differ from those on rank 0.
    pub fn with_stages(
        layers: Sequential,
        counts: &[usize],
        comm: Arc<dyn Comm>,
        micro_batches: usize,
    ) -> Result<Self> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let covered = counts.iter().sum::<usize>() == layers.len();
        if counts.len() != ranks || counts.contains(&0) || !covered {
            return Err(ParallelError::Stages {
                rank,
                counts: counts.to_vec(),
                layers: layers.len(),
                ranks,
            }
            .into());
        }
        if micro_batches == 0 {
            let problem = "must be at least 1";
            return Err(Error::argument(
                "Pipeline",
                "micro_batches",
                micro_batches,
                problem,
            ));
        }
        for (_, parameter) in layers.named_parameters() {
            parameter.set(from_rank_0(parameter, &*comm)?)?;
        }
        for (_, buffer) in layers.named_buffers() {
            buffer.set(comm.broadcast(&buffer.tensor(), 0)?)?;
        }
        let ties = tie::find(&layers, counts, rank)?;
        let start = counts.iter().take(rank).sum();
        let own = start..start + counts.get(rank).copied().unwrap_or_default();
        let (keys, layers) = take(layers, &own)?;
        Ok(Self {
            layers,
            keys,
            own,
            micro_batches,
            ties,
            comm,
        })
    }

    /// This rank's layers, under their keys in the whole container: what its optimizer moves.
    pub fn layers(&self) -> &Sequential {
        &self.layers
    }

    /// The numbers of this rank's layers.
    pub fn own(&self) -> Range<usize> {
        self.own.clone()
    }

    fn is_first(&self) -> bool {
        self.comm.rank() == 0
    }

    fn is_last(&self) -> bool {
        self.comm.rank() + 1 == self.comm.size()
    }

    /// Passes a batch forward and backward through all stages, adds the gradients to this rank's parameters, and returns
    /// the loss, untracked. All ranks call it; the first uses `input`, the last `target` and `loss`.
    ///
    /// # Errors
    ///
    /// [`ParallelError::NotDivisible`]: a batch that the number of micro-batches does not divide; those of the layers, the
    /// loss and the collectives.
    pub fn forward_backward(
        &self,
        input: &Tensor,
        target: &Tensor,
        loss: impl Fn(Tensor, Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let (inputs, targets) = (self.split(input)?, self.split(target)?);
        let earlier = self.ties.iter().map(Tie::take_grad).collect::<Vec<_>>();
        let (rank, ranks) = (self.comm.rank(), self.comm.size());
        let mut held = VecDeque::new();
        let mut total: Option<Tensor> = None;
        for action in one_forward_one_backward(rank, ranks, self.micro_batches) {
            match action {
                PipelineAction::Forward(i) => {
                    let passed = self.pass_forward(inputs.get(i), targets.get(i), &loss)?;
                    if self.is_last() {
                        let loss = passed.output.detach();
                        total = Some(match total {
                            Some(total) => total.add(&loss)?,
                            None => loss,
                        });
                    }
                    held.push_back(passed);
                }
                PipelineAction::Backward(_) => {
                    if let Some(passed) = held.pop_front() {
                        self.pass_backward(passed)?;
                    }
                }
            }
        }
        for (tie, earlier) in self.ties.iter().zip(earlier) {
            tie.sum(&*self.comm, earlier)?;
        }
        self.share_last(total)
    }

    /// Passes a batch forward through all stages, without a graph, and returns the output. All ranks call it; the first
    /// uses `input`.
    ///
    /// # Errors
    ///
    /// Those of the layers and of the collectives.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        no_grad(|| {
            let x = match self.is_first() {
                true => input.clone(),
                false => self.receive(self.comm.rank() - 1, ACTIVATION)?,
            };
            let output = self.layers.call(x)?;
            if !self.is_last() {
                self.comm.send(&output, self.comm.rank() + 1, ACTIVATION)?;
                return self.share_last(None);
            }
            self.share_last(Some(output))
        })
    }

    fn pass_forward(
        &self,
        input: Option<&Tensor>,
        target: Option<&Tensor>,
        loss: impl Fn(Tensor, Tensor) -> Result<Tensor>,
    ) -> Result<Passed> {
        let input = match input.filter(|_| self.is_first()) {
            Some(input) => input.clone(),
            None => self.received()?,
        };
        let output = self.layers.call(input.clone())?;
        let output = match target.filter(|_| self.is_last()) {
            Some(target) => loss(output, target.clone())?.div(self.micro_batches as f64)?,
            None => {
                self.comm.send(&output, self.comm.rank() + 1, ACTIVATION)?;
                output
            }
        };
        Ok(Passed { input, output })
    }

    /// The activations of the stage before, as a leaf.
    fn received(&self) -> Result<Tensor> {
        let x = self.receive(self.comm.rank() - 1, ACTIVATION)?;
        match x.dtype().is_differentiable() {
            true => x.with_grad(),
            false => Ok(x),
        }
    }

    fn pass_backward(&self, Passed { input, output }: Passed) -> Result<()> {
        if self.is_last() {
            output.backward()?;
        } else {
            let grad = self.receive(self.comm.rank() + 1, GRADIENT)?;
            if output.requires_grad() {
                output.backward_with(&grad, BackwardOptions::default())?;
            }
        }
        if self.is_first() {
            return Ok(());
        }
        let grad = match input.grad() {
            Some(grad) => grad,
            None => input.zeros_like()?,
        };
        self.comm.send(&grad, self.comm.rank() - 1, GRADIENT)
    }

    /// The next tensor of another stage, on the device of this rank's layers.
    fn receive(&self, from: usize, tag: u32) -> Result<Tensor> {
        let tensor = self.comm.receive(from, tag)?;
        match self.layers.parameters().next() {
            Some(parameter) => tensor.to_device(&parameter.device()),
            None => Ok(tensor),
        }
    }

    /// The value of the last rank, on every rank.
    fn share_last(&self, value: Option<Tensor>) -> Result<Tensor> {
        let own = value.unwrap_or_else(|| Tensor::from([0_u8; 0]));
        let last = self.comm.all_gather(&own)?.pop();
        last.ok_or_else(|| Error::custom("a group of no ranks has no last one"))
    }

    fn split(&self, batch: &Tensor) -> Result<Vec<Tensor>> {
        let (size, parts) = (batch.size(0)?, self.micro_batches);
        if !size.is_multiple_of(parts) {
            return Err(ParallelError::NotDivisible {
                rank: self.comm.rank(),
                op: "Pipeline",
                what: "batch",
                size,
                parts,
            }
            .into());
        }
        let part = size / parts;
        let each = (0..parts).map(|i| batch.narrow(0, i * part..(i + 1) * part));
        each.collect()
    }
}

/// The tensors that a stage keeps of a micro-batch until its backward pass.
struct Passed {
    input: Tensor,
    /// The activations that it has sent, or the last stage's part of the loss.
    output: Tensor,
}

/// The keys of all layers, and the layers of a range under their keys.
fn take(mut layers: Sequential, own: &Range<usize>) -> Result<(Vec<String>, Sequential)> {
    let keys: Vec<String> = layers.iter().map(|(key, _)| key.to_owned()).collect();
    let mut taken = Sequential::new();
    for (i, key) in keys.iter().enumerate() {
        let layer = layers.pop(0)?;
        if own.contains(&i) {
            taken = taken.push_named(key, layer)?;
        }
    }
    Ok((keys, taken))
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rank, ranks) = (self.comm.rank(), self.comm.size());
        write!(f, "stage {rank} of {ranks}: {:?}", self.layers)
    }
}
