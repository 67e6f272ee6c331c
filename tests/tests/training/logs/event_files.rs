//! Event files, read by a reader that shares no code with the writer, and compared with PyTorch's for the same calls.
//!
//! With `EVENT_FILES=<directory>` the files are kept there, for `tests/golden/check_event_files.py`.

mod truncated_and_refused;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use module_nn::StateDict;
use module_nn::log::{Logger, SummaryWriter};
use module_nn::prelude::*;
use module_tests::files::Scratch;
use module_tests::golden;
use serde_json::{Value, json};

/// A field of a message.
#[derive(Clone, Debug, PartialEq)]
enum Field {
    Varint(u64),
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Field {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) | Self::Fixed(bytes) => bytes,
            Self::Varint(_) => panic!("{self:?} has no bytes"),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }

    fn number(&self) -> u64 {
        match self {
            Self::Varint(number) => *number,
            _ => panic!("{self:?} is not an integer"),
        }
    }

    fn double(&self) -> f64 {
        f64::from_le_bytes(self.bytes().try_into().unwrap())
    }

    fn doubles(&self) -> Vec<f64> {
        let each = self.bytes().chunks(8);
        each.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
            .collect()
    }

    fn message(&self) -> Fields {
        Fields::parse(self.bytes())
    }
}

/// The fields of a message in order.
struct Fields(Vec<(u64, Field)>);

impl Fields {
    fn parse(mut bytes: &[u8]) -> Self {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let mut take = |count: usize| {
                let (taken, rest) = bytes.split_at(count);
                bytes = rest;
                taken.to_vec()
            };
            let field = match key & 7 {
                1 => Field::Fixed(take(8)),
                5 => Field::Fixed(take(4)),
                0 => Field::Varint(varint(&mut bytes)),
                2 => {
                    let len = varint(&mut bytes) as usize;
                    let (taken, rest) = bytes.split_at(len);
                    bytes = rest;
                    Field::Bytes(taken.to_vec())
                }
                wire => panic!("wire type {wire}"),
            };
            fields.push((key >> 3, field));
        }
        Self(fields)
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &Field> {
        self.0
            .iter()
            .filter(move |field| field.0 == number)
            .map(|field| &field.1)
    }

    fn get(&self, number: u64) -> Option<&Field> {
        self.all(number).last()
    }

    fn number(&self, number: u64) -> u64 {
        self.get(number).map_or(0, Field::number)
    }

    fn text(&self, number: u64) -> String {
        self.get(number).map(Field::text).unwrap_or_default()
    }
}

/// Bit by bit, as polynomial division is defined.
fn crc(bytes: &[u8], polynomial: u32) -> u32 {
    let mut rest = u32::MAX;
    for byte in bytes {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            rest = if rest & 1 == 1 {
                rest >> 1 ^ polynomial
            } else {
                rest >> 1
            };
        }
    }
    !rest
}

