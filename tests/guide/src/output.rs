//! What a page prints, compared with what it shows.

use std::cell::RefCell;
use std::fmt;

use module_nn::{Result, fork_rng};

use crate::written::{Shown, is_writing, write_blocks};

thread_local! {
    /// What the page of this thread has printed since it was last compared.
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };

    /// The blocks of the page whose text is not what was printed, if they are to be written.
    static CHANGED: RefCell<Vec<Shown>> = const { RefCell::new(Vec::new()) };
}

/// Prints: `print!` and `println!` of the pages call this.
pub(crate) fn write(text: fmt::Arguments<'_>) {
    PRINTED.with_borrow_mut(|printed| printed.push_str(&text.to_string()));
}

/// Compares what was printed with what a page shows, where `…` stands for any text within a line.
#[track_caller]
pub(crate) fn check(place: &'static str, shown: &str) {
    let printed = PRINTED.take();
    let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    let shown: Vec<&str> = shown.trim_end().lines().map(str::trim_end).collect();
    let same = printed.len() == shown.len()
        && printed
            .iter()
            .zip(&shown)
            .all(|(printed, shown)| matches(printed, shown));
    let text = printed.join("\n");
    if is_writing() && !same {
        CHANGED.with_borrow_mut(|changed| changed.push(Shown { place, text }));
        return;
    }
    assert!(
        same,
        "{place} shows another output than what is printed:\n{text}\n"
    );
}

/// Whether a line is the shown one, where `…` stands for any text.
fn matches(printed: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last {
            match rest.split_once(middle) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        last = Some(part);
    }
    match last {
        Some(end) => rest.ends_with(end),
        None => rest.is_empty(),
    }
}

/// Runs a page with random numbers of its own; everything that it prints must be shown.
pub(crate) fn run(name: &str, page: fn() -> Result<()>) {
    if let Err(error) = fork_rng(0, page) {
        panic!("docs/src/{name}.md: {error}");
    }
    crate::values::finish();
    let rest = PRINTED.take();
    assert!(
        rest.is_empty(),
        "docs/src/{name}.md does not show what it prints last:\n{rest}"
    );
    write_blocks(name, &CHANGED.take());
}

#[test]
fn an_ellipsis_stands_for_any_text_of_a_line() {
    assert!(matches("loss 0.25", "loss 0.25") && matches("", ""));
    assert!(matches("took 12 ms", "took … ms") && matches("a 1 b 2 c", "a … b … c"));
    assert!(!matches("loss 0.25", "loss 0.2") && !matches("took 12 s", "took … ms"));
    assert!(!matches("b 1 a 2 c", "a … b … c") && !matches("", "…x"));
}

#[test]
#[should_panic(expected = "does not show what it prints last")]
fn an_output_that_a_page_does_not_show_is_an_error() {
    run("nowhere", || {
        write(format_args!("something\n"));
        Ok(())
    });
}

#[test]
#[should_panic(expected = "nowhere.md: lost")]
fn an_error_of_a_page_is_an_error() {
    run("nowhere", || Err(module_nn::Error::custom("lost")));
}
