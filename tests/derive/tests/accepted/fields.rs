//! `FIELDS` gives names, keys and roles at compile time for structs, enums and generic types, whatever the names of the
//! field types.

use std::marker::PhantomData;

use module_nn::prelude::*;
use module_nn::{FieldInfo, FieldRole};

type Weight = Parameter;

#[derive(Module)]
struct Base {
    r#type: Parameter,
}

#[derive(Module)]
struct Net<N, const K: usize> {
    #[module(rename = "gamma")]
    weight: Weight,
    bias: Bias,
    mean: Buffer,
    count: Maybe<Buffer>,
    inner: N,
    list: Vec<N>,
    training: Training,
    sizes: [usize; K],
    unit: PhantomData<N>,
    #[module(skip)]
    note: String,
    #[module(flatten)]
    base: Base,
}

#[derive(Module)]
enum Choice {
    Layer(Linear),
    Pair(Parameter, #[module(rename = "b")] Buffer),
    Named { size: usize },
    None,
}

#[derive(Module)]
struct Own(Parameter);

/// More fields than usual.
#[derive(Module)]
struct Many(
    #[module(rename = "first")] u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    u8,
    #[module(skip)] u8,
    Parameter,
);

impl Own {
    const FIELDS: usize = 3;
}

fn told(fields: &[FieldInfo]) -> Vec<String> {
    fields
        .iter()
        .map(|field| {
            format!(
                "{}{} {:?} {:?}",
                field.variant.map_or(String::new(), |v| format!("{v}.")),
                field.name,
                field.key,
                field.role
            )
        })
        .collect()
}

fn learned<M: Describe>() -> usize {
    M::FIELDS
        .iter()
        .filter(|field| field.role == FieldRole::Parameter)
        .count()
}

const FIRST: &str = Base::FIELDS[0].key;

#[test]
fn runs() {
    let fields = <Net<Linear, 2>>::FIELDS;
    assert_eq!(
        told(&fields[..10]),
        [
            "weight \"gamma\" Parameter",
            "bias \"bias\" Parameter",
            "mean \"mean\" Buffer",
            "count \"count\" Buffer",
            "inner \"inner\" Child",
            "list \"list\" Child",
            "training \"training\" Training",
            "sizes \"sizes\" Constant",
            "unit \"unit\" Marker",
            "note \"\" Skipped",
        ]
    );
    assert_eq!(fields[10].role, FieldRole::Flattened(Base::FIELDS));
    assert_eq!(<Net<Parameter, 0>>::FIELDS[4].role, FieldRole::Parameter);
    assert_eq!(
        told(Choice::FIELDS),
        [
            "Layer.0 \"\" Child",
            "Pair.0 \"0\" Parameter",
            "Pair.1 \"b\" Buffer",
            "Named.size \"size\" Constant",
        ]
    );
    let many = told(Many::FIELDS);
    assert_eq!(
        (many.len(), many[0].as_str(), many[1].as_str()),
        (21, "0 \"first\" Constant", "1 \"1\" Constant")
    );
    assert_eq!(many[19..], ["19 \"\" Skipped", "20 \"20\" Parameter"]);
    assert_eq!(FIRST, "type");
    assert_eq!(learned::<Net<Linear, 1>>() + Own::FIELDS, 5);
    assert_eq!(Linear::FIELDS[0].name, "in_features");
}