fn masked(bytes: &[u8]) -> u32 {
    let crc = crc(bytes, 0x82f6_3b78);
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// The complete records of a file; a truncated one ends it.
fn records(file: &Path) -> Vec<Fields> {
    let content = fs::read(file).unwrap();
    let mut rest = &content[..];
    let mut records = Vec::new();
    while rest.len() >= 12 {
        let len = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        assert_eq!(
            u32::from_le_bytes(rest[8..12].try_into().unwrap()),
            masked(&rest[..8])
        );
        let Some(check) = rest.get(12 + len..16 + len) else {
            break;
        };
        let event = &rest[12..12 + len];
        assert_eq!(u32::from_le_bytes(check.try_into().unwrap()), masked(event));
        records.push(Fields::parse(event));
        rest = &rest[16 + len..];
    }
    records
}

/// The event files below a directory, by their paths.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The pixels of an image without filters, as the writer makes them.
fn pixels(png: &[u8], height: usize, row: usize) -> Vec<u8> {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let (mut rest, mut data, mut kinds) = (&png[8..], Vec::new(), Vec::new());
    while !rest.is_empty() {
        let len = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        let (kind, content) = (&rest[4..8], &rest[8..8 + len]);
        let check = u32::from_be_bytes(rest[8 + len..12 + len].try_into().unwrap());
        assert_eq!(check, crc(&rest[4..8 + len], 0xedb8_8320));
        if kind == b"IDAT" {
            data.extend_from_slice(content);
        }
        kinds.push(kind.to_vec());
        rest = &rest[12 + len..];
    }
    assert_eq!(kinds, [b"IHDR", b"IDAT", b"IEND"]);
    let lines = miniz_oxide::inflate::decompress_to_vec_zlib(&data).unwrap();
    assert_eq!(lines.len(), height * (row + 1));
    let lines = lines.chunks(row + 1);
    lines
        .flat_map(|line| {
            assert_eq!(line[0], 0);
            line[1..].to_vec()
        })
        .collect()
}

/// An event as the script describes it, and the tensors to compare.
fn described(event: &Fields, tensors: &StateDict, number: usize) -> Value {
    let mut entry = json!({ "step": event.number(2), "values": [] });
    if let Some(version) = event.get(3) {
        entry["file_version"] = version.text().into();
    }
    if let Some(log) = event.get(7) {
        entry["session_log"] = log.message().number(1).into();
    }
    let expected = |name: &str| {
        let tensor = tensors.get(&format!("{number}.{name}")).expect("recorded");
        tensor
            .to_dtype(DType::F64)
            .unwrap()
            .to_vec::<f64>()
            .unwrap()
    };
    let summary = event.get(5).map(Field::message);
    for value in summary.iter().flat_map(|summary| summary.all(1)) {
        let value = value.message();
        let mut fields = json!({ "tag": value.text(1) });
        if let Some(number) = value.get(2) {
            let number = f32::from_le_bytes(number.bytes().try_into().unwrap());
            fields["simple_value"] = match number.is_nan() {
                true => "nan".into(),
                false => f64::from(number).into(),
            };
        }
        if let Some(histo) = value.get(5).map(Field::message) {
            let of: Vec<f64> = (1..=5).map(|n| histo.get(n).unwrap().double()).collect();
            fields["histo"] = json!(of);
            assert_eq!(histo.get(6).unwrap().doubles(), expected("limits"));
            assert_eq!(histo.get(7).unwrap().doubles(), expected("counts"));
        }
        if let Some(image) = value.get(4).map(Field::message) {
            let [height, width, channels] = [1, 2, 3].map(|n| image.number(n) as usize);
            fields["image"] = json!([height, width, channels]);
            let png = image.get(4).unwrap().bytes();
            let sizes =
                [&png[16..20], &png[20..24]].map(|b| u32::from_be_bytes(b.try_into().unwrap()));
            assert_eq!(sizes, [width as u32, height as u32]);
            assert_eq!(png[24..29], [8, if channels == 4 { 6 } else { 2 }, 0, 0, 0]);
            let found = pixels(png, height, width * channels);
            let found: Vec<f64> = found.into_iter().map(f64::from).collect();
            assert_eq!(found, expected("pixels"));
        }
        if let Some(tensor) = value.get(8).map(Field::message) {
            let shape = tensor.get(2).unwrap().message();
            let shape: Vec<u64> = shape.all(2).map(|dim| dim.message().number(1)).collect();
            fields["tensor"] = json!([tensor.number(1), shape, tensor.text(8)]);
        }
        if let Some(metadata) = value.get(9).map(Field::message) {
            let plugin = metadata.get(1).unwrap().message();
            fields["plugin"] = plugin.text(1).into();
            if plugin.text(1) == "hparams" {
                fields["hparams"] = hparams(&plugin.get(2).unwrap().message());
            }
        }
        entry["values"].as_array_mut().unwrap().push(fields);
    }
    entry
}

fn hparams(data: &Fields) -> Value {
    let of = |field| data.get(field).map_or(Fields(vec![]), Field::message);
    let (experiment, start) = (of(2), of(3));
    let info = |info: &Field| json!([info.message().text(1), info.message().number(4)]);
    let infos: Vec<Value> = experiment.all(4).map(info).collect();
    let name = |metric: &Field| metric.message().get(1).unwrap().message().text(2);
    let metrics: Vec<String> = experiment.all(5).map(name).collect();
    let values = start.all(1).map(|entry| {
        let entry = entry.message();
        let value = entry.get(2).unwrap().message();
        let value = match (value.get(2), value.get(3), value.get(4)) {
            (Some(number), None, None) => json!(number.double()),
            (None, Some(text), None) => json!(text.text()),
            (None, None, Some(is)) => json!(is.number() == 1),
            other => panic!("{other:?}"),
        };
        (entry.text(1), value)
    });
    let values: BTreeMap<String, Value> = values.collect();
    json!({ "infos": infos, "metrics": metrics, "start": values, "end": of(4).number(1) })
}

fn write_runs(directory: &Path, given: &StateDict) {
    let tensor = |name: &str| given.get(name).expect("recorded").clone();
    let mut writer = SummaryWriter::resume(directory, 3).unwrap();
    assert_eq!(writer.log_dir(), directory);
    writer.add_scalar("train/loss", 0.1, 0).unwrap();
    writer.log(1, &[("train/loss", f64::NAN)]).unwrap();
    writer.add_scalar("ä", -1e-3, 1 << 40).unwrap();
    writer
        .add_histogram("weights", &tensor("weights"), 4)
        .unwrap();
    writer.add_histogram("wide", &tensor("wide"), 4).unwrap();
    writer
        .add_histogram("one", &Tensor::from([0.0_f32, 0.0]), 4)
        .unwrap();
    for name in ["gray", "rgb", "rgba"] {
        writer.add_image(name, &tensor(name), 5).unwrap();
    }
    writer
        .add_text("note", "a *text*,\nof two lines: ä", 6)
        .unwrap();
    writer
        .add_scalars("both/ways", &[("up", 1.0), ("down", -1.0)], 7)
        .unwrap();
    let hparams = [
        ("lr", 0.1.into()),
        ("depth", 3.into()),
        ("optimizer", "SGD".into()),
    ];
    let metrics = [("hparam/accuracy", 0.5), ("hparam/loss", 2.0)];
    writer.add_hparams(&hparams, &metrics, "hp").unwrap();
    writer.flush().unwrap();
}

/// The sums of a histogram, which depend on the order of additions, separate from the rest.
fn take_sums(entry: &mut Value) -> Vec<f64> {
    let histo = entry["values"]
        .get_mut(0)
        .and_then(|value| value.get_mut("histo"));
    let sums = histo.map(Value::take).unwrap_or(json!([]));
    sums.as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_f64().unwrap())
        .collect()
}

