//! Tests that need a separate process: its memory, its number of threads, its registered formats.
#![allow(clippy::expect_used)]

use std::process::Command;

/// The environment variable that tells a child which test to run.
const CHILD: &str = "MODULE_TESTS_CHILD";

/// Runs this test, named as for `--exact`, in a child process and returns true; the caller then returns immediately. In the
/// child it returns false, and the test continues.
///
/// # Panics
///
/// If the child fails, or does not run exactly one test.
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
