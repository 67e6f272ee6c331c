//! Code that the charts share.

/// The font and the colors of a page, light or dark.
pub(super) const STYLE: &str = "\
.page{fill:#fff}.grid{stroke:#e5e7eb}.frame{fill:none;stroke:#9ca3af}\
text{font-family:Inter,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px;fill:#1f2937}\
.title{font-size:14px;font-weight:600}.curve{fill:none;stroke-width:1.8;stroke-linejoin:round}\
@media (prefers-color-scheme:dark){.page{fill:#111827}.grid{stroke:#374151}.frame{stroke:#6b7280}\
text{fill:#e5e7eb}}";

/// The approximate average width of a letter.
pub(super) const LETTER: f64 = 7.0;

/// The width of a text.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// The beginning of a drawing, including its background.
pub(super) fn begin(width: f64, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n"
    )
}

/// Text escaped for XML.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Characters that XML does not allow.
            letter if letter.is_control() && letter != '\n' => escaped.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}