#[test]
fn event_files_are_those_of_pytorch() {
    let kept = std::env::var_os("EVENT_FILES").map(PathBuf::from);
    let scratch = Scratch::new("logs-events");
    let directory = kept.as_deref().unwrap_or(scratch.as_ref());
    let (case, tensors) = golden::load("event_files.safetensors");
    let before = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    write_runs(directory, &tensors);
    let expected = case["events"].as_array().unwrap();
    let mut compared = 0;
    for file in files(directory) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let parts: Vec<&str> = name.split('.').collect();
        assert_eq!(
            (parts.len(), &parts[..3]),
            (7, &["events", "out", "tfevents"][..])
        );
        assert_eq!(parts[5], std::process::id().to_string());
        let run = file.parent().unwrap().strip_prefix(directory).unwrap();
        for event in records(&file) {
            let time = event.get(1).unwrap().double();
            assert!((before..before + 600.0).contains(&time), "{time}");
            let mut found = described(&event, &tensors, compared);
            found["run"] = run.to_str().unwrap().into();
            let mut wanted = expected[compared].clone();
            let (sums, of) = (take_sums(&mut found), take_sums(&mut wanted));
            assert_eq!(sums.len(), of.len());
            for (sum, of) in sums.iter().zip(of) {
                assert!((sum - of).abs() <= 1e-12 * of.abs(), "{sum} {of}");
            }
            assert_eq!(found, wanted);
            compared += 1;
        }
    }
    assert_eq!(compared, expected.len());
    assert_eq!(compared, 22);
}
