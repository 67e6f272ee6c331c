//! Numbers as text, in the units that fit.

use std::time::Duration;

/// A number in millions, billions or trillions, as torchinfo writes it.
pub(super) fn scale(number: u64) -> (&'static str, String) {
    let (unit, by) = match number {
        1_000_000_000_000.. => ("T", 1e12),
        1_000_000_000.. => ("G", 1e9),
        _ => ("M", 1e6),
    };
    let scaled = number as f64 / by;
    let text = match scaled.fract() == 0.0 {
        true => format!("{scaled:.0}"),
        false => format!("{scaled:.2}"),
    };
    (unit, text)
}

pub(super) fn time(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// `12,345`
pub(super) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, in the largest unit in which it is at least 1.
pub(super) fn bytes(bytes: usize) -> String {
    let bytes = bytes as f64;
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.2} {name}", bytes / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_are_printed_in_the_unit_that_fits() {
        let texts = [0, 92, 999, 1000, 1_234_567, 46_800_000, 2_500_000_000].map(bytes);
        let expected = [
            "0 bytes",
            "92 bytes",
            "999 bytes",
            "1.00 kB",
            "1.23 MB",
            "46.80 MB",
            "2.50 GB",
        ];
        assert_eq!(texts, expected);
    }
}
