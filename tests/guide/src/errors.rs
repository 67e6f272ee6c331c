//! The list of errors in `docs/src/errors.md`: names and situations from the source of the error types, messages from their
//! `Display`, and what to do from `cures.tsv`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use module_tests::files::rust_files;

/// The error types, in the order of the page.
const TYPES: [(&str, &str); 19] = [
    ("ErrorKind", "module-tensor/src/error/kind.rs"),
    ("ShapeError", "module-tensor/src/error/shape.rs"),
    ("DTypeError", "module-tensor/src/error/dtype.rs"),
    ("DeviceError", "module-tensor/src/error/device.rs"),
    ("AutogradError", "module-tensor/src/error/autograd.rs"),
    ("RngError", "module-tensor/src/error/random.rs"),
    ("ModuleError", "module-core/src/error/module.rs"),
    ("LoadProblems", "module-core/src/error/load.rs"),
    ("ValueProblems", "module-core/src/error/values.rs"),
    ("FileError", "module-core/src/error/file.rs"),
    ("FormatError", "module-core/src/checkpoint/format_error.rs"),
    ("OptimizerError", "module-nn/src/optim/error.rs"),
    ("AveragingError", "module-nn/src/optim/averaging/error.rs"),
    ("DataError", "module-nn/src/data/error.rs"),
    ("ReaderError", "module-nn/src/data/readers/error.rs"),
    ("MetricError", "module-nn/src/metrics/error.rs"),
    ("LoraError", "module-nn/src/lora/error.rs"),
    ("PeftError", "module-nn/src/lora/peft/error.rs"),
    ("AuditError", "module-nn/src/audit/error.rs"),
];

/// A file whose messages are not in the file of the type.
const MESSAGES: [(&str, &str); 1] = [("ErrorKind", "module-tensor/src/error/display.rs")];

/// Types that have `Error` and that users do not match on: the wrapper, and a signal within the library.
const OTHERS: [&str; 2] = ["Error", "Stop"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The lines of an item, after the one that begins with `start`.
fn lines_of<'s>(source: &'s str, start: &str) -> impl Iterator<Item = &'s str> {
    let lines = source
        .lines()
        .skip_while(move |line| !line.starts_with(start));
    lines.skip(1).take_while(|line| *line != "}")
}

/// The text of a comment without links: `` [`Remap`](crate::Remap) `` becomes `` `Remap` ``.
fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else {
            break;
        };
        let target = after
            .strip_prefix('(')
            .and_then(|after| after.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
        write!(plain, "{before}`{name}`").unwrap();
    }
    plain + rest
}

/// The text of comments with this indentation, which end right before a line.
fn comment<'s>(lines: impl DoubleEndedIterator<Item = &'s str>, indent: &str) -> String {
    let start = format!("{indent}///");
    let lines = lines
        .rev()
        .skip_while(|line| line.trim_start().starts_with("#["));
    let lines = lines
        .map_while(|line| line.strip_prefix(&start))
        .map(str::trim);
    let mut lines: Vec<&str> = lines.collect();
    lines.reverse();
    let first = lines.iter().take_while(|line| !line.is_empty());
    without_links(&first.copied().collect::<Vec<_>>().join(" "))
}

/// The variants of an enum or the fields of a struct, each with its comment.
fn members(source: &str, name: &str) -> Vec<(String, String)> {
    let kind = if source.contains(&format!("pub enum {name} {{")) {
        "enum"
    } else {
        "struct"
    };
    let lines: Vec<&str> = lines_of(source, &format!("pub {kind} {name} {{")).collect();
    let mut members = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(member) = line.strip_prefix("    ") else {
            continue;
        };
        let member = member.strip_prefix("pub ").unwrap_or(member);
        let end = member.find(|c: char| !c.is_alphanumeric() && c != '_');
        let name = &member[..end.unwrap_or(member.len())];
        if !name.is_empty() {
            members.push((
                name.to_owned(),
                comment(lines[..index].iter().copied(), "    "),
            ));
        }
    }
    members
}

/// The first string literal of a text, without its escapes.
fn literal(text: &str) -> Option<String> {
    let (mut found, mut chars) = (String::new(), text.split_once('"')?.1.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' => return Some(found),
            '\\' => match chars.next()? {
                '\n' => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                'n' => found.push('\n'),
                't' => found.push(' '),
                other => found.push(other),
            },
            other => found.push(other),
        }
    }
    None
}

/// A format string as a reader sees it: `{op}: {…} and {rhs}`.
fn as_shown(format: &str) -> String {
    let (mut shown, mut rest) = (String::new(), format);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let name = name.split(':').next().unwrap_or_default();
        let name = if name.is_empty() { "…" } else { name };
        write!(shown, "{before}{{{name}}}").unwrap();
        rest = after;
    }
    shown + rest
}

