//! How long the files of models are beside the classes that they stand for, as `tests/golden/models_lines.py` counts those.

use std::path::Path;

use crate::compare::directory;

/// The files that are at most 60 % as long as the original, which `examples/README.md` promises.
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

/// The lines of code of a file and of those in the directory with its name, without empty lines, comments and imports,
/// which are not counted in the originals either.
fn count(name: &str) -> u64 {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let mut text = std::fs::read_to_string(models.join(format!("{name}.rs"))).unwrap();
    for file in std::fs::read_dir(models.join(name)).into_iter().flatten() {
        text.push_str(&std::fs::read_to_string(file.unwrap().path()).unwrap());
    }
    let (mut lines, mut imports) = (0, false);
    for line in text.lines() {
        imports |= ["use ", "pub use ", "mod "]
            .iter()
            .any(|start| line.starts_with(start));
        if !line.trim().is_empty() && !line.trim().starts_with("//") && !imports {
            lines += 1;
        }
        imports &= !line.ends_with(';');
    }
    lines
}

#[test]
fn readme_says_how_long_models_are() {
    let text = std::fs::read(directory("lines.json")).unwrap();
    let originals: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    for (name, original) in originals.as_object().unwrap() {
        let (library, lines) = (&original["library"], original["lines"].as_u64().unwrap());
        let own = count(name);
        let library = library.as_str().unwrap();
        let share = (100 * own + lines / 2) / lines;
        let row =
            format!("| [`{name}`](models/{name}.rs) | {library} | {own} | {lines} | {share} % |");
        assert!(readme.contains(&row), "examples/README.md lacks: {row}");
        if SHORT.contains(&name.as_str()) {
            assert!(
                10 * own <= 6 * lines,
                "{name} has {own} lines, the original {lines}"
            );
        }
    }
    for name in ["initialize", "pretrained", "timm", "transformers"] {
        let said = format!("[`{name}`](models/{name}.rs) ({} lines)", count(name));
        assert!(readme.contains(&said), "examples/README.md lacks: {said}");
    }
}
