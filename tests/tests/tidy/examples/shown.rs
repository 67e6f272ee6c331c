//! The code of all examples.

use std::collections::HashSet;

use crate::files::File;
use crate::words::words;

/// The crates whose documentation is tested with the workspace.
const CRATES: [&str; 4] = ["module-core", "module-derive", "module-nn", "module-tensor"];

/// The examples of the documentation and of the guide.
pub(crate) struct Shown {
    pub(crate) examples: Vec<Example>,
}

/// A block of code that runs.
pub(crate) struct Example {
    pub(crate) path: String,
    code: Vec<String>,
    words: HashSet<String>,
}

impl Shown {
    pub(crate) fn read(files: &[File]) -> Self {
        let mut examples = Vec::new();
        for file in files {
            let is_source = file.is_rust() && is_of(&file.path, "/src/");
            let is_readme = is_of(&file.path, "/README.md");
            let is_page = ["docs/src/", "module-core/src/docs/"]
                .iter()
                .any(|folder| file.path.starts_with(folder));
            if is_source || is_readme || is_page {
                let lines = file.lines().map(|(_, line)| match is_source {
                    true => documentation(line.trim_start()),
                    false => Some(line),
                });
                add(&file.path, lines, &mut examples);
            }
        }
        Self { examples }
    }
}

impl Example {
    fn new(path: &str, code: &str) -> Self {
        let code = words(code);
        Self {
            path: path.to_owned(),
            words: code.iter().cloned().collect(),
            code,
        }
    }

    pub(crate) fn names(&self, name: &str) -> bool {
        self.words.contains(name)
    }

    /// Whether these words follow each other.
    pub(crate) fn has(&self, words: &[&str]) -> bool {
        let mut places = self.code.windows(words.len());
        words.iter().all(|word| self.names(word)) && places.any(|place| place == words)
    }

    /// Whether there is `.name(` or `::name(`, possibly with types after the name.
    pub(crate) fn calls_method(&self, name: &str) -> bool {
        let is_call = |three: &[String]| {
            [".", "::"].contains(&&*three[0])
                && three[1] == name
                && ["(", "::"].contains(&&*three[2])
        };
        self.names(name) && self.code.windows(3).any(is_call)
    }

    /// Whether the result of a function is bound or compared.
    pub(crate) fn looks_at(&self, function: &str) -> bool {
        let is_call = |two: &[String]| two[0] == function && two[1] == "(";
        let calls = self.code.windows(2).enumerate();
        let mut calls = calls.filter(|(_, two)| is_call(two));
        self.names(function)
            && calls.any(|(at, _)| {
                let before = self.code[..at].iter().rev();
                let mut statement = before.take_while(|word| ![";", "{", "}"].contains(&&***word));
                statement.any(|word| {
                    word.starts_with("assert") || ["let", "for", "if"].contains(&&**word)
                })
            })
    }
}

/// Whether a path is in this place of one of the crates.
fn is_of(path: &str, place: &str) -> bool {
    let rest = CRATES.iter().find_map(|name| path.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(place))
}

/// The text of a line of documentation.
fn documentation(line: &str) -> Option<&str> {
    let text = line.strip_prefix("///").or(line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

/// Whether a block quotes a file that is not compiled, or that this workspace does not test.
fn is_quoted(tags: &str) -> bool {
    tags.contains("compile_fail") || tags.contains("file=module-")
}

/// Adds the blocks of Rust in lines of documentation; `None` is a line of something else.
fn add<'f>(path: &str, lines: impl Iterator<Item = Option<&'f str>>, examples: &mut Vec<Example>) {
    let mut block: Option<(bool, String)> = None;
    for line in lines {
        let Some(line) = line else {
            block = None;
            continue;
        };
        match (line.strip_prefix("```"), &mut block) {
            (Some(tags), None) => {
                let is_run = tags.is_empty() || tags.starts_with("rust") && !is_quoted(tags);
                block = Some((is_run, String::new()));
            }
            (Some(_), Some((is_run, code))) => {
                if *is_run {
                    examples.push(Example::new(path, code));
                }
                block = None;
            }
            // A line that begins with `# ` runs, but the page does not show it.
            (None, Some((_, code))) if line != "#" && !line.starts_with("# ") => {
                code.push_str(line);
                code.push('\n');
            }
            _ => {}
        }
    }
}
