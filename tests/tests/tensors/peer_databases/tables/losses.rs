//! Losses.

use super::arguments::{Call, Op, Outputs, not_ours};
use module_core::{CrossEntropyOptions, NllLossOptions, Reduction, Result, Tensor};
use module_nn::functional;
use serde_json::Value;

const FAR: usize = usize::MAX;

pub(crate) const OPS: &[Op] = &[
    ("nn.functional.mse_loss", |c| {
        reduced(c, functional::mse_loss)
    }),
    ("nn.functional.l1_loss", |c| reduced(c, functional::l1_loss)),
    ("nn.functional.soft_margin_loss", |c| {
        reduced(c, functional::soft_margin_loss)
    }),
    ("nn.functional.multilabel_margin_loss", |c| {
        reduced(c, functional::multilabel_margin_loss)
    }),
    ("nn.functional.smooth_l1_loss", |c| {
        let beta = c.number(FAR, "beta", 1.0)?;
        reduced(c, |x, y, reduction| {
            functional::smooth_l1_loss(x, y, reduction, beta)
        })
    }),
    ("nn.functional.huber_loss", |c| {
        let delta = c.number(FAR, "delta", 1.0)?;
        reduced(c, |x, y, reduction| {
            functional::huber_loss(x, y, reduction, delta)
        })
    }),
    ("nn.functional.hinge_embedding_loss", |c| {
        let margin = c.number(FAR, "margin", 1.0)?;
        reduced(c, |x, y, reduction| {
            functional::hinge_embedding_loss(x, y, margin, reduction)
        })
    }),
    ("nn.functional.kl_div", |c| {
        let reduction = c.or(FAR, "reduction", functional::KLDivReduction::Mean)?;
        let log_target = c.or(FAR, "log_target", false)?;
        let divergence = match log_target {
            true => functional::kl_div_log_target,
            false => functional::kl_div,
        };
        Ok(vec![divergence(c.x()?, c.y()?, reduction)?])
    }),
    ("nn.functional.poisson_nll_loss", |c| {
        let options = c.config(&["log_input", "full", "eps", "reduction"])?;
        Ok(vec![functional::poisson_nll_loss(
            c.x()?,
            c.y()?,
            &options,
        )?])
    }),
    ("nn.functional.gaussian_nll_loss", |c| {
        let options = c.config(&["full", "eps", "reduction"])?;
        let var = c.tensor(2, "var")?;
        Ok(vec![functional::gaussian_nll_loss(
            c.x()?,
            c.y()?,
            var,
            &options,
        )?])
    }),
    ("nn.functional.binary_cross_entropy", |c| {
        let weight = c.maybe(2, "weight")?;
        reduced(c, |x, y, reduction| {
            functional::binary_cross_entropy(x, y, weight, reduction)
        })
    }),
    ("nn.functional.binary_cross_entropy_with_logits", |c| {
        let (weight, positive) = (c.maybe(2, "weight")?, c.maybe(FAR, "pos_weight")?);
        reduced(c, |x, y, reduction| {
            functional::binary_cross_entropy_with_logits(x, y, weight, reduction, positive)
        })
    }),
    ("nn.functional.multilabel_soft_margin_loss", |c| {
        let weight = c.maybe(2, "weight")?;
        reduced(c, |x, y, reduction| {
            functional::multilabel_soft_margin_loss(x, y, weight, reduction)
        })
    }),
    ("nn.functional.multi_margin_loss", |c| {
        let (p, margin) = (c.or(FAR, "p", 1)?, c.number(FAR, "margin", 1.0)?);
        let weight = c.maybe(FAR, "weight")?;
        reduced(c, |x, y, reduction| {
            functional::multi_margin_loss(x, y, p, margin, weight, reduction)
        })
    }),
    ("nn.functional.margin_ranking_loss", |c| {
        let margin = c.number(FAR, "margin", 0.0)?;
        third(c, |a, b, y, reduction| {
            functional::margin_ranking_loss(a, b, y, margin, reduction)
        })
    }),
    ("nn.functional.cosine_embedding_loss", |c| {
        let margin = c.number(FAR, "margin", 0.0)?;
        third(c, |a, b, y, reduction| {
            functional::cosine_embedding_loss(a, b, y, margin, reduction)
        })
    }),
    ("nn.functional.triplet_margin_loss", |c| {
        let options = c.config(&["margin", "p", "eps", "swap", "reduction"])?;
        let (positive, negative) = (c.y()?, c.tensor(2, "negative")?);
        Ok(vec![functional::triplet_margin_loss(
            c.x()?,
            positive,
            negative,
            &options,
        )?])
    }),
    ("nn.functional.cross_entropy", |c| {
        let options = CrossEntropyOptions::new()
            .weight(c.maybe(2, "weight")?)
            .ignore_index(c.or(FAR, "ignore_index", -100)?)
            .reduction(c.or(FAR, "reduction", Reduction::Mean)?)
            .label_smoothing(c.number(FAR, "label_smoothing", 0.0)?);
        Ok(vec![functional::cross_entropy(c.x()?, c.y()?, options)?])
    }),
    (
        "nn.functional.linear_cross_entropy nn.functional.linear_cross_entropy.chunked nn.functional.linear_cross_entropy.chunked_none",
        |c| {
            let options: Option<functional::LinearCrossEntropyOptions> = c.get(FAR, "options")?;
            let arguments = functional::LinearCrossEntropyArguments {
                linear_bias: c.maybe(FAR, "linear_bias")?,
                weight: c.maybe(FAR, "weight")?,
                reduction: reduction(c)?,
                ignore_index: c.get(FAR, "ignore_index")?,
                label_smoothing: c.number(FAR, "label_smoothing", 0.0)?,
                options: options.as_ref(),
            };
            let (weight, target) = (c.tensor(1, "linear_weight")?, c.tensor(2, "target")?);
            Ok(vec![functional::linear_cross_entropy(
                c.x()?,
                weight,
                target,
                arguments,
            )?])
        },
    ),
    ("nn.functional.nll_loss", |c| {
        let options = NllLossOptions::new()
            .weight(c.maybe(2, "weight")?)
            .ignore_index(c.or(FAR, "ignore_index", -100)?)
            .reduction(c.or(FAR, "reduction", Reduction::Mean)?);
        Ok(vec![functional::nll_loss(c.x()?, c.y()?, options)?])
    }),
    ("nn.functional.ctc_loss", |c| {
        let options = c.config(&["blank", "reduction", "zero_infinity"])?;
        let lengths = |place: usize, name: &str| -> std::result::Result<_, _> {
            match c.value(place, name) {
                Value::Array(_) => Ok(c.need::<Vec<usize>>(place, name)?.into()),
                _ => Ok(module_core::Lengths::from(c.tensor(place, name)?)),
            }
        };
        let (inputs, targets) = match (lengths(2, "input_lengths"), lengths(3, "target_lengths")) {
            (Ok(inputs), Ok(targets)) => (inputs, targets),
            (Err(stop), _) | (_, Err(stop)) => return Err::<_, super::arguments::Stop>(stop),
        };
        Ok(vec![functional::ctc_loss(
            c.x()?,
            c.y()?,
            inputs,
            targets,
            &options,
        )?])
    }),
];

fn reduction(c: &Call<'_>) -> std::result::Result<Reduction, super::arguments::Stop> {
    match c.value(FAR, "reduction").as_str() {
        None => Ok(Reduction::Mean),
        Some("none") => Ok(Reduction::None),
        Some("mean") => Ok(Reduction::Mean),
        Some("sum") => Ok(Reduction::Sum),
        Some(other) => not_ours(format!("reduction = {other}")),
    }
}

fn reduced(c: &Call<'_>, f: impl FnOnce(&Tensor, &Tensor, Reduction) -> Result<Tensor>) -> Outputs {
    Ok(vec![f(c.x()?, c.y()?, reduction(c)?)?])
}

fn third(
    c: &Call<'_>,
    f: impl FnOnce(&Tensor, &Tensor, &Tensor, Reduction) -> Result<Tensor>,
) -> Outputs {
    Ok(vec![f(
        c.x()?,
        c.y()?,
        c.tensor(2, "target")?,
        reduction(c)?,
    )?])
}
