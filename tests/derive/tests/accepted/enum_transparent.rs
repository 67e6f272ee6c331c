//! The payload of a one-field variant has the field's own path.

use module_nn::prelude::*;

use crate::show::{assert_shown, parameter};

#[derive(Module)]
enum Skip {
    Project(Scale),
    Nested(Inner),
    Weight(Parameter),
    Width(usize),
    Many(Vec<Scale>),
}

#[derive(Module)]
enum Inner {
    Scale(Scale),
}

#[derive(Module)]
struct Scale {
    w: Parameter,
}

#[derive(Module)]
struct Net {
    skip: Skip,
}

fn scale() -> Scale {
    Scale { w: parameter() }
}

fn net(skip: Skip) -> Net {
    Net { skip }
}

#[test]
fn runs() {
    assert_shown(&mut net(Skip::Project(scale())), &["skip: Scale", "skip.w"]);
    assert_shown(
        &mut net(Skip::Nested(Inner::Scale(scale()))),
        &["skip: Scale", "skip.w"],
    );
    assert_shown(&mut net(Skip::Weight(parameter())), &["skip"]);
    assert_shown(&mut net(Skip::Width(3)), &["skip=3"]);
    assert_shown(
        &mut net(Skip::Many(vec![scale()])),
        &["skip: ModuleList", "skip.0: Scale", "skip.0.w"],
    );

    // On its own, the enum shows the payload's members, or the payload as member `0`.
    assert_shown(&mut Skip::Project(scale()), &["w"]);
    assert_shown(&mut Skip::Weight(parameter()), &["0"]);
    assert_eq!(Skip::Project(scale()).kind(), "Skip");
    assert_eq!(Skip::Project(scale()).as_module().kind(), "Scale");
    assert_eq!(
        Skip::Nested(Inner::Scale(scale())).as_module().kind(),
        "Scale"
    );
    assert_eq!(Skip::Weight(parameter()).as_module().kind(), "Skip");
    assert_eq!(Skip::Project(scale()).as_module_mut().kind(), "Skip");
}