/// The message of a variant: what its arm of `Display` writes.
fn message(source: &str, name: &str, variant: &str) -> Option<String> {
    let lines: Vec<&str> = lines_of(source, &format!("impl fmt::Display for {name} {{")).collect();
    let is_arm = |line: &&str| line.starts_with("            Self::");
    let start = lines.iter().position(|line| {
        let of_variant = line.split("Self::").skip(1);
        let ends = |rest: &str| rest.starts_with(|c: char| !c.is_alphanumeric());
        let mut found = of_variant.filter_map(|rest| rest.strip_prefix(variant));
        found.any(ends)
    })?;
    let arm = lines[start + 1..].iter().take_while(|line| !is_arm(line));
    let arm: Vec<&str> = [lines[start]].into_iter().chain(arm.copied()).collect();
    let arm = arm.join("\n");
    let writes = arm.split("write").skip(1).filter(|rest| {
        rest.starts_with("!(") || rest.starts_with("_str(") || rest.starts_with("ln!(")
    });
    // An argument that is not a literal has none before the end of the call.
    let texts = writes
        .filter(|rest| !rest.starts_with("_str(p"))
        .filter_map(literal);
    let mut text = String::new();
    for part in texts {
        // What begins like a message is an alternative to the one before.
        if !text.is_empty() && part.starts_with(char::is_alphabetic) {
            text.push_str(" or ");
        }
        text.push_str(&part);
    }
    let text = as_shown(&text);
    (!text.is_empty()).then(|| text.replace('\n', " "))
}

fn cures() -> Vec<(&'static str, &'static str)> {
    let rows = include_str!("cures.tsv").lines().skip(1);
    rows.map(|row| {
        row.split_once('\t')
            .unwrap_or_else(|| panic!("two cells in `{row}`"))
    })
    .collect()
}

/// The list, from the sources.
fn list() -> String {
    let mut cures = cures().into_iter();
    let mut list = String::new();
    for (name, file) in TYPES {
        let source = read(file);
        let of_messages = MESSAGES.iter().find(|(known, _)| *known == name);
        let messages = of_messages.map_or_else(|| source.clone(), |(_, file)| read(file));
        let lines: Vec<&str> = source.lines().collect();
        let declared = lines.iter().position(|line| {
            line.starts_with(&format!("pub enum {name} "))
                || line.starts_with(&format!("pub struct {name} "))
        });
        let declared = declared.unwrap_or_else(|| panic!("{name} is not in {file}"));
        let about = comment(lines[..declared].iter().copied(), "");
        write!(list, "\n### `{name}`\n\n{about}\n\n| error | when, and its message | what to do |\n|---|---|---|\n").unwrap();
        for (member, situation) in members(&source, name) {
            let key = format!("{name}::{member}");
            let (of, cure) = cures.next().unwrap_or_default();
            assert_eq!(of, key, "cures.tsv, in the order of the types");
            if cure == "-" {
                continue;
            }
            let message = message(&messages, name, &member);
            let message = message.map(|text| format!("<br>`` {} ``", text.replace('|', "\\|")));
            let message = message.unwrap_or_default();
            writeln!(list, "| `{member}` | {situation}{message} | {cure} |").unwrap();
        }
    }
    assert_eq!(
        cures.next(),
        None,
        "cures.tsv has more errors than the types"
    );
    list
}

#[test]
fn the_list_of_errors_is_that_of_the_types() {
    crate::written::check_list("errors", &list());
}

/// A new error type must be added to the list.
#[test]
fn every_error_type_is_in_the_list() {
    let folders = ["module-tensor/src", "module-core/src", "module-nn/src"];
    let files = folders.map(|folder| rust_files(&root().join(folder)));
    let mut found = 0;
    for path in files.into_iter().flatten() {
        let text = std::fs::read_to_string(&path).unwrap();
        let starts = ["impl std::error::Error for ", "impl Error for "];
        for line in text.lines() {
            let Some(rest) = starts.iter().find_map(|start| line.strip_prefix(start)) else {
                continue;
            };
            let name = rest.split([' ', '<']).next().unwrap_or_default();
            let known = TYPES.iter().any(|(known, _)| *known == name) || OTHERS.contains(&name);
            assert!(known, "{name} in {} is not in the list", path.display());
            found += 1;
        }
    }
    assert_eq!(found, TYPES.len() + OTHERS.len());
}

#[test]
fn comments_and_messages_are_read() {
    assert_eq!(without_links("a [`B`](c::B) and [`D`]."), "a `B` and `D`.");
    assert_eq!(literal(r#"f, "a \"b\" {x}", x"#).unwrap(), r#"a "b" {x}"#);
    assert_eq!(as_shown("{op}: {} at {value:?}"), "{op}: {…} at {value}");
    let source = "impl fmt::Display for E {\n        match self {\n            Self::A { x } => \
                  write!(f, \"a {x}\"),\n            Self::B => f.write_str(\"b\"),\n        }\n}\n";
    assert_eq!(message(source, "E", "A").unwrap(), "a {x}");
    assert_eq!(message(source, "E", "B").unwrap(), "b");
}
