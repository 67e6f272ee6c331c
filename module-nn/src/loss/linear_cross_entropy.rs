use std::fmt;

use module_core::module::Repr;
use module_core::{Buffer, Forward, Maybe, Module, Parameter, Result, Tensor};

use super::shared::buffer;
use crate::Weights;
use crate::config::{Build, check_between, config};
use crate::functional::{
    LinearCrossEntropyArguments, LinearCrossEntropyOptions, Reduction, linear_cross_entropy,
};
use crate::layers::{Linear, LinearConfig};

/// The cross-entropy between a target and the logits of the loss's own linear layer, which with `options` are never all in
/// memory: the head and the loss of a language model with a large vocabulary.
///
/// # Shapes
///
/// A pair of an input `[batch, in_features]` or `[in_features]` and a target: classes `[batch,
/// *out_features]` as `I64`, or probabilities `[batch, num_classes, *out_features]`. The output has no
/// dimensions, or those of the classes with [`Reduction::None`].
///
/// # State dict
///
/// `weight` `[num_classes]`, a buffer, if there are weights; `linear.weight` `[num_classes · Π
/// out_features, in_features]`, and `linear.bias`.
///
/// # Initialization
///
/// Those of [`Linear`].
///
/// # Errors
///
/// A target of another shape, a class that is out of range, an ignored class with probabilities.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = LinearCrossEntropyLossConfig::new(8, 50_000)
///     .options(LinearCrossEntropyOptions::new())
///     .build()?;
/// let input = Tensor::zeros([4, 8], DType::F32)?;
/// let loss = criterion.call((input, Tensor::from([1_i64, 2, 3, 4])))?;
/// assert!((loss.item::<f32>()? - 50_000_f32.ln()).abs() < 1e-4);
/// assert_eq!(criterion.linear().weight().shape().to_string(), "[50000, 8]");
///
/// // Two labels for each input, of four classes, in chunks of two rows.
/// let options = LinearCrossEntropyOptions::new().batch_chunk_size(2).chunking_method(None);
/// let criterion: LinearCrossEntropyLoss = LinearCrossEntropyLossConfig::new(8, 4)
///     .out_features([2])
///     .bias(true)
///     .label_smoothing(0.1)
///     .build()?;
/// let input = Tensor::zeros([3, 8], DType::F32)?;
/// let target = Tensor::from([[0_i64, 1], [2, 3], [0, -100]]);
/// assert!(criterion.call((input.clone(), target))?.item::<f32>()?.is_finite());
/// let rows = LinearCrossEntropyLossConfig::new(8, 4).options(options).build()?;
/// let loss = rows.call((input, Tensor::from([0_i64, 1, 2])))?;
/// assert!((loss.item::<f32>()? - 4_f32.ln()).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LinearCrossEntropyLoss {
    weight: Maybe<Buffer>,
    linear: Linear,
    #[module(skip)]
    config: LinearCrossEntropyLossConfig,
}

config! {
    /// The arguments of [`LinearCrossEntropyLoss`].
    pub struct LinearCrossEntropyLossConfig => LinearCrossEntropyLoss {
        required {
            /// The size of each input.
            in_features: usize,
            /// The number of classes.
            num_classes: usize,
        }
        optional {
            /// The further sizes of the logits, if each input has several.
            out_features: Vec<usize> = Vec::new(),
            /// Whether the logits have a bias.
            bias: bool = false,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
            /// A weight for each class, `[num_classes]`.
            weight: Option<Weights> = None,
            /// An ignored target class; -100 by default.
            ignore_index: Option<i64> = None,
            /// How much of the target is spread evenly over all classes.
            label_smoothing: f64 = 0.0,
            /// How the rows are split into chunks; without it all logits are in memory at once.
            options: Option<LinearCrossEntropyOptions> = None,
        }
    }
}

impl Build for LinearCrossEntropyLossConfig {
    type Output = LinearCrossEntropyLoss;

    /// The loss, with a newly initialized linear layer.
    ///
    /// # Errors
    ///
    /// A size of 0, a weight that is not `[num_classes]`, smoothing outside `[0, 1]`, meaningless options, sizes that
    /// exceed memory.
    fn build(&self) -> Result<LinearCrossEntropyLoss> {
        const NAME: &str = "LinearCrossEntropyLoss";
        check_between(NAME, "label_smoothing", self.label_smoothing, [0.0, 1.0])?;
        if let Some(options) = &self.options {
            options.check(NAME)?;
        }
        let weight = self.weight.as_ref().map(Weights::tensor);
        if let Some(weight) = weight.filter(|weight| **weight.shape() != [self.num_classes]) {
            let expected = format!("a weight [{}]", self.num_classes);
            return Err(weight.shape().error(NAME, expected));
        }
        let further = self.out_features.iter();
        let units = further.fold(self.num_classes, |units, &size| units.saturating_mul(size));
        Ok(LinearCrossEntropyLoss {
            weight: buffer(self.weight.as_ref()),
            linear: LinearConfig::new(self.in_features, units)
                .bias(self.bias)
                .build()?,
            config: self.clone(),
        })
    }
}

impl LinearCrossEntropyLoss {
    /// The linear layer that computes the logits.
    pub fn linear(&self) -> &Linear {
        &self.linear
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinearCrossEntropyLossConfig {
            in_features,
            num_classes,
            out_features,
            bias,
            ..
        } = &self.config;
        let further = match &**out_features {
            [size] => format!("({size},)"),
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
                format!("({})", sizes.join(", "))
            }
        };
        let reduction = match self.config.reduction {
            Reduction::None => "none",
            Reduction::Mean => "mean",
            Reduction::Sum => "sum",
        };
        write!(
            f,
            "in_features={in_features}, num_classes={num_classes}, out_features={further}, bias={}, reduction={reduction}, ",
            Repr(bias)
        )?;
        match self.config.ignore_index {
            None => f.write_str("ignore_index=None")?,
            Some(index) => write!(f, "ignore_index={index}")?,
        }
        write!(
            f,
            ", label_smoothing={}, options=",
            Repr(&self.config.label_smoothing)
        )?;
        let Some(options) = &self.config.options else {
            return f.write_str("None");
        };
        f.write_str("LinearCrossEntropyOptions(allow_retain_graph=False, batch_chunk_size=")?;
        match options.batch_chunk_size {
            None => f.write_str("None")?,
            Some(rows) => write!(f, "{rows}")?,
        }
        match &options.chunking_method {
            None => f.write_str(", chunking_method=None")?,
            Some(method) => write!(f, ", chunking_method='{method}'")?,
        }
        f.write_str(", acc_policy='auto', acc_dtype=None)")
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LinearCrossEntropyLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for LinearCrossEntropyLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let LinearCrossEntropyLossConfig {
            in_features,
            num_classes,
            out_features,
            ..
        } = &self.config;
        let out = [&[*num_classes], &**out_features].concat();
        let linear_weight = self.linear.weight().tensor();
        let linear_weight = linear_weight.reshape([&*out, &[*in_features]].concat())?;
        let bias = self.linear.bias().get().map(Parameter::tensor);
        let bias = bias.map(|bias| bias.reshape(out)).transpose()?;
        let weight = self.weight.get().map(Buffer::tensor);
        let arguments = LinearCrossEntropyArguments {
            linear_bias: bias.as_ref(),
            weight: weight.as_ref(),
            reduction: self.config.reduction,
            ignore_index: self.config.ignore_index,
            label_smoothing: self.config.label_smoothing,
            options: self.config.options.as_ref(),
        };
        linear_cross_entropy(&input, &linear_weight, &target, arguments)
    }
}
