//! Decompositions, inverses and determinants, as functions that do not depend on the signs of vectors.

use crate::golden::{Case, Tolerance};
use module_core::linalg::{self, QrMode, SolveTriangularOptions, Triangle};
use module_core::{Result, Tensor};

use super::Different;

fn symmetric(x: &Tensor) -> Result<Tensor> {
    x.add(&x.transpose(-1, -2)?)
}

fn decomposed(name: &str, x: &Tensor) -> Option<Result<Tensor>> {
    let thin = || linalg::svd_reduced(x);
    Some(match name {
        "svd_s" => thin().map(|(_, s, _)| s),
        "svd_u" => thin().and_then(|(u, ..)| u.abs()),
        "svd_vh" => thin().and_then(|(.., vh)| vh.abs()),
        "svd_polar" => thin().and_then(|(u, _, vh)| u.matmul(&vh)),
        "svd_full" => linalg::svd(x).and_then(|(u, s, _)| {
            let k = s.size(-1)?;
            u.narrow(-1, 0..k)?.abs()
        }),
        "svdvals" => linalg::svdvals(x),
        "qr_q" => linalg::qr(x, QrMode::Reduced).and_then(|(q, _)| q.abs()),
        "qr_r" => linalg::qr(x, QrMode::Reduced).and_then(|(_, r)| r.abs()),
        "qr_only_r" => linalg::qr(x, QrMode::R).and_then(|(_, r)| r.abs()),
        "qr_complete_r" => linalg::qr(x, QrMode::Complete).and_then(|(_, r)| r.abs()),
        "eigh_values" => symmetric(x).and_then(|x| Ok(linalg::eigh(&x)?.0)),
        "eigh_vectors" => symmetric(x).and_then(|x| linalg::eigh(&x)?.1.abs()),
        "eigvalsh" => linalg::eigvalsh(x),
        "inv" => linalg::inv(x),
        "det" => linalg::det(x),
        _ => return None,
    })
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let is = |name: &str| args[name] == true;
    let out = match case.op.as_str() {
        "cholesky" => match is("upper") {
            true => linalg::cholesky_upper(x),
            false => linalg::cholesky(x),
        },
        "solve" => match is("left") {
            true => linalg::solve(x, &inputs[1]),
            false => linalg::solve_right(x, &inputs[1]),
        },
        "solve_triangular" => {
            let options = SolveTriangularOptions::new(match is("upper") {
                true => Triangle::Upper,
                false => Triangle::Lower,
            });
            let options = options.left(is("left")).unitriangular(is("unitriangular"));
            linalg::solve_triangular(x, &inputs[1], options)
        }
        "slogdet" => {
            let out = linalg::slogdet(x).map(|(sign, log)| vec![log, sign]);
            return Some((out, Tolerance::CONTRACTION));
        }
        name => decomposed(name, x)?,
    };
    Some((out.map(|out| vec![out]), Tolerance::CONTRACTION))
}

const ROUNDED: &str = "PyTorch takes every cofactor of a singular matrix for 0";

pub(crate) const DIFFERENT: &Different = &[
    ("op.det.singular.f32", "gin0", ROUNDED),
    ("op.det.singular.f64", "gin0", ROUNDED),
];
