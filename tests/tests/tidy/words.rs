//! Rust code as tokens, and where its parts end.

/// Words, punctuation characters and `::`, without comments.
pub(crate) fn words(text: &str) -> Vec<String> {
    numbered_words(text).0
}

/// [`words`], and the line of each of them.
pub(crate) fn numbered_words(text: &str) -> (Vec<String>, Vec<usize>) {
    let text: Vec<char> = text.chars().collect();
    let at = |i: usize| text.get(i).copied().unwrap_or(' ');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut words, mut lines) = (Vec::new(), Vec::new());
    let (mut i, mut line) = (0, 1);
    while i < text.len() {
        let start = i;
        match (at(i), at(i + 1)) {
            ('/', '/') => {
                while i < text.len() && at(i) != '\n' {
                    i += 1;
                }
                continue;
            }
            ('r', '"' | '#') if raw_string(&text[i..]).is_some() => {
                i += raw_string(&text[i..]).unwrap_or(1);
            }
            ('"', _) => {
                i += 1;
                while i < text.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                i += 1;
            }
            // A lifetime has no second quote after its first letter.
            ('\'', '\\') => i += 3 + text[i + 3..].iter().take_while(|&&c| c != '\'').count() + 1,
            ('\'', _) if at(i + 2) == '\'' => i += 3,
            (':', ':') => i += 2,
            (c, _) if is_word(c) => {
                while is_word(at(i)) {
                    i += 1;
                }
            }
            _ => i += 1,
        }
        let word: String = text[start..i.min(text.len())].iter().collect();
        let starts_at = line;
        line += word.matches('\n').count();
        if !word.trim().is_empty() {
            words.push(word);
            lines.push(starts_at);
        }
    }
    (words, lines)
}

/// The length of a raw string, if one starts here.
fn raw_string(text: &[char]) -> Option<usize> {
    let hashes = text[1..].iter().take_while(|&&c| c == '#').count();
    let inside = text
        .get(hashes + 1..)
        .filter(|rest| rest.first() == Some(&'"'))?;
    let end: Vec<char> = ['"'].into_iter().chain(vec!['#'; hashes]).collect();
    let length = inside[1..].windows(end.len()).position(|w| *w == *end)?;
    Some(hashes + 2 + length + end.len())
}

/// The end of a path that starts at a word: one past its last word.
pub(crate) fn path_end(code: &[String], start: usize) -> usize {
    let mut end = start + 1;
    let is_word = |w: &String| w.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    while is_word(&code[start])
        && code.get(end).is_some_and(|w| w == "::")
        && code.get(end + 1).is_some_and(is_word)
    {
        end += 2;
    }
    end
}

/// The index of the bracket that closes the one at `open`.
pub(crate) fn closing(code: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (i, word) in code.iter().enumerate().skip(open) {
        match &**word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
    }
    code.len()
}

/// The length of the first of several comma-separated items.
pub(crate) fn list_item(code: &[String]) -> usize {
    let mut i = 0;
    while i < code.len() && code[i] != "," {
        i = if code[i] == "{" { closing(code, i) } else { i };
        i += 1;
    }
    i.min(code.len())
}

/// One past an item of a module: its attributes, and everything up to its `;` or the end of its braces.
pub(crate) fn item_end(code: &[String], start: usize) -> usize {
    let mut i = start;
    let mut head = code[start..].iter().take_while(|w| *w != "{");
    let is_import = head.any(|w| w == "use");
    while i < code.len() {
        match &*code[i] {
            ";" => return i + 1,
            "{" if !is_import => return closing(code, i) + 1,
            "{" | "(" | "[" => i = closing(code, i) + 1,
            _ => i += 1,
        }
    }
    i
}
