//! Code that batch and instance normalization share: their members, and how these are printed and moved.

use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{
    Buffer, DType, Maybe, Module, Parameter, Result, Tensor, Training, default_dtype,
};

use crate::config::{check_between, check_positive};
use crate::init::{ones, zeros};

/// The members of a normalization with running statistics of each channel; the layers flatten it into
/// themselves.
#[derive(Module)]
#[module(debug)]
pub(crate) struct ChannelNorm {
    #[module(skip)]
    arguments: ChannelNormArguments,
    pub(super) weight: Maybe<Parameter>,
    pub(super) bias: Maybe<Parameter>,
    pub(super) running_mean: Maybe<Buffer>,
    pub(super) running_var: Maybe<Buffer>,
    pub(super) num_batches_tracked: Maybe<Buffer>,
    pub(crate) training: Training,
}

/// The arguments of both layers.
#[derive(Clone, Copy)]
pub(super) struct ChannelNormArguments {
    pub(super) num_features: usize,
    pub(super) eps: Number,
    pub(super) momentum: Option<Number>,
    pub(super) affine: bool,
    pub(super) track_running_stats: bool,
    pub(super) bias: bool,
}

impl ChannelNorm {
    pub(super) fn new(layer: &'static str, arguments: ChannelNormArguments) -> Result<Self> {
        let ChannelNormArguments {
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias,
        } = arguments;
        check_positive(layer, "num_features", num_features)?;
        check_between(layer, "eps", *eps, [0.0, f64::INFINITY])?;
        check_between(
            layer,
            "momentum",
            momentum.map_or(0.0, Number::get),
            [0.0, 1.0],
        )?;
        let statistic = |value: i32| {
            let values = Tensor::full(num_features, value, default_dtype())?;
            Ok(Buffer::new(values))
        };
        let counter = || Ok(Buffer::new(Tensor::zeros((), DType::I64)?));
        Ok(Self {
            arguments,
            weight: Maybe::when(affine, || Parameter::with_init(num_features, ones()))?,
            bias: Maybe::when(affine && bias, || {
                Parameter::with_init(num_features, zeros())
            })?,
            running_mean: Maybe::when(track_running_stats, || statistic(0))?,
            running_var: Maybe::when(track_running_stats, || statistic(1))?,
            num_batches_tracked: Maybe::when(track_running_stats, counter)?,
            training: Training::new(),
        })
    }

    /// The scale and the shift, if there are any.
    pub(super) fn affine(&self) -> [Option<Tensor>; 2] {
        [&self.weight, &self.bias].map(|member| member.get().map(Parameter::tensor))
    }

    /// The running mean and variance.
    pub(super) fn running(&self) -> Option<[Tensor; 2]> {
        let (mean, var) = self.running_mean.get().zip(self.running_var.get())?;
        Some([mean.tensor(), var.tensor()])
    }

    /// The existing running statistics, each with its value.
    pub(crate) fn statistics(&self) -> Vec<(&Buffer, Tensor)> {
        let buffers = [
            &self.running_mean,
            &self.running_var,
            &self.num_batches_tracked,
        ];
        let buffers = buffers.into_iter().filter_map(Maybe::get);
        buffers.map(|buffer| (buffer, buffer.tensor())).collect()
    }

    /// Resets the running statistics to those of a new layer.
    pub(crate) fn reset_running(&self) -> Result<()> {
        let first = [
            (&self.running_mean, 0),
            (&self.running_var, 1),
            (&self.num_batches_tracked, 0),
        ];
        let mut values = Vec::new();
        for (buffer, value) in first {
            if let Some(buffer) = buffer.get() {
                let old = buffer.tensor();
                let new = Tensor::full(old.shape().clone(), value, old.dtype())?;
                values.push((buffer, new.to_device(&old.device())?));
            }
        }
        let mut values = values.into_iter();
        values.try_for_each(|(buffer, value)| buffer.set(value))
    }

    /// Moves the running statistics by `factor` of the way to those of `count` values per channel. `var` is
    /// their biased variance; the running one is the unbiased.
    pub(super) fn update_running(
        &self,
        factor: f64,
        [mean, var]: [&Tensor; 2],
        count: usize,
    ) -> Result<()> {
        let count = count as f64;
        let var = &var.mul(count / (count - 1.0))?;
        let blend = |running: &Buffer, new: &Tensor| {
            // Half precision is rounded once, when it is stored.
            let old = running.tensor();
            let rest = old.to_dtype(new.dtype())?.mul(1.0 - factor)?;
            new.mul(factor)?.add(&rest)?.to_dtype(old.dtype())
        };
        let running = self.running_mean.get().zip(self.running_var.get());
        if let Some((running_mean, running_var)) = running {
            let (mean, var) = (blend(running_mean, mean)?, blend(running_var, var)?);
            running_mean.set(mean)?;
            running_var.set(var)?;
        }
        Ok(())
    }

    pub(super) fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChannelNormArguments {
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias,
        } = &self.arguments;
        let shift = *affine && *bias;
        let momentum = momentum.map_or("None".to_owned(), |momentum| Repr(&momentum).to_string());
        write!(
            f,
            "{num_features}, eps={}, momentum={momentum}, affine={}, bias={}, track_running_stats={}",
            Repr(eps),
            Repr(affine),
            Repr(&shift),
            Repr(track_running_stats),
        )
    }
}
