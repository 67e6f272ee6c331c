//! The tokens of a source file, and what stands at a place in them.

use crate::words::{closing, item_end};

/// What an item is, as far as examples use it in their own ways.
pub(crate) enum Kind {
    /// A struct, an enum, a trait or an alias.
    Type,
    Function,
    Macro,
    Method {
        owner: String,
    },
    TraitMethod {
        owner: String,
    },
}

/// A public item, and where it is.
pub(crate) struct Item {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// The words of a function before its body.
    pub(crate) signature: Vec<String>,
}

impl Item {
    pub(crate) fn full_name(&self) -> String {
        match &self.kind {
            Kind::Method { owner } | Kind::TraitMethod { owner } if owner != WRITTEN => {
                format!("{owner}::{}", self.name)
            }
            _ => self.name.clone(),
        }
    }
}

/// Stands for a type whose name is an argument of a macro.
pub(crate) const WRITTEN: &str = "$";

/// The type of an `impl` block of its own methods, from the words between `impl` and `{`.
pub(crate) fn owner_of(words: &[String]) -> Option<String> {
    let (mut depth, mut name) = (0_i32, None);
    for (i, word) in words.iter().enumerate() {
        match &**word {
            "<" => depth += 1,
            ">" if i == 0 || words[i - 1] != "-" => depth -= 1,
            "for" if depth == 0 => return None,
            "where" if depth == 0 => break,
            "$" if depth == 0 => return Some(WRITTEN.to_owned()),
            word if depth == 0 && word != "::" => name = Some(word.to_owned()),
            _ => {}
        }
    }
    name
}

/// The names that an import brings in, without the paths before them.
pub(crate) fn names_of_import(words: &[String]) -> impl Iterator<Item = String> {
    let last = |two: &&[String]| [",", ";", "}"].contains(&&*two[1]);
    words.windows(2).filter(last).map(|two| two[0].clone())
}

/// A file of the crate.
pub(crate) struct Source<'f> {
    pub(crate) path: &'f str,
    pub(crate) words: &'f [String],
    pub(crate) lines: &'f [usize],
}

impl Source<'_> {
    pub(crate) fn word(&self, i: usize) -> &str {
        self.words.get(i).map_or("", String::as_str)
    }

    /// The index of a word at `start` or after it.
    pub(crate) fn find(&self, start: usize, word: &str) -> usize {
        let found = (start..self.words.len()).find(|&n| self.word(n) == word);
        found.unwrap_or(self.words.len())
    }

    /// The item whose keyword is at `i`.
    pub(crate) fn item(&self, i: usize, kind: Kind) -> Item {
        let mut end = i;
        while self.word(i) == "fn" && !["{", ";", ""].contains(&self.word(end)) {
            end = match self.word(end) {
                "(" | "[" => closing(self.words, end),
                _ => end,
            } + 1;
        }
        let name = i + 1 + usize::from(self.word(i + 1) == "!");
        Item {
            path: self.path.to_owned(),
            line: self.lines[i],
            name: self.word(name).to_owned(),
            kind,
            signature: self.words[i..end].to_vec(),
        }
    }

    /// The functions of a trait, or of a macro that writes some of them, without those that are hidden.
    pub(crate) fn functions(&self, start: usize, end: usize, owner: &str) -> Vec<Item> {
        let (mut i, mut is_hidden, mut items) = (start, false, Vec::new());
        while i < end {
            match self.word(i) {
                "#" if self.word(i + 1) == "[" => {
                    let close = closing(self.words, i + 1);
                    is_hidden |= self.words[i..close].iter().any(|word| word == "hidden");
                    i = close + 1;
                }
                "fn" => {
                    if !is_hidden && self.word(i + 1) != "$" {
                        let owner = owner.to_owned();
                        items.push(self.item(i, Kind::TraitMethod { owner }));
                    }
                    is_hidden = false;
                    i = item_end(self.words, i);
                }
                _ => i += 1,
            }
        }
        items
    }

    /// The comma that ends an entry of a table.
    pub(crate) fn entry_end(&self, start: usize, end: usize) -> usize {
        let (mut i, mut angles) = (start, 0_i32);
        while i < end {
            match self.word(i) {
                "," if angles <= 0 => return i,
                "<" => angles += 1,
                ">" if self.word(i - 1) != "-" => angles -= 1,
                "(" | "[" | "{" => i = closing(self.words, i),
                _ => {}
            }
            i += 1;
        }
        end
    }
}
