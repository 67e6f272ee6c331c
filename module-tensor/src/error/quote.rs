//! Untrusted text in messages: a name from a file may be very long or contain terminal control
//! characters.

use std::fmt::{self, Write};

/// The maximum number of characters of a name in a message.
const NAME: usize = 120;
/// The maximum number of characters of a longer passage, which may quote several names.
const PASSAGE: usize = 4000;

/// Quotes a key, a path or a value: at most 120 characters, with control characters escaped.
///
/// # Example
///
/// ```
/// use module_tensor::error::quote;
///
/// assert_eq!(quote("layer\n1").to_string(), "layer\\n1");
/// ```
pub fn quote(name: &str) -> Quote<'_> {
    let most = NAME;
    Quote { text: name, most }
}

/// Quotes a description of a problem, which may itself quote names: at most 4000 characters, with control characters
/// escaped.
///
/// # Example
///
/// ```
/// use module_tensor::error::passage;
///
/// assert_eq!(passage("no key `a`").to_string(), "no key `a`");
/// ```
pub fn passage(text: &str) -> Quote<'_> {
    let most = PASSAGE;
    Quote { text, most }
}

/// Quotes all of a text, with control characters escaped.
///
/// # Example
///
/// ```
/// use module_tensor::error::escape;
///
/// assert_eq!(escape("tab\there").to_string(), "tab\\there");
/// ```
pub fn escape(text: &str) -> Quote<'_> {
    let most = usize::MAX;
    Quote { text, most }
}

/// Untrusted text whose `Display` escapes control characters and truncates long text.
///
/// # Example
///
/// ```
/// use module_tensor::error::{Quote, quote};
///
/// let name = "x".repeat(1000);
/// let quoted: Quote<'_> = quote(&name);
/// assert!(quoted.to_string().len() < 130, "{quoted}");
/// ```
pub struct Quote<'a> {
    text: &'a str,
    most: usize,
}

impl fmt::Display for Quote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.text.chars();
        for c in rest.by_ref().take(self.most) {
            match is_hidden(c) {
                true => write!(f, "{}", c.escape_default())?,
                false => f.write_char(c)?,
            }
        }
        match rest.next() {
            Some(_) => f.write_char('…'),
            None => Ok(()),
        }
    }
}

/// Whether a character moves the cursor, changes colors or changes the direction of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_long_text_is_truncated() {
        assert_eq!(quote("layer1.weight").to_string(), "layer1.weight");
        assert_eq!(quote("größe.重み").to_string(), "größe.重み");
        let control = quote("a\u{1b}[31m\n\r\u{0}\u{9b}\u{202e}b").to_string();
        assert_eq!(control, r"a\u{1b}[31m\n\r\u{0}\u{9b}\u{202e}b");
        let exact = "ä".repeat(NAME);
        assert_eq!(quote(&exact).to_string(), exact);
        assert_eq!(quote(&format!("{exact}x")).to_string(), format!("{exact}…"));
        let long = "x".repeat(1 << 20);
        assert_eq!(passage(&long).to_string().chars().count(), PASSAGE + 1);
        let path = format!("/data/\n{long}");
        assert_eq!(escape(&path).to_string(), format!("/data/\\n{long}"));
    }
}
