//! What `README.md` says is so: its programs print what it shows, its tables are those of the files that it names, its
//! snippets are accepted by cargo, and its links lead somewhere.
//!
//! `WRITE_README=1 cargo test -p module-tests --test modules readme` writes the outputs, the picture and the figures.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::public_items::root;

/// If set, what programs print is written instead of compared.
const WRITE: &str = "WRITE_README";

/// The rows of `benches/latest.md` that the README shows: some where this library is faster, some where it is slower.
const ROWS: [&str; 12] = [
    "matmul 1024",
    "conv2d 3x3, [8, 64, 56, 56], and backward",
    "attention [4, 12, 128, 64], and backward",
    "lstm 256, 64 steps, batch 8, and backward",
    "AdamW, 7.1 million parameters",
    "MLP 2-16-1, batch 8, SGD step",
    "ResNet-18, batch 8 of 224x224, SGD step",
    "MiniLM's 6 layers of 384, 32x128 tokens, inference",
    "GPT-2, 16 tokens after 48, with a cache",
    "MobileNetV3-Small, batch 8 of 64x64, inference",
    "ConvNeXt-T, batch 8 of 64x64, inference",
    "linear 768 to 3072, 128 rows, bf16",
];

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn readme() -> String {
    read("README.md")
}

/// The code block after a comment, without its fences.
fn block(text: &str, comment: &str) -> String {
    let (_, rest) = text
        .split_once(&format!("<!-- {comment} -->\n```"))
        .unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let end = rest.find("```\n").unwrap();
    rest[..end].to_owned()
}

/// Compares the text that follows `start` up to `end` with `expected`, or writes it.
fn check(start: &str, end: &str, expected: &str) {
    let text = readme();
    let at = text.find(start).unwrap() + start.len();
    let length = text[at..].find(end).unwrap();
    if std::env::var_os(WRITE).is_some() {
        let new = format!("{}{expected}{}", &text[..at], &text[at + length..]);
        // The other tests, which read the file at the same time, see the old text or the new one.
        let beside = root().join("README.md.new");
        std::fs::write(&beside, new).unwrap();
        std::fs::rename(beside, root().join("README.md")).unwrap();
    } else {
        let shown = &text[at..at + length];
        assert!(
            shown == expected,
            "README.md shows:\n{shown}\nInstead of:\n{expected}\n{WRITE}=1 writes it"
        );
    }
}

fn printed(program: &str, folder: &Path) -> String {
    let output = Command::new(program).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// An empty folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("module-readme-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The program is shown whole, but for the line that says what it is, and prints what is shown. One test compares or writes
/// everything, because tests run at the same time.
#[test]
fn the_readme_matches_the_files_and_the_output_of_programs() {
    let example = read("examples/mlp.rs");
    let (_, program) = example.split_once("\n\n").unwrap();
    let lines = program.lines().filter(|line| !line.is_empty());
    assert!(lines.count() <= 30, "the first program is short");
    check(
        "<!-- program: examples/mlp.rs -->\n```rust\n",
        "```\n",
        program,
    );

    let folder = Folder::new("programs");
    let output = printed(env!("CARGO_BIN_EXE_mlp"), &folder.0);
    check("<!-- output: mlp -->\n```\n", "```\n", &output);

    let output = printed(env!("CARGO_BIN_EXE_picture"), &folder.0);
    let (table, _) = output.split_once("\nwrote ").unwrap();
    let table = format!("{}\n", table.trim_end());
    check("<!-- output: picture -->\n```\n", "```\n", &table);
    let drawn = std::fs::read_to_string(folder.0.join("target/pictures/digits.svg")).unwrap();
    let (drawn, picture) = (untimed(&drawn), root().join("examples/pictures/digits.svg"));
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&picture, &drawn).unwrap();
    }
    assert!(
        std::fs::read_to_string(picture).unwrap() == drawn,
        "another picture; {WRITE}=1 writes it"
    );

    check("<!-- table: speed -->\n", "\nThe full tables", &speed());
}

