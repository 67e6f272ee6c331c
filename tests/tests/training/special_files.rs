//! Paths to special files where regular files are expected: a device may be endless, and a FIFO blocks until someone
//! writes.
#![cfg(unix)]
#![allow(clippy::panic, clippy::unwrap_used)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use module_examples::models::pretrained::read_config;
use module_nn::data::{CifarLabels, CsvConfig, load_cifar10, load_cifar100, load_idx, load_image};
use module_nn::log::{CSVLogger, JSONLinesLogger};
use module_nn::lora::PeftAdapter;
use module_nn::prelude::*;
use module_tests::files::Scratch;
use serde_json::Value;

/// Creates a special file at a path.
type Make = fn(&Path);

const SPECIAL: [(&str, Make); 3] = [
    ("directory", |path| std::fs::create_dir(path).unwrap()),
    ("character device", |path| {
        symlink("/dev/zero", path).unwrap()
    }),
    ("FIFO", |path| {
        let made = Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    }),
];

/// Reads a file with this name in a directory.
type Read = fn(&Path) -> Result<()>;

#[test]
fn only_regular_files_are_read() {
    let readers: [(&str, Read); 9] = [
        ("images.idx", |path| load_idx(path).map(|_| ())),
        ("table.csv", |path| CsvConfig::new().load(path).map(|_| ())),
        ("ten.bin", |path| load_cifar10([path]).map(|_| ())),
        ("hundred.bin", |path| {
            load_cifar100([path], CifarLabels::Fine).map(|_| ())
        }),
        ("image.png", |path| load_image(path).map(|_| ())),
        ("log.csv", |path| CSVLogger::new(path).map(|_| ())),
        ("log.jsonl", |path| JSONLinesLogger::new(path).map(|_| ())),
        ("adapter_config.json", |path| {
            PeftAdapter::load(path.parent().unwrap()).map(|_| ())
        }),
        ("config.json", |path| {
            read_config::<Value>(path.parent().unwrap()).map(|_| ())
        }),
    ];
    for (kind, make) in SPECIAL {
        let folder = Scratch::directory(&format!("special-{}", kind.replace(' ', "-")));
        for (name, read) in readers {
            let path = folder.0.join(name);
            make(&path);
            let error = read(&path).unwrap_err().to_string();
            let words = format!("{name}: it is a {kind}, not a regular file");
            assert!(error.contains(&words), "{error}");
        }
    }
}

#[test]
fn a_configuration_without_end_is_not_read() {
    let folder = Scratch::directory("long-configuration");
    let file = std::fs::File::create(folder.0.join("adapter_config.json")).unwrap();
    // A sparse file, which takes no space.
    file.set_len(1 << 40).unwrap();
    let error = PeftAdapter::load(&folder.0).unwrap_err().to_string();
    assert!(error.contains("more than the 16777216 bytes"), "{error}");
}
