//! The stages before the compiler sees the expansion; `tests/derive` shows what users see.

mod expansions;

use syn::{DeriveInput, parse_quote};

use crate::errors::Errors;
use crate::model::Input;
use crate::types;
use crate::validate;

/// The messages about an input, without their help texts.
fn wrong(input: DeriveInput) -> Vec<String> {
    let mut errors = Errors::default();
    let model = Input::from_syn(&input, &mut errors);
    validate::check(&model, &mut errors);
    errors
        .iter()
        .map(|error| {
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

fn keys(input: DeriveInput) -> Vec<String> {
    let mut errors = Errors::default();
    let model = Input::from_syn(&input, &mut errors);
    assert_eq!(errors.iter().count(), 0);
    model.members().map(|member| member.key.clone()).collect()
}

#[test]
fn keys_are_names_numbers_or_the_argument_of_rename() {
    assert_eq!(
        keys(parse_quote! {
            struct Net {
                weight: Parameter,
                r#type: Parameter,
                #[module(rename = "b")]
                bias: Parameter,
            }
        }),
        ["weight", "type", "b"]
    );
    assert_eq!(
        keys(parse_quote!(
            struct Net(Parameter, #[module(rename = "x")] Parameter);
        )),
        ["0", "x"]
    );
    assert_eq!(
        keys(parse_quote! {
            enum Net { A(Parameter), B { weight: Parameter }, C }
        }),
        ["0", "weight"]
    );
}

#[test]
fn every_mistake_is_collected() {
    let wrong = wrong(parse_quote! {
        #[module(skip)]
        struct Net<'a> {
            #[module(renam = "a")]
            a: Parameter,
            #[module(rename = "x.y", flatten)]
            b: Parameter,
            #[module(skip, skip)]
            c: usize,
        }
    });
    assert_eq!(
        wrong,
        [
            "unknown attribute `renam`",
            "`skip` is given twice",
            "`skip` has no meaning on a type",
            "a module cannot have a lifetime parameter",
            "`flatten` contradicts `rename`: the members of a flattened child keep their own keys",
            "the key `x.y` contains a `.`, which separates the steps of a path",
        ]
    );
}

#[test]
fn one_wrong_item_hides_no_other_attribute() {
    let wrong = wrong(parse_quote! {
        struct Net {
            #[module(nonsense)]
            #[module(rename = "")]
            a: Parameter,
        }
    });
    assert_eq!(
        wrong,
        ["unknown attribute `nonsense`", "a key cannot be empty"]
    );
}

#[test]
fn keys_do_not_start_with_reserved_names() {
    let wrong = wrong(parse_quote! {
        struct Net {
            __a: Parameter,
            #[module(rename = "_extra_state")]
            b: Parameter,
            #[module(skip)]
            __c: usize,
            _d: Parameter,
            e__: Parameter,
        }
    });
    assert_eq!(
        wrong,
        [
            "the key `__a` starts with `__`, which is kept for the file format",
            "the key `_extra_state` starts with `_extra_state`, which is kept for PyTorch's state other than tensors",
        ]
    );
}

#[test]
fn the_compiler_is_asked_about_modes_only_where_types_may_be_flags() {
    let asked = |input: DeriveInput| {
        validate::may_have_two_modes(&Input::from_syn(&input, &mut Errors::default()))
    };
    assert!(asked(parse_quote!(
        struct Net(Training, Flag);
    )));
    assert!(asked(parse_quote!(
        enum Net<A> {
            B(usize, A, A::Act),
        }
    )));
    assert!(!asked(parse_quote!(
        struct Net(Linear, Linear);
    )));
    assert!(!asked(parse_quote!(
        struct Net(Training, Parameter, Bias, f64, Vec<Linear>, [Linear; 2]);
    )));
    assert!(!asked(parse_quote!(
        enum Net {
            A(Training),
            B(Linear),
        }
    )));
}

#[test]
fn skipped_and_flattened_fields_have_no_key_to_collide() {
    let none: [String; 0] = [];
    assert_eq!(
        wrong(parse_quote! {
            struct Net {
                #[module(skip)]
                a: usize,
                #[module(rename = "a")]
                b: Parameter,
                #[module(flatten)]
                c: Base,
                #[module(rename = "c")]
                d: Parameter,
            }
        }),
        none
    );
}

#[test]
fn suspicious_types_are_found_wherever_they_stand() {
    let words = |ty: syn::Type| types::field_trait(&ty);
    assert_eq!(words(parse_quote!(Parameter)), "Field");
    assert_eq!(words(parse_quote!(Option)), "Field");
    assert_eq!(
        words(parse_quote!(core::option::Option<Linear>)),
        "OptionField"
    );
    assert_eq!(
        words(parse_quote!([(Linear, Vec<Option<Linear>>); 2])),
        "OptionField"
    );
    assert_eq!(words(parse_quote!(Box<(Tensor)>)), "TensorField");
    assert_eq!(
        words(parse_quote!(HashMap<String, Option<Linear>>)),
        "MapField"
    );
    assert_eq!(words(parse_quote!(Arc<Mutex<Linear>>)), "CellField");
    assert_eq!(words(parse_quote!(Vec<f32>)), "NumbersField");
    assert_eq!(words(parse_quote!(Vec<Vec<Linear>>)), "Field");
}

#[test]
fn only_certain_types_are_refused_by_their_tokens() {
    let refused = |ty: syn::Type| types::refusal(&ty).is_some();
    assert!(refused(parse_quote!(&'static Linear)));
    assert!(refused(parse_quote!(&'static mut str)));
    assert!(refused(parse_quote!((*const u8))));
    assert!(refused(parse_quote!(fn(f32) -> f32)));
    assert!(!refused(parse_quote!(&'static str)));
    assert!(!refused(parse_quote!(Option<Linear>)));
}

#[test]
fn errors_leave_a_stub_so_that_uses_compile() {
    let expansion = crate::derive(&parse_quote! {
        #[module(crate = "framework")]
        struct Net<N> {
            #[module(skipp)]
            n: N,
        }
    })
    .to_string();
    assert_eq!(expansion.matches("compile_error").count(), 1);
    assert!(expansion.contains("__m :: Module for Net < N >"));
    assert!(!expansion.contains("visit_field"));
}