/// A picture without the times of its calls.
fn untimed(svg: &str) -> String {
    let mut parts = svg.split("\ntime: ");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |whole, part| {
        let (_, rest) = part.split_once("</title>").unwrap();
        whole + "</title>" + rest
    })
}

/// The processor and the chosen rows of `benches/latest.md`, with one thread.
fn speed() -> String {
    let latest = read("benches/latest.md");
    let (_, rest) = latest.split_once(" --save` on ").unwrap();
    let (date, rest) = rest.split_once(": ").unwrap();
    let (processor, rest) = rest.split_once(';').unwrap();
    let (_, versions) = rest.split_once("), ").unwrap();
    let (versions, _) = versions.split_once(".\n").unwrap();
    let (_, one) = latest.split_once("## 1 thread").unwrap();
    let (one, _) = one.split_once("\n## ").unwrap();
    let said = |start: &str| {
        let line = one.lines().find(|line| line.starts_with(start)).unwrap();
        line[start.len()..].trim().to_owned()
    };
    let mut text = format!(
        "{processor}), one thread, {date}; {versions}. A ratio is the other\n\
         library's time divided by ours: above 1, this library is faster. The goal of a row is the ratio that it should reach.\n\
         All rows, compared with PyTorch: {}.\n\
         All rows, compared with candle: {}. Twelve of the rows:\n\n\
         | | ours, µs | PyTorch, µs | ratio | candle's ratio |\n|---|---|---|---|---|\n",
        said("PyTorch:"),
        said("candle:"),
    );
    for row in ROWS {
        let line = one
            .lines()
            .find(|line| line.starts_with(&format!("| {row} |")));
        let line = line.unwrap_or_else(|| panic!("benches/latest.md has no row `{row}`"));
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, ours, torch, ratio, _, _, candle, ..] = cells[..] else {
            panic!("eight cells in `{line}`");
        };
        text += &format!("| {row} | {ours} | {torch} | {ratio} | {candle} |\n");
    }
    text
}

/// Ten rows, each with a pitfall that has tests.
#[test]
fn the_first_table_has_ten_rows_of_the_pitfalls() {
    let readme = readme();
    let (_, table) = readme.split_once("|---|---|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let pitfalls = include_str!("pitfalls/rows.tsv");
    for row in table.lines() {
        let number = row.split('|').nth(1).unwrap().trim();
        let known = pitfalls
            .lines()
            .any(|line| line.starts_with(&format!("{number}\t")));
        assert!(known, "no pitfall {number}");
    }
    assert_eq!(table.lines().count(), 10);
    let all = pitfalls.lines().count() - 1;
    assert!(readme.contains(&format!("lists all {all} such failures")));
}

/// Cargo accepts the snippets of a manifest, which name crates that exist.
#[test]
fn the_snippets_of_manifests_are_accepted_by_cargo() {
    let readme = readme();
    let (dependency, profile) = (
        block(&readme, "test: dependency"),
        block(&readme, "test: profile"),
    );
    let line = dependency.lines().nth(1).unwrap();
    let (name, rest) = line.split_once(" = { path = \"").unwrap();
    let (path, _) = rest.split_once('"').unwrap();
    let folder = path.rsplit('/').next().unwrap();
    let named = profile
        .lines()
        .skip(1)
        .map(|line| line.split(' ').next().unwrap());
    for (name, folder) in named.map(|name| (name, name)).chain([(name, folder)]) {
        let manifest = read(format!("{folder}/Cargo.toml"));
        assert!(
            manifest.contains(&format!("name = \"{name}\"")),
            "{folder} is not {name}"
        );
    }

    let folder = Folder::new("manifest");
    let package = "[package]\nname = \"program\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let manifest = format!("{package}\n[workspace]\n\n{dependency}\n{profile}");
    let manifest = manifest.replace(path, root().join("module-nn").to_str().unwrap());
    std::fs::create_dir(folder.0.join("src")).unwrap();
    std::fs::write(folder.0.join("src/main.rs"), "fn main() {}\n").unwrap();
    std::fs::write(folder.0.join("Cargo.toml"), manifest).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

/// The table of features has the features of `module-nn`, and says which are not on by default.
#[test]
fn the_features_are_those_of_the_crate() {
    let manifest = read("module-nn/Cargo.toml");
    let (_, features) = manifest.split_once("[features]\n").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let (default, rest) = features.split_once("]\n").unwrap();
    let declared: Vec<&str> = rest
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name))
        .collect();
    let readme = readme();
    let (_, table) = readme
        .split_once("| feature | enables |\n|---|---|\n")
        .unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let first_cells = table.lines().filter_map(|line| line.split('|').nth(1));
    let mut listed: Vec<&str> = first_cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect();
    let mut sorted = declared.clone();
    sorted.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, sorted);
    let off: Vec<&str> = sorted
        .into_iter()
        .filter(|name| !default.contains(&format!("\"{name}\"")))
        .collect();
    let [first @ .., last] = &off[..] else {
        panic!("every feature is on by default");
    };
    let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
    let said = format!("all but {} and `{last}` are", first.join(", "));
    assert!(
        readme.replace('\n', " ").contains(&said),
        "README.md does not say: {said}"
    );
}

