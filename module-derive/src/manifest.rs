//! Reads a `Cargo.toml`, as far as it takes to find what a crate depends on.

/// A value that is not a table, with its keys from the root. Strings are unquoted; everything else is as written.
pub(crate) type Value = (Vec<String>, String);

/// All values of a manifest in order, with the elements of an array each under the array's keys. A table can be written in
/// several ways (header, dotted keys, braces), which all give the same result.
///
/// Cargo has already read the manifest, so mistakes are not reported: everything before one is returned.
pub(crate) fn values(text: &str) -> Vec<Value> {
    let rest = text.trim_start_matches('\u{feff}');
    let values = Vec::new();
    let mut reader = Reader { rest, values };
    let _ = reader.document();
    reader.values
}

struct Reader<'a> {
    rest: &'a str,
    values: Vec<Value>,
}

impl Reader<'_> {
    fn document(&mut self) -> Option<()> {
        let mut table = Vec::new();
        loop {
            self.skip();
            if self.rest.is_empty() {
                return Some(());
            }
            if self.take("[") {
                // An element of an array of tables has two brackets.
                let closing = if self.take("[") { "]]" } else { "]" };
                table = self.keys()?;
                self.require(closing)?;
            } else {
                self.entry(&table)?;
            }
        }
    }

    /// `key = value` in a table.
    fn entry(&mut self, table: &[String]) -> Option<()> {
        let keys = [table, &self.keys()?].concat();
        self.require("=")?;
        self.value(&keys)
    }

    fn value(&mut self, keys: &[String]) -> Option<()> {
        self.skip();
        if self.take("{") {
            return self.list("}", |reader| reader.entry(keys));
        }
        if self.take("[") {
            return self.list("]", |reader| reader.value(keys));
        }
        let value = match self.rest.starts_with(['"', '\'']) {
            true => self.text()?,
            false => self.until(|c| matches!(c, ',' | ']' | '}' | '#' | '\n'))?,
        };
        self.values.push((keys.to_vec(), value));
        Some(())
    }

    /// The values between commas, up to the end.
    fn list(&mut self, end: &str, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        loop {
            self.skip();
            if self.take(end) {
                return Some(());
            }
            each(self)?;
            self.skip();
            self.take(",");
        }
    }

    /// Dotted keys.
    fn keys(&mut self) -> Option<Vec<String>> {
        let mut keys = Vec::new();
        loop {
            self.skip();
            let key = match self.rest.starts_with(['"', '\'']) {
                true => self.text()?,
                false => self.until(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-')))?,
            };
            keys.push(key);
            self.skip();
            if !self.take(".") {
                return Some(keys);
            }
        }
    }

    /// A string on one line, or on several with triple quotes.
    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let several = quote.to_string().repeat(3);
        let mark = match self.rest.starts_with(&several) {
            true => &several,
            false => &several[..1],
        };
        self.take(mark);
        if mark.len() == 3 {
            // The newline after the opening quotes is not part of the string.
            self.rest = self.rest.trim_start_matches('\r');
            self.take("\n");
        }
        let mut text = String::new();
        while !self.take(mark) {
            match self.next()? {
                '\\' if quote == '"' => self.escape(&mut text)?,
                c => text.push(c),
            }
        }
        // If more than three quotes follow, the last three end the string.
        while mark.len() == 3 && self.take(&several[..1]) {
            text.push(quote);
        }
        Some(text)
    }

    /// An escape sequence.
    fn escape(&mut self, text: &mut String) -> Option<()> {
        match self.next()? {
            'x' => text.push(self.character(2)?),
            'u' => text.push(self.character(4)?),
            'U' => text.push(self.character(8)?),
            'n' => text.push('\n'),
            't' => text.push('\t'),
            // A newline, with the indentation of the next line.
            c if c.is_whitespace() => self.rest = self.rest.trim_start(),
            c => text.push(c),
        }
        Some(())
    }

    /// A character given by this many hexadecimal digits.
    fn character(&mut self, digits: usize) -> Option<char> {
        let (number, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        char::from_u32(u32::from_str_radix(number, 16).ok()?)
    }

    /// Skips whitespace, newlines and comments.
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
        while let Some(comment) = self.rest.strip_prefix('#') {
            let (_, rest) = comment.split_once('\n').unwrap_or_default();
            self.rest = rest.trim_start();
        }
    }

    /// The text before the first character that `end` accepts; `None` if it is empty.
    fn until(&mut self, end: impl Fn(char) -> bool) -> Option<String> {
        let place = self.rest.find(end).unwrap_or(self.rest.len());
        let (before, rest) = self.rest.split_at(place);
        self.rest = rest;
        (place > 0).then(|| before.trim().to_owned())
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Whether these characters come next; if so, they are consumed.
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn require(&mut self, text: &str) -> Option<()> {
        self.skip();
        self.take(text).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values as `key.key: value`.
    fn read(text: &str) -> Vec<String> {
        let values = values(text).into_iter();
        values
            .map(|(keys, value)| format!("{}: {value}", keys.join(".")))
            .collect()
    }

    #[test]
    fn a_table_reads_the_same_however_it_is_told() {
        let expected = ["a.b.package: x", "a.b.version: 1"];
        for text in [
            "[a.b]\npackage = \"x\"\nversion = '1'",
            "[a]\nb = { package = \"x\", version = '1' }",
            "[a]\nb = { # where\n package = \"x\",\n version = '1', # which\n}\n",
            "[a]\nb.package = \"x\"\nb.version = \"1\"",
            "a.b = {package=\"x\",version=\"1\"}",
            "a = { b = { package = \"x\", version = \"1\" } }",
            "\u{feff}[ a . \"b\" ]\r\n'package' = \"x\"\r\n\"version\" = \"1\"\r\n",
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn strings_may_look_like_other_syntax() {
        let text = r####"
a = "# no \" comment" # but this
b = """
[dependencies]
c = "\
    d\u0041\x42\n\t\\"""" # five quotes
e = '''f = "g\'''
h = 'C:\x'
i = ""
"####;
        let expected = [
            "a: # no \" comment",
            "b: [dependencies]\nc = \"dAB\n\t\\\"",
            "e: f = \"g\\",
            "h: C:\\x",
            "i: ",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn lists_and_plain_values_are_passed() {
        let text = "
a = [ # several
  \"x]\", 'y', # of them
  [1, 2], { b = 3 },
]
[[bin]]
name = \"c\"
[d]
e = true#f
g = 1979-05-27 07:32:00
h = {}
i = []
";
        let expected = [
            "a: x]",
            "a: y",
            "a: 1",
            "a: 2",
            "a.b: 3",
            "bin.name: c",
            "d.e: true",
            "d.g: 1979-05-27 07:32:00",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn what_is_no_manifest_ends_the_reading() {
        for text in [
            "a = 1\nb",
            "a = 1\nb = \"",
            "a = 1\n[b",
            "a = 1\n= 2",
            "a = 1\nb = \"\\u12\"",
        ] {
            assert_eq!(read(text)[0], "a: 1", "{text}");
        }
        // Hostile text is only guaranteed to terminate.
        for text in [
            "[",
            "[[",
            "{",
            "=",
            "a = [}",
            "a = {]",
            "\"\"\"",
            "'''",
            "a = {",
            "a = [",
            "a = [=",
            "a = {\u{e9}",
            ".",
        ] {
            assert!(read(text).len() < 2, "{text}");
        }
    }
}
