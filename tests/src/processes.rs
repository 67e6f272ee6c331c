//! Tests that need a process of their own: its memory, its number of threads, its registered formats.
#![allow(clippy::expect_used)]

use std::process::Command;

/// Set in a child: the test that it runs.
const CHILD: &str = "MODULE_TESTS_CHILD";

/// Whether a child process has run this test, named as `--exact` names it; its caller then returns at once. In
/// the child this is false, and the test goes on.
///
/// # Panics
///
/// If the child fails, or runs any other number of tests than one.
pub fn ran_in_a_child(test: &str) -> bool {
    if std::env::var_os(CHILD).is_some_and(|child| child == test) {
        return false;
    }
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, test)
        .output()
        .expect("a process");
    let [said, failed] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(
        output.status.success() && said.contains("test result: ok. 1 passed"),
        "{}:\n{said}\n{failed}",
        output.status
    );
    true
}

/// The bytes of this process that lie in memory, where the system tells them in `/proc`.
pub fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
