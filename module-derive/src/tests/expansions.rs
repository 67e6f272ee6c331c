//! The expansions of typical types, as last reviewed and accepted: `BLESS=1 cargo test -p module-core-derive` rewrites them. A
//! change that makes them longer costs every user compile time.

use std::{env, fs, path::Path};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{DeriveInput, parse_quote};

/// Prints tokens with one statement per line, which is enough to read a difference.
fn lay_out(tokens: TokenStream, indent: usize, line: &mut TokenStream, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                end_line(line, indent, " {", text);
                lay_out(group.stream(), indent + 1, line, text);
                end_line(line, indent + 1, "", text);
                end_line(&mut TokenStream::new(), indent, "}", text);
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => {
                end_line(line, indent, ";", text);
            }
            other => line.extend([other]),
        }
    }
}

fn end_line(line: &mut TokenStream, indent: usize, end: &str, text: &mut String) {
    let tokens = std::mem::take(line).to_string();
    let content = format!("{tokens}{end}");
    if !content.is_empty() {
        text.push_str(&"    ".repeat(indent));
        text.push_str(content.trim_start());
        text.push('\n');
    }
}

#[track_caller]
fn check(name: &str, expansion: TokenStream) {
    let mut text = String::new();
    let mut line = TokenStream::new();
    lay_out(expansion, 0, &mut line, &mut text);
    end_line(&mut line, 0, "", &mut text);
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/tests/expansions")
        .join(name)
        .with_extension("txt");
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let accepted = fs::read_to_string(&path).unwrap_or_default();
    assert!(accepted == text, "the expansion of {name} changed:\n{text}");
}

fn module(name: &str, input: DeriveInput) {
    check(name, crate::derive(&input));
}

#[test]
fn named_struct() {
    module(
        "named_struct",
        parse_quote! {
            struct Net { weight: Parameter, #[module(rename = "fc")] head: Linear }
        },
    );
}

#[test]
fn attributes() {
    module(
        "attributes",
        parse_quote! {
            #[module(crate = "framework", debug, extra_repr = Self::describe, kind = Self::KIND)]
            struct Net(Parameter, #[module(skip)] String, #[module(flatten)] Base);
        },
    );
}

#[test]
fn generic_struct() {
    module(
        "generic_struct",
        parse_quote! {
            struct Block<N, A: Activation, const K: usize> where A: Send {
                norm: N,
                acts: Vec<A>,
                children: Vec<Block<N, A, K>>,
                sizes: [usize; K],
            }
        },
    );
}

#[test]
fn enumeration() {
    module(
        "enumeration",
        parse_quote! {
            enum Norm<N> { Layer(N), Affine { weight: Parameter, bias: Parameter }, None }
        },
    );
}

#[test]
fn forward() {
    let input = parse_quote! {
        enum Skip<A> { Project(A), Identity(Identity) }
    };
    check("forward", crate::forward::derive(&input));
}

#[test]
fn tensors() {
    let input = parse_quote! {
        enum Batch<'a, T> { Rows { rows: T, #[module(skip)] name: String }, Many(Vec<T>, &'a Tensor), Empty }
    };
    check("tensors", crate::tensors::derive(&input));
}
