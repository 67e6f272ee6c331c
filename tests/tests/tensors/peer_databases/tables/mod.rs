//! The operations of PyTorch's database by family, and the differences here.

pub(crate) mod arguments;
mod by_index;
pub(crate) mod different;
mod elementwise;
mod indexing;
mod layers;
mod linalg;
mod losses;
mod products;
mod reductions;
mod shapes;
mod windows;

use arguments::Op;

/// Every table.
pub(crate) const TABLES: &[&[Op]] = &[
    by_index::OPS,
    elementwise::OPS,
    indexing::OPS,
    layers::OPS,
    linalg::OPS,
    losses::OPS,
    products::OPS,
    reductions::OPS,
    shapes::OPS,
    windows::OPS,
];
