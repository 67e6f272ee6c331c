//! How long the files of models are beside the classes that they stand for.

use std::path::Path;

use crate::compare::directory;

/// Files that are to stay within the share of the original that `README.md` promises.
const SHORT: [&str; 9] = [
    "bert",
    "clip",
    "convnext",
    "ddpm",
    "gpt2",
    "llama",
    "t5",
    "vision_transformer",
    "whisper",
];

/// Lines of code of a file and of those in the folder of its name, without empty ones and comments.
fn count(name: &str) -> u64 {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut text = std::fs::read_to_string(models.join(format!("{name}.rs"))).unwrap();
    for file in std::fs::read_dir(models.join(name)).into_iter().flatten() {
        text.push_str(&std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count() as u64
}

#[test]
fn readme_says_how_long_models_are() {
    let text = std::fs::read(directory("lines.json")).unwrap();
    let originals: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    for (name, original) in originals.as_object().unwrap() {
        let (library, lines) = (&original["library"], original["lines"].as_u64().unwrap());
        let own = count(name);
        let library = library.as_str().unwrap();
        let row =
            format!("| [`{name}`](examples/models/{name}.rs) | {library} | {own} | {lines} |");
        assert!(readme.contains(&row), "README.md lacks: {row}");
        if SHORT.contains(&name.as_str()) {
            assert!(
                10 * own <= 6 * lines,
                "{name} has {own} lines, the original {lines}"
            );
        }
    }
}
