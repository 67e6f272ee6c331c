use module_core::{Result, Tensor};

use super::MetricError;
use super::metric::metric;
use super::read::{check_classes, floats, integers, shapes, wrong_dtype};
use super::totals::Sums;
use crate::config::{Build, config};

/// The average number of tokens that a model hesitates between:
///
/// ```text
/// exp(-1/n Σ log softmax(preds)[target])
/// ```
///
/// # Shapes
///
/// Logits `[N, T, C]` with the token scores last, and targets `[N, T]`; with fewer or more leading dimensions too. The
/// value has no dimensions.
///
/// Source: torchmetrics' `Perplexity`; Jelinek, Mercer, Bahl and Baker, *Perplexity—a measure of the difficulty of
/// speech recognition tasks* (1977).
///
/// # Errors
///
/// Those of [`MetricError`].
///
/// # Example
///
/// ```
/// use module_nn::metrics::{Metric, Perplexity, PerplexityConfig};
/// use module_nn::prelude::*;
///
/// let mut perplexity = PerplexityConfig::new().ignore_index(-100).build()?;
/// let target = Tensor::from([[3_i64, 1, -100]]);
/// perplexity.update(&Tensor::zeros([1, 3, 5], DType::F64)?, &target)?;
/// assert!((perplexity.value()? - 5.0).abs() < 1e-12);
/// let mut perplexity: Perplexity = Perplexity::default(); // Every target counts.
/// perplexity.update(&Tensor::zeros([1, 2, 3], DType::F64)?, &Tensor::from([[0_i64, 2]]))?;
/// assert!((perplexity.value()? - 3.0).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Perplexity {
    config: PerplexityConfig,
    totals: Sums<2>,
}

config! {
    /// The arguments of [`Perplexity`].
    pub struct PerplexityConfig => Perplexity {
        optional {
            /// An ignored target.
            ignore_index: Option<i64> = None,
        }
    }
}

impl Build for PerplexityConfig {
    type Output = Perplexity;

    fn build(&self) -> Result<Perplexity> {
        Ok(self.metric())
    }
}

impl PerplexityConfig {
    fn metric(&self) -> Perplexity {
        Perplexity {
            config: self.clone(),
            totals: Sums::new(["negative_log_likelihood", "count"], 1),
        }
    }
}

impl Default for Perplexity {
    fn default() -> Self {
        PerplexityConfig::new().metric()
    }
}

impl Perplexity {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        const NAME: &str = "Perplexity";
        if !preds.dtype().is_floating_point() {
            let expected = "logits as floating-point numbers";
            return Err(wrong_dtype(NAME, "preds", preds, expected));
        }
        let classes = match preds.shape().split_last() {
            Some((&classes, leading)) if *leading == **target.shape() => classes,
            _ => {
                let expected = "give preds [N, T, C] and target [N, T] with the same sizes";
                return Err(shapes(NAME, preds, target, expected).into());
            }
        };
        let ignored = self.config.ignore_index;
        let truth = integers(NAME, "target", target)?;
        check_classes(NAME, "target", &truth, classes, ignored)?;
        let counts: Vec<bool> = truth.iter().map(|&class| Some(class) != ignored).collect();
        // An ignored class may not exist: any other serves as a placeholder.
        let inside = truth.iter().zip(&counts);
        let inside: Vec<i64> = inside
            .map(|(&c, &counts)| if counts { c } else { 0 })
            .collect();
        let inside = Tensor::from_vec(inside, target.shape().clone())?.unsqueeze(-1)?;
        let inside = inside.to_device(&preds.device())?;
        let own = preds.detach().log_softmax(-1)?.gather(-1, &inside)?;
        let [negative, count] = &mut self.totals.of;
        for (own, counts) in floats(NAME, "preds", &own)?.into_iter().zip(counts) {
            if counts {
                negative[0] -= own;
                count[0] += 1.0;
            }
        }
        Ok(())
    }

    fn result(&self) -> Result<Tensor> {
        let [negative, count] = &self.totals.of;
        match count[0] {
            0.0 => {
                let metric = "Perplexity";
                Err(MetricError::Empty { metric }.into())
            }
            count => Ok((negative[0] / count).exp().into()),
        }
    }
}

metric!(Perplexity, PerplexityConfig, Sums<2>);
