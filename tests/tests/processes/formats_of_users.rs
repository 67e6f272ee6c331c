//! A user's file format is read wherever the library's own formats are.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Read, Seek, SeekFrom};

use module_nn::checkpoint::{CheckpointReader, Format, FormatError, TensorPlace, register_format};
use module_nn::prelude::*;
use module_tests::processes::ran_in_a_child;

/// `MARK`, the number of rows as a byte, then rows of two `f32` each, of one tensor `weight`.
struct Rows {
    mark: &'static [u8],
    key: &'static str,
}

impl Format for Rows {
    fn name(&self) -> &'static str {
        "rows"
    }

    fn matches(&self, start: &[u8]) -> bool {
        start.starts_with(self.mark)
    }

    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        options.refuse_entry()?;
        let head = self.mark.len() + 1;
        let rows = usize::from(file.read(head - 1..head)?[0]);
        let place = TensorPlace::new(DType::F32, [rows, 2], head..head + rows * 8);
        let tensors = file.tensors(&[place])?;
        Ok(tensors.into_iter().map(|x| (self.key, x)).collect())
    }
}

fn content(mark: &[u8]) -> Vec<u8> {
    let values = [1.0_f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes);
    [mark, &[2], &values.concat()].concat()
}

#[test]
fn a_registered_format_is_asked_first_and_replaced_by_its_name() {
    if ran_in_a_child(
        "formats_of_users::a_registered_format_is_asked_first_and_replaced_by_its_name",
    ) {
        return;
    }
    let mark = b"Rows0123";
    let unknown = StateDict::from_bytes(content(mark)).unwrap_err();
    assert!(
        unknown
            .to_string()
            .contains("the content is none of: safetensors")
    );
    let rows = |key| Rows { mark, key };
    register_format(rows("old"));
    register_format(rows("weight"));

    let path = std::env::temp_dir().join(format!("rows-{}", std::process::id()));
    std::fs::write(&path, content(mark)).unwrap();
    let states = [
        StateDict::load(&path).unwrap(),
        StateDict::from_bytes(content(mark)).unwrap(),
        StateDict::from_reader(std::fs::File::open(&path).unwrap()).unwrap(),
    ];
    std::fs::remove_file(path).unwrap();
    for state in states {
        let weight = state.get("weight").unwrap();
        assert_eq!(weight.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(state.len(), 1);
    }

    // Its errors name the file and the format.
    let cut = content(mark)[..20].to_vec();
    let error = StateDict::from_bytes(cut).unwrap_err().to_string();
    assert!(
        error.starts_with("<bytes>: not a valid rows file: "),
        "{error}"
    );
    let options = ReadOptions::new().entry("model");
    let error = StateDict::from_bytes_with(content(mark), &options).unwrap_err();
    assert!(error.to_string().contains("there is no entry `model`"));

    // Tried before those of the library: this one looks like safetensors, whose ninth byte is a brace.
    let mark = b"12345678{";
    register_format(Rows { mark, key: "brace" });
    assert!(
        StateDict::from_bytes(content(mark))
            .unwrap()
            .contains_key("brace")
    );
    // The others are still there.
    let state = StateDict::from_iter([("x", Tensor::from([1.0_f32]))]);
    assert_eq!(
        StateDict::from_bytes(state.to_bytes().unwrap())
            .unwrap()
            .len(),
        1
    );
}

/// A reader that fails at a given position.
struct Failing(Cursor<Vec<u8>>, u64);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.position() >= self.1 {
            return Err(std::io::Error::other("the line is dead"));
        }
        let left = (self.1 - self.0.position()) as usize;
        let count = left.min(buffer.len());
        self.0.read(&mut buffer[..count])
    }
}

impl Seek for Failing {
    fn seek(&mut self, place: SeekFrom) -> std::io::Result<u64> {
        self.0.seek(place)
    }
}

#[test]
fn a_reader_is_read_from_its_beginning_and_its_errors_are_kept() {
    let long = Tensor::arange(0, 1 << 16, ()).unwrap();
    let state = StateDict::from_iter([("x", long)]);
    let bytes = state.to_bytes().unwrap();
    let mut reader = Cursor::new(bytes.clone());
    reader.set_position(77);
    assert!(
        StateDict::from_reader(&mut reader)
            .unwrap()
            .equal(&state)
            .unwrap()
    );

    let mut written = Vec::new();
    state.write_to(&mut written).unwrap();
    assert_eq!(written, bytes);
    let path = std::env::temp_dir().join(format!("written-{}", std::process::id()));
    state.save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    std::fs::remove_file(path).unwrap();

    let error = StateDict::from_reader(Failing(Cursor::new(bytes), 200_000)).unwrap_err();
    assert_eq!(error.to_string(), "<reader>: the line is dead");
}

#[test]
fn an_index_in_memory_asks_to_be_loaded_by_its_path() {
    let index = br#"{"metadata": {}, "weight_map": {"x": "a.safetensors"}}"#;
    let error = StateDict::from_bytes(index).unwrap_err().to_string();
    assert!(
        error.contains("it is an index of shards, which are found by its path"),
        "{error}"
    );
}
