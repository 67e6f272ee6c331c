//! Files stay short enough to be read at once.

use crate::files::{files, none};

const CEILING: usize = 400;

/// Longer files, and why each is one file.
const LONGER: [(&str, &str); 1] = [(
    "tests/golden/hook_orders.py",
    "one small function for each of the scenarios that PyTorch runs, and the list of them",
)];

#[test]
fn no_file_is_longer_than_the_ceiling() {
    let mut wrong = Vec::new();
    for file in files() {
        let lines = file.lines().count();
        let is_code = file.is_rust() || file.path.ends_with(".py");
        let is_named = LONGER.iter().any(|(path, _)| *path == file.path);
        if is_code && !is_named && lines > CEILING {
            wrong.push(format!("{}: {lines} lines", file.path));
        }
        if is_named && lines <= CEILING {
            wrong.push(format!("{}: take it off the list", file.path));
        }
    }
    none(&wrong, "split these by idea, or name them with the reason");
}
