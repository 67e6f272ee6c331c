//! "Did you mean": the nearest of the existing names.

/// The name among `candidates` that `name` is most likely a typo of: at most a third of its letters may be wrong, and never
/// all of them.
pub(crate) fn suggest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    /// Longer names are not compared: the time grows with both lengths, and a crafted file may hold names of any length.
    /// hold names of any.
    const LONG: usize = 256;
    let length = name.chars().count();
    if length > LONG {
        return None;
    }
    let limit = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 4 * LONG)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, _)| distance <= limit && distance < length)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// The number of letters to insert, remove, replace or swap with their neighbor.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // The rows for the current and the previous letter of `a`; no swap ends at the first letter.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut before: Option<(char, Vec<usize>)> = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(x != y);
            let mut best = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if let Some((last, earlier)) = &before
                && j > 0
                && (*last, x) == (y, b[j - 1])
            {
                best = best.min(earlier[j - 1] + 1);
            }
            next.push(best);
        }
        before = Some((x, std::mem::replace(&mut row, next)));
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_a_stranger_none() {
        let names = ["head.weight", "head.bias", "stem.0.weight"];
        assert_eq!(
            suggest("head.wieght", names).as_deref(),
            Some("head.weight")
        );
        assert_eq!(suggest("hed.bias", names).as_deref(), Some("head.bias"));
        assert_eq!(suggest("optimizer", names), None);
        assert_eq!(suggest("", names), None);
        assert_eq!(suggest("", ["a"]), None);
        assert_eq!(suggest("c", ["a", "b"]), None);
        assert_eq!(suggest("c", ["fc"]), None);
        assert_eq!(suggest("fc", ["fc1"]).as_deref(), Some("fc1"));
        // At once.
        let long = "k".repeat(1 << 20);
        assert_eq!(suggest(&long, [&long[1..], "k"]), None);
        assert_eq!(suggest("k", [long.as_str()]), None);
    }
}
