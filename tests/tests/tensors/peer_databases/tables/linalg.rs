//! Decompositions and solutions with unique results; vectors are unique except for their signs, which `golden_ops` ignores
//! when it compares.

use super::arguments::{Op, both};
use module_core::linalg::{self, SolveTriangularOptions, Triangle};

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
        c.map(match upper {
            true => linalg::cholesky_upper,
            false => linalg::cholesky,
        })
    }),
    ("linalg.solve", |c| {
        let left = c.or(FAR, "left", true)?;
        c.pair(match left {
            true => linalg::solve,
            false => linalg::solve_right,
        })
    }),
    ("linalg.solve_triangular", |c| {
        let options = SolveTriangularOptions::new(match c.need(FAR, "upper")? {
            true => Triangle::Upper,
            false => Triangle::Lower,
        });
        let options = options.left(c.or(FAR, "left", true)?).unitriangular(c.or(
            FAR,
            "unitriangular",
            false,
        )?);
        c.pair(|a, b| linalg::solve_triangular(a, b, options))
    }),
];
