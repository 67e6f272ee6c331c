//! Regular expressions whose replacement can be undone by another replacement.

use regex_lite::Regex;

/// A piece of a pattern or of a replacement.
enum Piece {
    Text(String),
    /// A group: its number, its name, its content.
    Group(usize, Option<String>, String),
}

/// The pattern and the replacement that undo a rule, if the pattern consists of plain text and groups that each occur once
/// in the replacement.
pub(super) fn invert(pattern: &str, replacement: &str) -> Option<(Regex, String)> {
    let (start, pattern) = match pattern.strip_prefix('^') {
        Some(rest) => ("^", rest),
        None => ("", pattern),
    };
    let (end, pattern) = match pattern.strip_suffix('$') {
        Some(rest) if !rest.ends_with('\\') => ("$", rest),
        _ => ("", pattern),
    };
    let pieces = pieces_of_pattern(pattern)?;
    let order = order_of_groups(replacement)?;
    // The pattern of the inverse is the replacement, with each group's original content.
    let mut back = start.to_owned();
    let mut number_there = vec![None; pieces.len()];
    let mut groups = 0;
    for piece in order {
        match piece {
            Ok(text) => back.push_str(&regex_lite::escape(&text)),
            Err(name) => {
                let is_it = |piece: &Piece| match piece {
                    Piece::Text(_) => false,
                    Piece::Group(number, own, _) => {
                        own.as_ref() == Some(&name) || number.to_string() == name
                    }
                };
                let place = pieces.iter().position(is_it)?;
                let Piece::Group(_, _, source) = pieces.get(place)? else {
                    return None;
                };
                groups += 1;
                if number_there.get_mut(place)?.replace(groups).is_some() {
                    return None;
                }
                back.push_str(&format!("({source})"));
            }
        }
    }
    back.push_str(end);
    let mut text = String::new();
    for (piece, number) in pieces.iter().zip(number_there) {
        match (piece, number) {
            (Piece::Text(own), _) => text.push_str(&own.replace('$', "$$")),
            (Piece::Group(..), Some(number)) => text.push_str(&format!("${{{number}}}")),
            (Piece::Group(..), None) => return None,
        }
    }
    // An empty pattern matches everywhere.
    if back.is_empty() {
        return None;
    }
    Some((Regex::new(&back).ok()?, text))
}

/// Only plain text and non-nested groups.
fn pieces_of_pattern(pattern: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = pattern.chars();
    let mut groups = 0;
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => text.push(rest.next().filter(char::is_ascii_punctuation)?),
            '(' => {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                groups += 1;
                let (name, source) = group(&mut rest)?;
                pieces.push(Piece::Group(groups, name, source));
            }
            '.' | '*' | '+' | '?' | '[' | ']' | '{' | '}' | '|' | ')' | '^' | '$' => return None,
            letter => text.push(letter),
        }
    }
    pieces.push(Piece::Text(text));
    Some(pieces)
}

/// The name and the content of a group, up to the closing parenthesis.
fn group(rest: &mut std::str::Chars<'_>) -> Option<(Option<String>, String)> {
    let mut source = String::new();
    let mut in_class = false;
    loop {
        match rest.next()? {
            '\\' => {
                source.push('\\');
                source.push(rest.next()?);
            }
            '(' if !in_class => return None,
            ')' if !in_class => break,
            letter => {
                in_class = (in_class || letter == '[') && letter != ']';
                source.push(letter);
            }
        }
    }
    let Some(named) = source.strip_prefix('?') else {
        return Some((None, source));
    };
    let named = named.strip_prefix('P').unwrap_or(named);
    let (name, inside) = named.strip_prefix('<')?.split_once('>')?;
    Some((Some(name.to_owned()), inside.to_owned()))
}

/// The text of a replacement (`Ok`) and the names of its groups (`Err`) in their order.
fn order_of_groups(replacement: &str) -> Option<Vec<Result<String, String>>> {
    let mut order = Vec::new();
    let mut rest = replacement;
    while let Some((text, after)) = rest.split_once('$') {
        order.push(Ok(text.to_owned()));
        if let Some(after) = after.strip_prefix('$') {
            order.push(Ok("$".to_owned()));
            rest = after;
        } else if let Some(braced) = after.strip_prefix('{') {
            let (name, after) = braced.split_once('}')?;
            order.push(Err(name.to_owned()));
            rest = after;
        } else {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            order.push(Err(name.to_owned()));
            rest = after;
        }
    }
    order.push(Ok(rest.to_owned()));
    Some(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, replacement: &str, pairs: &[(&str, &str)]) {
        let (back, text) = invert(pattern, replacement).expect("an inverse");
        let forth = Regex::new(pattern).expect("a pattern");
        for (foreign, own) in pairs {
            assert_eq!(forth.replace_all(foreign, replacement), *own);
            assert_eq!(back.replace_all(own, text.as_str()), *foreign);
        }
    }

    #[test]
    fn text_and_groups_are_undone() {
        check(
            r"^blocks\.(\d+)\.inner\.",
            "encoder.$1.",
            &[("blocks.12.inner.w", "encoder.12.w")],
        );
        check(
            r"\.layer_(?P<n>[(0-9)]+)\.(q|k|v)$",
            "$$.${2}x.$n",
            &[("a.layer_3.k", "a$.kx.3")],
        );
        check("^model\\.", "", &[("model.a", "a")]);
        check("gamma", "weight", &[("norm.gamma", "norm.weight")]);
    }

    #[test]
    fn what_loses_something_has_no_inverse() {
        let lossy = [
            ("a", ""),
            ("a.b", "c"),
            (r"(\d)(\d)", "$1"),
            (r"(\d)", "$1$1"),
            (r"(\d)+", "$1"),
            (r"((a)b)", "$1"),
            (r"(?:a)", "b"),
            (r"\d", "n"),
            ("a|b", "c"),
            ("(a)", "$2"),
            ("(a)", "${1"),
            ("a^", "c"),
        ];
        for (pattern, replacement) in lossy {
            assert!(invert(pattern, replacement).is_none(), "{pattern}");
        }
    }
}
