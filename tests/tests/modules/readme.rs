//! The README shows what the repository holds.

const README: &str = include_str!("../../../README.md");

/// The examples run in the checks, so a program that the README quotes whole is one that works.
#[test]
fn the_program_of_the_readme_is_the_example() {
    let example = include_str!("../../../examples/mlp.rs").trim_end();
    assert!(README.contains(&format!("```rust\n{example}\n```")));
    assert!(example.lines().count() < 60);
}

/// The checks run the command that the README promises.
#[test]
fn the_test_command_is_that_of_the_checks() {
    let command = "cargo test --workspace";
    assert!(README.lines().any(|line| line == command));
    assert!(
        include_str!("../../../.ci/run")
            .lines()
            .any(|line| line == command)
    );
}
