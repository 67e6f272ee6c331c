use module_core::{Call, Error, Forward, Integers, Module, Result, Sequential, ShapeError, Tensor};

use super::{Linear, LinearConfig};
use crate::config::{Build, check_positive, config};

/// The log-probability of a class among very many, few of which are frequent: the head handles the frequent classes and has
/// one output for each cluster of rarer ones; the tails, each smaller than the one before, handle the classes of their
/// clusters. Classes are numbered by decreasing frequency.
///
/// Source: Grave, Joulin, Cissé, Grangier and Jégou, *Efficient softmax approximation for GPUs*
/// (2017).
///
/// # Shapes
///
/// Called with a pair of `[batch, in_features]` and classes `[batch]`, or both without the batch; returns the
/// log-probabilities of the classes, `[batch]`, and the loss, the mean of their negatives.
///
/// # State dict
///
/// `head.weight` `[cutoffs[0] + clusters, in_features]` and with `head_bias` its `bias`; for each
/// cluster `tail.{i}.0.weight` `[hidden, in_features]` and `tail.{i}.1.weight` `[classes, hidden]`,
/// where `hidden` is `in_features / div_value^(i+1)`, rounded down.
///
/// # Initialization
///
/// Those of [`Linear`], the head first.
///
/// # Errors
///
/// Incompatible shapes, a class that is out of range.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let softmax = AdaptiveLogSoftmaxWithLoss::new(16, 100, vec![10, 40])?;
/// let x = Tensor::randn([2, 16], DType::F32)?;
/// let (output, loss) = softmax.call((x.clone(), Tensor::from([3_i64, 70])))?;
/// assert_eq!((output.numel(), loss.rank()), (2, 0));
/// let total = softmax.log_prob(&x)?.exp()?.sum(1)?;
/// assert!(total.sub(1.0)?.abs()?.amax(..)?.item::<f32>()? < 1e-5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct AdaptiveLogSoftmaxWithLoss {
    #[module(skip)]
    config: AdaptiveLogSoftmaxWithLossConfig,
    head: Linear,
    tail: Vec<Sequential>,
}

config! {
    /// The arguments of [`AdaptiveLogSoftmaxWithLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // Two clusters, 8 and 4 hidden units wide.
    /// let config = AdaptiveLogSoftmaxWithLossConfig::new(16, 100, [10, 40]).div_value(2.0).head_bias(true);
    /// let softmax = config.build()?;
    /// let shapes: Vec<String> = softmax.state_dict()?.iter().map(|(_, x)| x.shape().to_string()).collect();
    /// assert_eq!(shapes, ["[12, 16]", "[12]", "[8, 16]", "[30, 8]", "[4, 16]", "[60, 4]"]);
    /// assert_eq!(softmax.predict(&Tensor::zeros([3, 16], DType::F32)?)?.shape().to_string(), "[3]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AdaptiveLogSoftmaxWithLossConfig => AdaptiveLogSoftmaxWithLoss {
        required {
            /// The size of each input.
            in_features: usize,
            /// The number of classes.
            n_classes: usize,
            /// The first class of each cluster, ascending.
            cutoffs: Vec<usize>,
        }
        optional {
            /// The factor by which each cluster's hidden size is smaller than the previous one's.
            div_value: f64 = 4.0,
            /// Whether the head learns a bias.
            head_bias: bool = false,
        }
    }
}

const NAME: &str = "AdaptiveLogSoftmaxWithLoss";

impl Build for AdaptiveLogSoftmaxWithLossConfig {
    type Output = AdaptiveLogSoftmaxWithLoss;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// Cutoffs that do not ascend within 1 to `n_classes - 1`, or no cutoffs; a size of 0; a `div_value` that leaves a
    /// cluster without hidden units.
    fn build(&self) -> Result<AdaptiveLogSoftmaxWithLoss> {
        let &Self {
            in_features,
            n_classes,
            div_value,
            ..
        } = self;
        check_positive(NAME, "in_features", in_features)?;
        let bounds = self.bounds();
        let rising = bounds.windows(2).all(|pair| pair[0] < pair[1]);
        if self.cutoffs.is_empty() || bounds[0] == 0 || !rising {
            let problem = format!(
                "must rise from at least 1 to at most n_classes - 1, with {n_classes} classes"
            );
            let cutoffs = format_args!("{:?}", self.cutoffs);
            return Err(Error::argument(NAME, "cutoffs", cutoffs, problem));
        }
        let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).bias(false).build();
        let head = LinearConfig::new(in_features, bounds[0] + self.cutoffs.len());
        let head = head.bias(self.head_bias).build()?;
        let mut tail = Vec::new();
        for (cluster, pair) in bounds.windows(2).enumerate() {
            // Both are far below 2⁵³ wherever the weights fit into memory.
            let hidden = (in_features as f64 / div_value.powi(cluster as i32 + 1)).floor();
            if !(hidden >= 1.0 && hidden.is_finite()) {
                let problem = format!(
                    "leaves cluster {cluster} without hidden units of {in_features} inputs"
                );
                return Err(Error::argument(NAME, "div_value", div_value, problem));
            }
            let hidden = hidden as usize;
            let first = Sequential::new().push(linear(in_features, hidden)?);
            tail.push(first.push(linear(hidden, pair[1] - pair[0])?));
        }
        Ok(AdaptiveLogSoftmaxWithLoss {
            config: self.clone(),
            head,
            tail,
        })
    }
}

