//! Const generics, alone and together with types.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
struct Experts<E, const N: usize, const GATED: bool = false> {
    experts: [E; N],
    sizes: [usize; N],
}

#[derive(Module)]
struct Heads<const N: usize> {
    heads: [Parameter; N],
}

#[test]
fn runs() {
    let mut experts: Experts<Heads<1>, 2> = Experts {
        experts: [
            Heads {
                heads: [parameter()],
            },
            Heads {
                heads: [parameter()],
            },
        ],
        sizes: [3, 4],
    };
    assert_shown(
        &mut experts,
        &[
            "experts: ModuleList",
            "experts.0: Heads",
            "experts.0.heads: ParameterList",
            "experts.0.heads.0",
            "experts.1: Heads",
            "experts.1.heads: ParameterList",
            "experts.1.heads.0",
            "sizes=(3, 4)",
        ],
    );
}
