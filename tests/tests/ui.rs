//! What `#[derive(Module)]` accepts, and what it says about everything else.
//!
//! Every file of `ui/pass` compiles and runs; every file of `ui/fail` is one mistake, named after
//! what it shows, beside the message that a user gets. `TRYBUILD=overwrite cargo test --test ui`
//! writes the messages anew; read them before they are committed.

#[test]
fn ui() {
    // One set, because beside programs that run the others are built too, and not only checked:
    // some mistakes show only once a generic type is used.
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.compile_fail("ui/fail/*.rs");
}
