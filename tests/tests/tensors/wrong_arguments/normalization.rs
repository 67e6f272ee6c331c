//! Normalizations, attention, classification losses.

use module_core::{
    AttentionOptions, CrossEntropyOptions, DType, NllLossOptions, Reduction, Result, Tensor,
};

use super::{Draw, fuzz};

impl Draw {
    /// A parameter of `size` elements, none, or something else.
    fn parameter(&mut self, x: &Tensor, shape: &[usize]) -> Option<Tensor> {
        match self.below(8) {
            0 => Some(self.like(x)),
            1..4 => None,
            _ => Some(self.of_shape(shape, x.dtype())),
        }
    }

    fn parameters(&mut self, x: &Tensor, shape: &[usize]) -> [Option<Tensor>; 2] {
        [self.parameter(x, shape), self.parameter(x, shape)]
    }

    /// The number of channels, if that many fit in memory.
    fn channels(x: &Tensor) -> [usize; 1] {
        [x.shape().get(1).copied().unwrap_or(1).min(16)]
    }

    pub(crate) fn reduction(&mut self) -> Reduction {
        self.of(&[Reduction::None, Reduction::Mean, Reduction::Sum])
    }

    /// Small matrices whose sizes mostly match.
    fn matrices(&mut self, rows: usize, columns: usize) -> Tensor {
        if self.below(8) == 0 {
            return self.maybe_huge();
        }
        let mut shape: Vec<usize> = (0..self.below(3)).map(|_| self.of(&[1, 2, 2])).collect();
        shape.extend([rows, columns]);
        let dtype = self.of(&[DType::F32, DType::F32, DType::F32, DType::F64]);
        let x = self.of_shape(&shape, dtype);
        let batch = self.size();
        let mut absurd = vec![batch];
        absurd.extend(x.shape().iter());
        if self.often() {
            x
        } else {
            x.expand(absurd).unwrap_or(x)
        }
    }
}

#[test]
fn norms() {
    fuzz("layer_norm", |d| {
        let x = d.maybe_huge();
        let start = d.below(x.rank() + 1);
        let shape = if d.often() {
            x.shape()[start..].to_vec()
        } else {
            d.shape()
        };
        let small: Vec<usize> = shape.iter().map(|&size| size.min(5)).collect();
        let [weight, bias] = d.parameters(&x, &small);
        x.layer_norm(shape, weight.as_ref(), bias.as_ref(), d.number())
    });
    fuzz("rms_norm", |d| {
        let x = d.maybe_huge();
        let start = d.below(x.rank() + 1);
        let shape = x.shape()[start..].to_vec();
        let small: Vec<usize> = shape.iter().map(|&size| size.min(5)).collect();
        let weight = d.parameter(&x, &small);
        let eps = d.often().then(|| d.number());
        x.rms_norm(shape, weight.as_ref(), eps)
    });
    fuzz("group_norm", |d| {
        let x = d.maybe_huge();
        let channels = Draw::channels(&x);
        let [weight, bias] = d.parameters(&x, &channels);
        let groups = if d.often() { 1 + d.below(2) } else { d.size() };
        x.group_norm(groups, weight.as_ref(), bias.as_ref(), d.number())
    });
    let statistics = |d: &mut Draw, x: &Tensor| {
        let channels = Draw::channels(x);
        (
            d.of_shape(&channels, x.dtype()),
            d.of_shape(&channels, x.dtype()),
        )
    };
    fuzz("instance_norm", |d| {
        let x = d.maybe_huge();
        let [weight, bias] = d.parameters(&x, &Draw::channels(&x));
        let (mean, var) = statistics(d, &x);
        let given = (!d.often()).then_some((&mean, &var));
        x.instance_norm(given, weight.as_ref(), bias.as_ref(), d.number())
    });
    fuzz("batch_norm", |d| {
        let x = d.maybe_huge();
        let [weight, bias] = d.parameters(&x, &Draw::channels(&x));
        let (mean, var) = statistics(d, &x);
        x.batch_norm(&mean, &var, weight.as_ref(), bias.as_ref(), d.number())
    });
    fuzz("batch_norm_train", |d| {
        let x = d.maybe_huge();
        let [weight, bias] = d.parameters(&x, &Draw::channels(&x));
        let (y, mean, _) = x.batch_norm_train(weight.as_ref(), bias.as_ref(), d.number())?;
        assert!(!mean.requires_grad());
        Ok(y)
    });
}

#[test]
fn attention() {
    fuzz("scaled_dot_product_attention", |d| {
        let (length, keys, width) = (d.below(4), d.below(4), d.below(4));
        let query = d.matrices(length, width);
        let key = d.matrices(keys, width);
        let values = d.below(4);
        let value = d.matrices(keys, values);
        let mask = d.matrices(length, keys);
        let mask = if d.often() {
            mask.to_dtype(DType::Bool)?
        } else {
            mask
        };
        let options = AttentionOptions::new()
            .attn_mask((!d.often()).then_some(&mask))
            .dropout_p(if d.often() { 0.0 } else { d.number() })
            .is_causal(!d.often())
            .scale((!d.often()).then(|| d.number()))
            .enable_gqa(!d.often());
        query.scaled_dot_product_attention(&key, &value, options)
    });
}

#[test]
fn losses() {
    let target = |d: &mut Draw, x: &Tensor| {
        let class = usize::from(x.rank() > 1);
        let sizes = x.shape().iter().enumerate();
        let kept = sizes.filter(|(dim, _)| *dim != class);
        let kept: Vec<usize> = kept.map(|(_, &size)| size).collect();
        let small: Vec<usize> = kept.iter().map(|&size| size.min(5)).collect();
        let index = d.index(&small);
        if d.often() {
            index.expand(kept).unwrap_or(index)
        } else {
            d.like(x)
        }
    };
    fn weight(d: &mut Draw, x: &Tensor) -> Option<Tensor> {
        let class = usize::from(x.rank() > 1);
        let classes = x.shape().get(class).copied().unwrap_or(1);
        d.parameter(x, &[classes.min(9)])
    }
    fuzz("cross_entropy", |d| -> Result<Tensor> {
        let x = d.maybe_huge();
        let (target, weight) = (target(d, &x), weight(d, &x));
        let options = CrossEntropyOptions::new()
            .weight(weight.as_ref())
            .ignore_index(d.of(&[-100, 0, -1, 1]))
            .reduction(d.reduction())
            .label_smoothing(if d.often() {
                0.0
            } else {
                d.number().abs() / 5.0
            });
        x.cross_entropy(&target, options)
    });
    fuzz("nll_loss", |d| {
        let x = d.maybe_huge();
        let (target, weight) = (target(d, &x), weight(d, &x));
        let options = NllLossOptions::new()
            .weight(weight.as_ref())
            .ignore_index(d.of(&[-100, 0, -1, 1]))
            .reduction(d.reduction());
        x.nll_loss(&target, options)
    });
}
