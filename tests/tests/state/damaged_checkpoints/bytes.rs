//! Golden files that are truncated or have flipped bits.

use module_core::StateDict;
use module_tests::golden;

use super::Attempt;

fn golden_file(name: &str) -> Vec<u8> {
    let folders = ["checkpoints", "checkpoint_objects"];
    let mut paths = folders.iter().map(|folder| golden::path(folder).join(name));
    std::fs::read(paths.find(|path| path.is_file()).unwrap()).unwrap()
}

/// Every prefix of a file is refused as truncated.
fn cut(name: &str) {
    let (bytes, mut attempt) = (golden_file(name), Attempt::new(&format!("cut-{name}")));
    for length in 0..bytes.len() {
        let message = attempt.refuse(&format!("{name}, {length} bytes"), &bytes[..length]);
        assert!(
            message.contains("(truncated?)"),
            "the first {length} bytes of {name} are refused without the words `(truncated?)`: {message}"
        );
    }
    assert!(attempt.files >= 200);
}

/// Two states with the same keys, shapes, dtypes and elements.
fn equal(a: &StateDict, b: &StateDict) -> bool {
    let elements = |t: &module_core::Tensor| t.to_host().unwrap().to_le_bytes();
    let same = a.iter().zip(b.iter()).all(|((one, x), (other, y))| {
        one == other
            && x.shape() == y.shape()
            && x.dtype() == y.dtype()
            && elements(x) == elements(y)
    });
    same && a.len() == b.len()
}

/// Flips every `step`-th bit of a file, with an odd step so that all eight bits of bytes are covered. `checked` formats
/// have checksums: what loads is the same state, except for its keys, which zip archives do not protect.
fn flip(name: &str, step: usize, checked: bool) {
    flip_at(name, None, step, checked);
}

/// The same for the value at an entry.
fn flip_at(name: &str, entry: Option<&str>, step: usize, checked: bool) {
    let (mut bytes, mut attempt) = (golden_file(name), Attempt::new(&format!("flip-{name}")));
    attempt.expanded = name.starts_with("views");
    let whole = attempt.load(name, &bytes, entry).unwrap();
    for bit in (0..8 * bytes.len()).step_by(step) {
        let (place, mask) = (bit / 8, 1 << (bit % 8));
        bytes[place] ^= mask;
        let what = format!("{name}, bit {bit}");
        if let Ok(state) = attempt.load(&what, &bytes, entry)
            && checked
            && state.keys().eq(whole.keys())
        {
            assert!(equal(&state, &whole), "{what}");
        }
        bytes[place] ^= mask;
    }
    assert!(attempt.refused >= 200, "only {} refused", attempt.refused);
}

#[test]
fn cut_zips_are_refused() {
    cut("net.pt");
    cut("views.protocol4.pt");
}

#[test]
fn cut_legacy_files_are_refused() {
    cut("net.legacy.pt");
    cut("views.protocol5.legacy.pt");
    cut("lazy.legacy.pt");
}

#[test]
fn cut_arrays_are_refused() {
    cut("plain.npz");
    cut("compressed.npz");
}

#[test]
fn flipped_bits_of_zips_do_no_harm() {
    flip("ordered.pt", 1, false);
    flip("net.pt", 11, false);
    flip("objects.protocol4.pt", 7, false);
}

#[test]
fn flipped_bits_of_legacy_files_do_no_harm() {
    flip("ordered.legacy.pt", 1, false);
    flip("net.legacy.pt", 3, false);
    flip("views.protocol5.legacy.pt", 3, false);
}

#[test]
fn flipped_bits_of_objects_do_no_harm() {
    flip("lazy.pt", 7, false);
    flip("lazy.protocol5.legacy.pt", 3, false);
    flip_at("lightning.protocol4.pt", Some("state_dict"), 31, false);
    flip_at("lightning.legacy.pt", Some("state_dict"), 61, false);
}

#[test]
fn flipped_bits_of_arrays_change_nothing() {
    flip("versions.npz", 1, true);
    flip("plain.npz", 7, true);
    flip("compressed.npz", 5, true);
}