impl AdaptiveLogSoftmaxWithLossConfig {
    /// The first class of each cluster, and the number of classes.
    fn bounds(&self) -> Vec<usize> {
        let cutoffs = self.cutoffs.iter().copied();
        cutoffs.chain([self.n_classes]).collect()
    }
}

impl AdaptiveLogSoftmaxWithLoss {
    /// The log-probabilities of all classes, `[batch, n_classes]`.
    ///
    /// # Errors
    ///
    /// An input that is not `[batch, in_features]`.
    pub fn log_prob(&self, input: &Tensor) -> Result<Tensor> {
        self.check(input, &[input.shape().first().copied().unwrap_or(0)])?;
        let head = self.head.call(input.clone())?.log_softmax(1)?;
        let shortlist = self.shortlist();
        let mut parts = vec![head.narrow(1, 0..shortlist)?];
        for (cluster, tail) in self.tail.iter().enumerate() {
            let place = shortlist + cluster;
            let within = tail.call(input.clone())?.log_softmax(1)?;
            parts.push(within.add(&head.narrow(1, place..place + 1)?)?);
        }
        Tensor::cat(&parts.iter().collect::<Vec<_>>(), 1)
    }

    /// The most probable class, `[batch]`.
    ///
    /// # Errors
    ///
    /// Those of [`log_prob`](Self::log_prob).
    pub fn predict(&self, input: &Tensor) -> Result<Tensor> {
        self.log_prob(input)?.argmax(1)
    }

    fn shortlist(&self) -> usize {
        self.config.cutoffs.first().copied().unwrap_or(0)
    }

    /// PyTorch prints the children alone.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    fn check(&self, input: &Tensor, target: &[usize]) -> Result<()> {
        let features = self.config.in_features;
        match (&**input.shape(), target) {
            (&[batch, size], &[count]) if batch == count && size == features => Ok(()),
            _ => {
                let (op, lhs, rhs) = (NAME, input.shape().clone(), target.into());
                let rule = format!(
                    "they must be [batch, {features}] and [batch], or both without the batch"
                );
                Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into())
            }
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> AdaptiveLogSoftmaxWithLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for AdaptiveLogSoftmaxWithLoss {
    type Output = (Tensor, Tensor);

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
        if (input.rank(), target.rank()) == (1, 0) {
            let (output, loss) = self.forward((input.unsqueeze(0)?, target.unsqueeze(0)?))?;
            return Ok((output.squeeze(0)?, loss));
        }
        self.check(&input, target.shape())?;
        let (shortlist, bounds) = (self.shortlist(), self.config.bounds());
        let classes = target
            .to_integers(NAME, Integers::Classes)?
            .to_vec::<i64>()?;
        // For each cluster the rows that belong to it, and their classes within it.
        let mut members = vec![(Vec::new(), Vec::new()); self.tail.len()];
        let mut places = Vec::with_capacity(classes.len());
        for (row, &class) in classes.iter().enumerate() {
            let wanted = usize::try_from(class)
                .ok()
                .filter(|&class| class < self.config.n_classes);
            let Some(wanted) = wanted else {
                let problem = format!(
                    "must be a class from 0 to below n_classes = {}",
                    self.config.n_classes
                );
                return Err(Error::argument(NAME, "target", class, problem));
            };
            let cluster = bounds.iter().take_while(|&&bound| bound <= wanted).count();
            match cluster.checked_sub(1) {
                None => places.push(class),
                Some(cluster) => {
                    places.push((shortlist + cluster) as i64);
                    let (rows, within) = &mut members[cluster];
                    rows.push(row as i64);
                    within.push((wanted - bounds[cluster]) as i64);
                }
            }
        }
        let list = |values: Vec<i64>| {
            let count = values.len();
            Tensor::from_vec(values, count)?.to_device(&input.device())
        };
        let head = self.head.call(input.clone())?.log_softmax(1)?;
        let mut output = head.gather(1, &list(places)?.unsqueeze(1)?)?.squeeze(1)?;
        for (tail, (rows, within)) in self.tail.iter().zip(members) {
            if rows.is_empty() {
                continue;
            }
            let rows = list(rows)?;
            let log = tail.call(input.index_select(0, &rows)?)?.log_softmax(1)?;
            let log = log.gather(1, &list(within)?.unsqueeze(1)?)?.squeeze(1)?;
            output = output.index_add(0, &rows, &log)?;
        }
        let loss = output.neg()?.mean(..)?;
        Ok((output, loss))
    }
}
