//! Nothing names a folder or a host of the machine of whoever wrote it.

use crate::files::{files, none};

/// What begins a path of one machine: folders of people, and of programs that somebody installed.
const STARTS: [&str; 8] = [
    "/home/",
    "/root/",
    "/Users/",
    "/opt/",
    "/mnt/",
    "/work/",
    "/srv/",
    "C:\\Users",
];

/// What ends the name of a host in a local network.
const HOSTS: [&str; 4] = [".local:", ".lan/", ".internal", ".corp"];

/// Addresses of local networks.
const ADDRESSES: [&str; 3] = ["http://10.", "http://192.168.", "http://172."];

/// This file, which names them.
const OWN: &str = "tests/tests/tidy/machines.rs";

/// Whether a path begins here, rather than continuing one like `target/work/`.
fn begins(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    before.is_none_or(|c| !c.is_alphanumeric() && !"._-~}*/".contains(c))
}

#[test]
fn no_path_or_host_of_one_machine_is_named() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| file.path != OWN) {
        for (number, line) in file.lines() {
            let path = STARTS
                .iter()
                .find(|start| line.match_indices(**start).any(|(at, _)| begins(line, at)));
            let host = HOSTS
                .iter()
                .chain(&ADDRESSES)
                .find(|host| line.contains(**host));
            if path.is_some() || host.is_some() {
                wrong.push(format!("{}:{number}: {line}", file.path));
            }
        }
    }
    none(&wrong, "paths or hosts of one machine");
}
