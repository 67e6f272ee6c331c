//! Writes a Rust module for each page of the guide: its blocks, in order, as one function, and each program with a `main` as a
//! module of its own.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a build script stops where a page is wrong"
)]

mod page;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use page::{Block, Part, Row, parts};

/// The pages in the order of their names.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("docs/src can be read");
    let mut pages: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.retain(|path| !path.ends_with("SUMMARY.md"));
    pages.sort();
    pages
}

/// The text as a string literal.
fn literal(text: &str) -> String {
    format!("{text:?}")
}

/// Code of a table as a statement whose value is recorded, unless it is a statement already.
fn statement(code: &str) -> String {
    let code = code.replace("\\|", "|");
    match code.ends_with(';') {
        true => format!("{code}\n"),
        false => format!("crate::values::record(&({code}));\n"),
    }
}

/// The modules of a page.
fn code_of(name: &str, page: &str) -> Result<String, String> {
    let (mut body, mut programs, mut in_program) = (String::new(), String::new(), false);
    for part in parts(page)? {
        let place = |line: usize| format!("docs/src/{name}.md:{line}");
        match part {
            Part::Row(Row { line, python, rust }) => {
                let (place, python) = (place(line), literal(&python.join("\n")));
                writeln!(body, "// {place}\ncrate::values::row({place:?}, {python});")
                    .expect("memory");
                body.extend(rust.into_iter().map(statement));
            }
            Part::Block(block) if block.value("file").is_some() => {}
            Part::Block(block) if block.is("rust") => {
                check_is_run(&block)?;
                in_program = block.text.contains("fn main()");
                let (place, text) = (place(block.line), &block.text);
                if in_program {
                    let line = block.line;
                    // Closed where its output is, or where the next block begins.
                    write!(
                        programs,
                        "mod program_of_line_{line} {{\n{text}\n#[test]\nfn prints_what_the_page_shows() \
                         {{ crate::output::run({place:?}, main, OUTPUT); }}\n{}}}\n",
                        output_of(page, line)
                    )
                    .expect("memory");
                } else {
                    write!(body, "// {place}\n{text}\n").expect("memory");
                }
            }
            Part::Block(block) if block.is("text") && !in_program => {
                let (place, text) = (place(block.line), literal(&block.text));
                writeln!(body, "crate::output::check({place:?}, {text});").expect("memory");
            }
            Part::Block(_) => {}
        }
    }
    let module = name.replace('-', "_");
    Ok(format!(
        "mod {module} {{\nfn page() -> module_nn::Result<()> {{\n{body}Ok(())\n}}\n\
         #[test]\nfn every_block_runs_and_prints_what_the_page_shows() {{ \
         crate::output::run({module:?}, page, \"\"); }}\n{programs}}}\n"
    ))
}

/// The constant with the output that a page shows for the program of this line.
fn output_of(page: &str, line: usize) -> String {
    let parts = parts(page).unwrap_or_default();
    let blocks = parts.iter().filter_map(|part| match part {
        Part::Block(block) => Some(block),
        Part::Row(_) => None,
    });
    let next = blocks.skip_while(|block| block.line <= line).next();
    let output = next.filter(|block| block.is("text") && block.value("file").is_none());
    let output = output.map_or("", |block| block.text.as_str());
    format!("const OUTPUT: &str = {};\n", literal(output))
}

/// Refuses attributes with which a block would not be compiled or not be run.
fn check_is_run(block: &Block<'_>) -> Result<(), String> {
    match block.info[..] {
        ["rust"] => Ok(()),
        _ => Err(format!(
            "line {}: `{}`: a block of Rust is run as it is, or is in a file (`rust,file=…`)",
            block.line,
            block.info.join(",")
        )),
    }
}

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("docs/src");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build");
    let mut code = String::new();
    for path in pages(&folder) {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let text = std::fs::read_to_string(&path).expect("a page can be read");
        match code_of(name, &text) {
            Ok(of_page) => code.push_str(&of_page),
            Err(problem) => panic!("docs/src/{name}.md: {problem}"),
        }
    }
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&folder).join("pages.rs"), code).expect("OUT_DIR can be written");
}
