//! Damaged indices and shards.

use std::path::PathBuf;

use super::*;

/// A directory of three shards and a tie, and the text of its index.
fn sharded(scratch: &Scratch) -> (PathBuf, String, usize) {
    let tensor = |value: f32| Tensor::full([4], value, DType::F32).unwrap();
    let first = tensor(0.0);
    let state = StateDict::from_iter([
        ("a.weight", first.clone()),
        ("a.bias", tensor(1.0)),
        ("b.weight", tensor(2.0)),
        ("b.bias", tensor(3.0)),
        ("c.weight", tensor(4.0)),
        ("d.weight", first),
    ]);
    state.save_sharded(&scratch.0, 32).unwrap();
    let index = scratch.0.join("model.safetensors.index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    let files = std::fs::read_dir(&scratch.0).unwrap();
    let size = files
        .map(|file| file.unwrap().metadata().unwrap().len() as usize)
        .sum();
    (index, text, size)
}

#[test]
fn damaged_indices_are_refused() {
    let scratch = Scratch::directory("damaged-safetensors-index");
    let (path, text, size) = sharded(&scratch);
    assert_eq!(read(&path, size).unwrap().len(), 6);
    let refuse = |index: &[u8]| {
        std::fs::write(&path, index).unwrap();
        if read(&path, size + index.len()).is_ok() {
            panic!("accepted: {}", String::from_utf8_lossy(index));
        }
        // The directory stands for the index.
        assert!(StateDict::load(&scratch.0).is_err());
    };
    let mut number = 0;
    for end in 0..text.trim_end().len() {
        refuse(&text.as_bytes()[..end]);
        number += 1;
    }
    let first = "model-00001-of-00003.safetensors";
    assert!(text.contains(first));
    for name in [
        "",
        ".",
        "..",
        "/",
        "\\",
        "../x",
        "..\\x",
        "/etc/passwd",
        "C:\\x",
        "C:x",
        "\\\\server\\x",
        "a/b",
        "a\\b",
        "./",
        "x/",
        "model-00009-of-00003.safetensors",
        "model.safetensors.index.json",
        "x\u{0}",
        "~",
        "//",
        "a/../b",
        "...",
        "file:x",
        "http://x/y",
        "%2e%2e%2fx",
        " ",
        "\n",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
    ] {
        for path in [
            name.to_owned(),
            format!("{name}/{first}"),
            format!("../{}/{name}", scratch.0.display()),
        ] {
            let path = serde_json::to_string(&path).unwrap();
            refuse(text.replacen(&format!("\"{first}\""), &path, 1).as_bytes());
            refuse(text.replace(&format!("\"{first}\""), &path).as_bytes());
            number += 2;
        }
    }
    let map = &text[text.find("\"weight_map\"").unwrap()..];
    let line =
        |key: &str, file: &str| format!("\"{key}\": \"model-0000{file}-of-00003.safetensors\"");
    let weight = line("a.weight", "1");
    for (from, to) in [
        // A key twice, with the same file and with others.
        (weight.clone(), format!("{weight}, {weight}")),
        (
            weight.clone(),
            format!("{weight}, {}", line("a.weight", "2")),
        ),
        (
            weight.clone(),
            format!("{weight}, {}", line("a\\u002eweight", "1")),
        ),
        // A key that its file lacks, a key that the index lacks, a key in the wrong file.
        (
            weight.clone(),
            format!("{weight}, {}", line("e.weight", "1")),
        ),
        (format!("{weight},"), String::new()),
        (weight.clone(), line("a.weight", "2")),
        (weight.clone(), line("A.weight", "1")),
        (weight.clone(), "\"a.weight\": null".to_owned()),
        (weight.clone(), "\"a.weight\": 1".to_owned()),
        (weight.clone(), "\"a.weight\": [\"x\"]".to_owned()),
        (weight.clone(), "\"a.weight\": {}".to_owned()),
        ("\"weight_map\"".to_owned(), "\"weight_maps\"".to_owned()),
        (
            "\"weight_map\": {".to_owned(),
            "\"weight_map\": {}, \"weight_map\": {".to_owned(),
        ),
        (
            "\"metadata\": {".to_owned(),
            "\"metadata\": {}, \"metadata\": {".to_owned(),
        ),
        (
            "\"metadata\": {".to_owned(),
            "\"metadata\": [], \"x\": {".to_owned(),
        ),
        (
            "\"metadata\": {".to_owned(),
            "\"metadata\": 1, \"x\": {".to_owned(),
        ),
        (
            "\"total_size\"".to_owned(),
            "\"d.weight\": \"b.bias\", \"total_size\"".to_owned(),
        ),
    ] {
        assert!(text.contains(&from), "{from}");
        refuse(text.replacen(&from, &to, 1).as_bytes());
        number += 1;
    }
    let deep = "[".repeat(100_000);
    for index in [
        "{}".to_owned(),
        "{\"weight_map\": null}".to_owned(),
        "{\"weight_map\": []}".to_owned(),
        format!("{{{map}, 1"),
        format!("{{\"weight_map\": {deep}"),
        format!("{{\"weight_map\": {{\"a\": {deep}"),
        format!("{{\"metadata\": {{\"x\": {deep}}}, {map}"),
        format!("{{\"x\": {deep}}}, {map}"),
        format!("{text}{text}"),
        format!("{text}x"),
        "{\"weight_map\":".repeat(100_000),
    ] {
        refuse(index.as_bytes());
        number += 1;
    }
    for byte in [0x80, 0xC0, 0xFF] {
        for place in (0..text.len()).filter(|i| text.as_bytes()[*i].is_ascii_alphabetic()) {
            let mut index = text.clone().into_bytes();
            index[place] = byte;
            refuse(&index);
            number += 1;
        }
    }
    assert!(number > 1000, "{number}");
}

#[test]
fn no_flipped_bit_of_an_index_harms() {
    let scratch = Scratch::directory("damaged-safetensors-flipped-index");
    let (path, text, size) = sharded(&scratch);
    let mut errors = 0;
    for bit in 0..8 * text.len() {
        let mut index = text.clone().into_bytes();
        index[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, index).unwrap();
        match read(&path, size) {
            Err(_) => errors += 1,
            // White space, an unused number, the other name of a tie.
            Ok(state) => assert!((5..=6).contains(&state.len()), "bit {bit}"),
        }
    }
    assert!(errors > 2000, "{errors}");
}

#[test]
fn damaged_shards_are_refused() {
    let scratch = Scratch::directory("damaged-safetensors-shards");
    let (path, _, size) = sharded(&scratch);
    let shard = |i: usize| {
        scratch
            .0
            .join(format!("model-0000{i}-of-00003.safetensors"))
    };
    let sound: Vec<Vec<u8>> = (1..=3).map(|i| std::fs::read(shard(i)).unwrap()).collect();
    let refuse = |i: usize, content: Option<&[u8]>| {
        match content {
            Some(content) => std::fs::write(shard(i), content).unwrap(),
            None => std::fs::remove_file(shard(i)).unwrap(),
        }
        let message = read(&path, size).unwrap_err().to_string();
        assert!(message.contains("model"), "{message}");
        std::fs::write(shard(i), &sound[i - 1]).unwrap();
    };
    for i in 1..=3 {
        let file = &sound[i - 1];
        refuse(i, None);
        for end in 0..file.len() {
            refuse(i, Some(&file[..end]));
        }
        refuse(i, Some(&[file, &[0_u8][..]].concat()));
        refuse(i, Some(&sound[i % 3]));
        refuse(i, Some(b"{}"));
        refuse(i, Some(&std::fs::read(&path).unwrap()));
    }
    std::fs::remove_file(shard(2)).unwrap();
    std::fs::create_dir(shard(2)).unwrap();
    assert!(read(&path, size).is_err());
}