/// CI runs the commands that the README promises.
#[test]
fn the_commands_are_those_of_the_checks() {
    let (readme, checks) = (readme(), read(".ci/run"));
    for command in [
        "cargo test --workspace",
        "cargo run --release --example digits",
    ] {
        assert!(readme.lines().any(|line| line == command), "{command}");
        assert!(checks.lines().any(|line| line == command), "{command}");
    }
}

/// Each program is in the table, is short, and is run by CI.
#[test]
fn examples_are_listed_short_and_run() {
    let (list, checks) = (read("examples/README.md"), read(".ci/run"));
    let mut count = 0;
    for file in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "rs") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            list.contains(&format!("[`{name}`]({name}.rs)")),
            "{name} is not listed"
        );
        let lines = read(&path).lines().count();
        assert!(lines < 150, "{name} has {lines} lines");
        // By cargo, or as the tests built it.
        let runs = [format!("--example {name}"), format!("$programs/{name}")];
        let is_run = checks.lines().any(|line| {
            let line = line.split("  #").next().unwrap();
            runs.iter().any(|run| {
                line.split_once(run)
                    .is_some_and(|(_, rest)| !rest.starts_with(char::is_alphanumeric))
            })
        });
        assert!(is_run, ".ci/run does not run {name}");
        count += 1;
    }
    assert!(count >= 14, "{count} examples");
}

/// Links to files lead to files.
#[test]
fn links_lead_to_files() {
    for document in ["README.md", "examples/README.md", "module-tensor/README.md"] {
        let text = read(document);
        let folder = root().join(document);
        let folder = folder.parent().unwrap();
        let mut count = 0;
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(
                folder.join(target).exists(),
                "{document}: {target} does not exist"
            );
            count += 1;
        }
        assert!(count > 0, "{document} has no links");
    }
}

/// A file without a `mod` line would not be compiled.
#[test]
fn every_file_of_tests_is_a_module() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut mains = vec![tests.join("derive/tests/accepted/main.rs")];
    for folder in std::fs::read_dir(tests.join("tests")).unwrap() {
        mains.push(folder.unwrap().path().join("main.rs"));
    }
    let mut files = 0;
    for main in mains {
        let text = std::fs::read_to_string(&main).unwrap();
        for file in std::fs::read_dir(main.parent().unwrap()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let named = text.lines().any(|line| line == format!("mod {name};"));
            assert!(
                name == "main" || named,
                "{} is not a module",
                path.display()
            );
            files += 1;
        }
    }
    assert!(files > 80, "{files} files");
}
