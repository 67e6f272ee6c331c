//! Decompositions and solutions whose results are unique: vectors are known but for their signs, which
//! `golden_ops` compares without.

use super::arguments::{Op, both};
use module_core::linalg;

const FAR: usize = usize::MAX;

pub(crate) const OPS: &[Op] = &[
    ("linalg.det", |c| c.map(linalg::det)),
    ("linalg.slogdet", |c| Ok(both(linalg::slogdet(c.x()?)?))),
    ("linalg.inv", |c| c.map(linalg::inv)),
    ("linalg.svdvals", |c| {
        c.ignore("driver", &[])?;
        c.map(linalg::svdvals)
    }),
    ("linalg.eigvalsh", |c| {
        c.ignore("UPLO", &["L".into()])?;
        c.map(linalg::eigvalsh)
    }),
    ("linalg.cholesky", |c| {
        let upper = c.or(FAR, "upper", false)?;
        c.map(|x| linalg::cholesky(x, upper))
    }),
    ("linalg.solve", |c| {
        let left = c.or(FAR, "left", true)?;
        c.pair(|a, b| linalg::solve(a, b, left))
    }),
    ("linalg.solve_triangular", |c| {
        let (upper, left) = (c.need(FAR, "upper")?, c.or(FAR, "left", true)?);
        let unit = c.or(FAR, "unitriangular", false)?;
        c.pair(|a, b| linalg::solve_triangular(a, b, upper, left, unit))
    }),
];
