//! `#[derive(Forward)]` calls the active variant, or the only field.

use module_nn::prelude::*;

#[derive(Module, Forward)]
enum Skip {
    Project(Linear),
    Identity(Identity),
    Nested(Box<Skip>),
    Dynamic(Box<dyn Layer>),
}

#[derive(Module, Forward)]
struct Wrapper(Skip);

#[derive(Module, Forward)]
struct Named<L> {
    inner: L,
}

#[derive(Module, Forward)]
enum Either<A, B> {
    Left(A),
    Right(Box<B>),
}

#[test]
fn runs() {
    let wrapper = Wrapper(Skip::Nested(Box::new(Skip::Identity(
        crate::show::identity(),
    ))));
    let named = Named { inner: wrapper };
    let either: Either<Linear, Named<Wrapper>> = Either::Right(Box::new(named));
    let layer: Box<dyn Layer> = Box::new(either);
    assert!(layer.call(Tensor::from(1.0_f32)).is_ok());
    let _ = (
        Skip::Project as fn(_) -> _,
        Skip::Dynamic as fn(_) -> _,
        Either::<Linear, Skip>::Left as fn(_) -> _,
    );
}
