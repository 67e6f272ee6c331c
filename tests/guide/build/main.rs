//! Writes a Rust module for each page of the guide: its blocks, in order, as one function.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a build script stops where a page is wrong"
)]

mod page;

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

/// Code of a table as a statement whose value is recorded, unless it is a statement already.
fn statement(code: &str) -> String {
    let code = code.replace("\\|", "|");
    match code.ends_with(';') {
        true => format!("{code}\n"),
        false => format!("crate::values::record(&({code}));\n"),
    }
}

/// The module of a page: a function of everything on it, in order.
fn code_of(name: &str, page: &str) -> Result<String, String> {
    let mut body = String::new();
    for part in parts(page)? {
        let place = |line: usize| format!("docs/src/{name}.md:{line}");
        let code = match part {
            Part::Row(Row { line, python, rust }) => {
                let (place, python) = (place(line), python.join("\n"));
                let row = format!("// {place}\ncrate::values::row({place:?}, {python:?});\n");
                row + &rust.into_iter().map(statement).collect::<String>()
            }
            Part::Block(block) if block.value("file").is_some() => continue,
            Part::Block(block) if block.is("rust") => {
                check_is_run(&block)?;
                format!("// {}\n{}\n", place(block.line), block.text)
            }
            Part::Block(block) if block.is("text") => {
                let (place, text) = (place(block.line), block.text);
                format!("crate::output::check({place:?}, {text:?});\n")
            }
            Part::Block(_) => continue,
        };
        body.push_str(&code);
    }
    let module = name.replace('-', "_");
    Ok(format!(
        "mod {module} {{\nfn page() -> module_nn::Result<()> {{\n{body}Ok(())\n}}\n\
         #[test]\nfn every_block_runs_and_prints_what_the_page_shows() {{\n\
         crate::output::run({name:?}, page);\n}}\n}}\n"
    ))
}

/// Refuses a block that would not be compiled, or not be run.
fn check_is_run(block: &Block<'_>) -> Result<(), String> {
    let line = block.line;
    if block.info[..] != ["rust"] {
        let info = block.info.join(",");
        let rule = "a block of Rust is run as it is, or quotes a file (`rust,file=…`)";
        return Err(format!("line {line}: `{info}`: {rule}"));
    }
    if block.text.contains("fn main()") {
        let rule = "write the statements without `main`, or quote an example";
        return Err(format!("line {line}: nobody would call `main`; {rule}"));
    }
    Ok(())
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
