//! Elements, rows and positions by index.

use super::arguments::{Op, not_ours};
use module_core::Tensor;

pub(crate) const OPS: &[Op] = &[
    ("gather", |c| {
        c.ignore("sparse_grad", &[false.into()])?;
        Ok(vec![
            c.x()?.gather(c.need(1, "dim")?, c.tensor(2, "index")?)?,
        ])
    }),
    ("scatter", |c| {
        let (dim, index) = (c.need(1, "dim")?, c.tensor(2, "index")?);
        Ok(vec![c.x()?.scatter(dim, index, c.operand(3, "src")?)?])
    }),
    ("scatter_add", |c| {
        let (dim, index) = (c.need(1, "dim")?, c.tensor(2, "index")?);
        Ok(vec![c.x()?.scatter_add(dim, index, c.tensor(3, "src")?)?])
    }),
    ("index_select", |c| {
        Ok(vec![
            c.x()?
                .index_select(c.need(1, "dim")?, c.tensor(2, "index")?)?,
        ])
    }),
    ("index_add", |c| {
        let (dim, index) = (c.need(1, "dim")?, c.tensor(2, "index")?);
        let source = c.tensor(3, "source")?;
        let source = match c.has(usize::MAX, "alpha") {
            true => source.mul(c.operand(usize::MAX, "alpha")?)?,
            false => source.clone(),
        };
        Ok(vec![c.x()?.index_add(dim, index, &source)?])
    }),
    ("take_along_dim", |c| {
        let (index, x) = (c.tensor(1, "indices")?, c.x()?);
        match c.get(2, "dim")? {
            Some(dim) => Ok(vec![x.take_along_dim(index, dim)?]),
            None => Ok(vec![
                x.flatten(0, -1)?
                    .take_along_dim(&index.flatten(0, -1)?, 0)?,
            ]),
        }
    }),
    ("nonzero", |c| {
        c.ignore("as_tuple", &[false.into()])?;
        c.map(Tensor::nonzero)
    }),
    ("argwhere", |c| c.map(Tensor::nonzero)),
    ("masked_select", |c| c.pair(Tensor::masked_select)),
    ("nn.functional.one_hot", |c| {
        match c.get(1, "num_classes")? {
            Some(classes) => Ok(vec![c.x()?.one_hot(classes)?]),
            None => not_ours("no num_classes"),
        }
    }),
    ("nn.functional.embedding", |c| {
        // The database has the weight first.
        c.ignore("sparse", &[false.into()])?;
        c.ignore("scale_grad_by_freq", &[false.into()])?;
        let padding = c.get::<isize>(usize::MAX, "padding_idx")?;
        let weight = c.x()?;
        let rows = weight.size(0)? as isize;
        let padding = padding.map(|row| if row < 0 { row + rows } else { row } as usize);
        Ok(vec![weight.embedding(c.y()?, padding)?])
    }),
];
