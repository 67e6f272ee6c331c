//! The shapes of attention's inputs and outputs.

use crate::tensor::Tensor;
use crate::{Error, Result, Shape, ShapeError};

pub(super) const NAME: &str = "scaled_dot_product_attention";

/// The broadcast shapes of query, key and value, and that of the result.
pub(super) struct Shapes {
    pub(super) query: Shape,
    pub(super) key: Shape,
    pub(super) value: Shape,
    pub(super) scores: Shape,
    pub(super) out: Shape,
    pub(super) width: usize,
    pub(super) repeats: usize,
}

impl Shapes {
    pub(super) fn of(query: &Tensor, key: &Tensor, value: &Tensor, gqa: bool) -> Result<Self> {
        query.check_floating(NAME)?;
        query.check_same(NAME, key)?;
        query.check_same(NAME, value)?;
        let expected = if gqa {
            "[…, heads, length, width]"
        } else {
            "[…, length, width]"
        };
        let least = if gqa { 3 } else { 2 };
        for x in [query, key, value] {
            if x.rank() < least {
                return Err(x.shape().error(NAME, expected));
            }
        }
        let split = |x: &Tensor| {
            let (lead, last) = x.shape().split_at(x.rank() - 2);
            (Shape::from(lead), last[0], last[1])
        };
        let ((q_lead, length, width), (k_lead, keys, k_width)) = (split(query), split(key));
        let (v_lead, values, value_width) = split(value);
        let mismatch = |other: &Tensor, rule: &str| -> Error {
            let (lhs, rhs) = (query.shape().clone(), other.shape().clone());
            let (op, rule) = (NAME, rule.to_owned());
            ShapeError::Mismatch { op, lhs, rhs, rule }.into()
        };
        if width != k_width {
            return Err(mismatch(key, "query and key must have one width"));
        }
        if keys != values {
            let (lhs, rhs) = (key.shape().clone(), value.shape().clone());
            let (op, rule) = (NAME, "there must be a value for each key".to_owned());
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let (lead, shared, repeats) = if gqa {
            let heads = |lead: &Shape| lead[lead.rank() - 1];
            let own = heads(&k_lead);
            if own == 0 || heads(&q_lead) % own != 0 || heads(&v_lead) != own {
                let rule =
                    "the heads of the query must be a multiple of those that key and value share";
                return Err(mismatch(key, rule));
            }
            let before = |lead: &Shape| Shape::from(&lead[..lead.rank() - 1]);
            let before = before(&q_lead)
                .broadcast(NAME, &before(&k_lead))?
                .broadcast(NAME, &before(&v_lead))?;
            let with = |heads| before.iter().copied().chain([heads]).collect::<Shape>();
            (with(heads(&q_lead)), with(own), heads(&q_lead) / own)
        } else {
            let lead = q_lead.broadcast(NAME, &k_lead)?.broadcast(NAME, &v_lead)?;
            (lead.clone(), lead, 1)
        };
        let with = |lead: &Shape, last: [usize; 2]| -> Result<Shape> {
            let shape: Shape = lead.iter().copied().chain(last).collect();
            shape.checked_numel(NAME, size_of::<f64>())?;
            Ok(shape)
        };
        // The working set of the kernel must fit too.
        Shape::from([128, keys, width.max(1)]).checked_numel(NAME, size_of::<f64>())?;
        Ok(Self {
            query: with(&lead, [length, width])?,
            key: with(&shared, [keys, width])?,
            value: with(&shared, [keys, value_width])?,
            scores: with(&lead, [length, keys])?,
            out: with(&lead, [length, value_width])?,
            width,
            repeats: repeats.max(1),
        })
    }
}
