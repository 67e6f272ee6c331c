//! No private words: those in the left column of the glossary in `CONTRIBUTING.md`.

use crate::files::{File, files, none, text};

/// The head of the table.
const HEAD: &str = "| not | write |";

/// The words in the left column, in lower case. A word that ends in `-` stands for all words that begin with it.
fn refused(contributing: &str) -> Vec<String> {
    let rows = contributing
        .lines()
        .skip_while(|line| *line != HEAD)
        .skip(2);
    let cells = rows.map_while(|row| row.strip_prefix("| ")?.split(" | ").next());
    let words = cells.flat_map(|cell| cell.split(", "));
    words
        .map(|word| word.trim_matches('`').to_lowercase())
        .collect()
}

/// Whether a line in lower case has the word, not as a part of a longer one.
fn has(line: &str, word: &str) -> bool {
    let (word, is_stem) = match word.strip_suffix('-') {
        Some(stem) => (stem, true),
        None => (word, false),
    };
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphabetic)
            && (is_stem || !after.is_some_and(char::is_alphabetic))
    })
}

/// The glossary and this file name the words themselves.
fn is_checked(file: &File) -> bool {
    !["CONTRIBUTING.md", "tests/tests/tidy/vocabulary.rs"].contains(&&*file.path)
}

#[test]
fn no_private_word_is_used() {
    let words = refused(&text("CONTRIBUTING.md"));
    assert!(words.len() > 20, "{words:?}");
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| is_checked(file)) {
        // The titles of sources are quoted as they are.
        let lines = file.lines().filter(|(_, line)| !line.contains("Source: "));
        for (number, line) in lines {
            let lower = line.to_lowercase();
            for word in words.iter().filter(|word| has(&lower, word)) {
                wrong.push(format!("{}:{number}: {word}: {}", file.path, line.trim()));
            }
        }
    }
    none(&wrong, "words that CONTRIBUTING.md replaces");
}

#[test]
fn words_are_found_whole_or_by_their_stem() {
    assert!(has("the crew.", "crew") && has("crew_size", "crew"));
    assert!(!has("screw", "crew") && !has("crews", "crew"));
    assert!(has("a neighbouring cell", "neighbour-") && !has("neighbor", "neighbour-"));
    assert!(has("of one's own", "of one's own"));
}
