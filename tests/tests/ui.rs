//! What `#[derive(Module)]` accepts, and what it says about everything else.
//!
//! Every file of `ui/pass` compiles and runs; every file of `ui/fail` is one mistake, named after
//! what it shows, beside the message that a user gets. `TRYBUILD=overwrite cargo test --test ui`
//! writes the messages anew; read them before they are committed.

#[test]
fn accepts() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}

#[test]
fn refuses() {
    trybuild::TestCases::new().compile_fail("ui/fail/*.rs");
}
