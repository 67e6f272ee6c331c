//! File names never escape from the directory.

use super::super::directory::{check_name, is_device};
use super::Scratch;
use crate::TrainingCheckpoint;

/// Strings that cannot be file names, and therefore cannot be names of parts.
const HOSTILE: [&str; 32] = [
    "",
    ".",
    "..",
    "...",
    "/",
    "\\",
    "../evil",
    "../../evil",
    "..\\evil",
    "/evil",
    "//server/evil",
    "\\\\server\\evil",
    "C:\\evil",
    "C:evil",
    "a/b",
    "a\\b",
    "./a",
    "a/",
    "a/..",
    "a\0",
    "a\nb",
    "\u{1b}[2J",
    "\u{85}",
    "a:stream",
    "con",
    "NUL",
    "aux.safetensors",
    "COM1.safetensors",
    "lpt9",
    "a.",
    "a ",
    "prn .x",
];

#[test]
fn no_name_of_a_file_leads_elsewhere() {
    for name in HOSTILE {
        let problem = check_name(name).unwrap_err();
        assert!(!problem.contains(char::is_control), "{problem}");
    }
    for name in [
        "model-00001-of-00002.safetensors",
        "model.safetensors",
        "pytorch_model.bin",
        ".hidden",
        "a b",
        "größe.bin",
        "..a",
        "console.bin",
        "com.bin",
        "com10",
        "c",
    ] {
        check_name(name).unwrap();
        assert!(!is_device(name), "{name}");
    }
    let long = check_name(&format!("{}/", "x".repeat(1 << 20))).unwrap_err();
    assert!(long.len() < 300, "{}", long.len());
}

/// The text of an index with one part.
fn index(name: &str, file: &str) -> String {
    let text = |text: &str| serde_json::to_string(text).unwrap();
    format!(
        r#"{{"version": 1, "epoch": 0, "step": 0, "parts": {{{}: {{"file": {}, "values": {{}}}}}}}}"#,
        text(name),
        text(file)
    )
}

#[test]
fn pitfall_61_a_part_is_a_name_on_loading_and_on_saving() {
    let scratch = Scratch::new("parts-names");
    let directory = scratch.file("checkpoint");
    let sound = TrainingCheckpoint::new(0, 0).with("model", &crate::Generator::new(0));
    sound.unwrap().save(&directory).unwrap();
    let place = directory.join("checkpoint.json");
    let load = |text: &str| {
        std::fs::write(&place, text).unwrap();
        TrainingCheckpoint::load(&directory)
    };
    load(&index("model", "model.0.safetensors")).unwrap();
    let outside = scratch.file("evil");
    let outside = outside.to_str().unwrap();
    // Including file names that are not names of parts.
    let names = HOSTILE
        .into_iter()
        .chain([outside, "a.b", "é", "a b", ".hidden"]);
    for name in names {
        let message = load(&index(name, "model.0.safetensors"))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("not a valid training checkpoint file: part `"),
            "{message}"
        );
        let part = crate::Generator::new(0);
        let with = TrainingCheckpoint::new(0, 0).with(name, &part);
        assert!(with.is_err(), "{name}");
        // If one got in anyway, it is not written.
        let mut forged = TrainingCheckpoint::new(0, 0);
        forged.parts.insert(name.to_owned(), Default::default());
        let message = forged.save(scratch.file("forged")).unwrap_err().to_string();
        assert!(message.starts_with("save: name = "), "{message}");
    }
    for file in HOSTILE.into_iter().chain([outside]) {
        let message = load(&index("model", file)).unwrap_err().to_string();
        assert!(message.contains("is not the name of a file"), "{message}");
    }
    // In some directories, names that differ only in case are the same.
    let two = index("model", "model.0.safetensors");
    let again = r#""MODEL": {"file": "model.0.safetensors", "values": {}}, "model""#;
    let message = load(&two.replace("\"model\"", again))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("part `model`: this name is taken"),
        "{message}"
    );
    assert_eq!(scratch.names(), ["checkpoint"]);
}

#[test]
fn a_wrong_name_lists_those_that_there_are() {
    let part = crate::Generator::new(0);
    let mut checkpoint = TrainingCheckpoint::new(0, 0);
    let restore = |checkpoint: &TrainingCheckpoint, name| {
        let restored = checkpoint.restore(name, &mut crate::Generator::new(0));
        restored.unwrap_err().to_string()
    };
    assert_eq!(
        restore(&checkpoint, "model"),
        "restore: name = model: the checkpoint is empty"
    );
    for name in ["model", "optimizer"] {
        checkpoint = checkpoint.with(name, &part).unwrap();
    }
    assert_eq!(
        restore(&checkpoint, "optimzer"),
        "restore: name = optimzer: the checkpoint has `model`, `optimizer`; did you mean `optimizer`?"
    );
    for i in 0..30 {
        checkpoint = checkpoint.with(&format!("p{i}"), &part).unwrap();
    }
    let message = restore(&checkpoint, "q");
    assert!(message.ends_with("`p13` and 16 more"), "{message}");
}
