//! Files of data sets have the content that torchvision, PIL, NumPy and Python's `csv` read from them.

mod images;
mod tables;

use std::io::Read;
use std::path::PathBuf;

use module_nn::checkpoint::TensorFile;
use module_nn::data::{
    CifarLabels, CsvConfig, CsvLabels, DataLoaderConfig, Dataset, GzipReader, ImageFolder,
    LabeledImages, ReaderError, StackDataset, TensorDataset, load_cifar10, load_cifar100, load_idx,
    load_image, load_mnist, read_cifar10, read_cifar100, read_idx, read_mnist,
};
use module_nn::prelude::*;
use module_tests::files::mapped;
use module_tests::golden::{self, Tolerance, assert_close};
use serde_json::{Value, json};

fn file(name: &str) -> PathBuf {
    golden::path("dataset_files").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(file(name)).unwrap()
}

fn recorded() -> (Value, StateDict) {
    golden::load("dataset_files.safetensors")
}

fn same(actual: &Tensor, tensors: &StateDict, key: &str) {
    assert_close(actual, tensors.get(key).unwrap(), Tolerance::EXACT, key);
}

/// The typed error of a reader, with or without its file.
fn problem(error: &Error) -> &ReaderError {
    match error.downcast_ref::<ReaderError>().expect("a typed error") {
        ReaderError::File { source, .. } => source,
        other => other,
    }
}

fn temporary(name: &str, content: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("readers-{}-{name}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn idx_files_are_read_in_every_dtype() {
    let (_, tensors) = recorded();
    for (name, dtype) in [
        ("u8", DType::U8),
        ("i8", DType::I8),
        ("i16", DType::I16),
        ("i32", DType::I32),
        ("f32", DType::F32),
        ("f64", DType::F64),
    ] {
        let read = load_idx(file(&format!("{name}.idx"))).unwrap();
        assert_eq!(read.dtype(), dtype);
        let key = format!("idx.{name}");
        let expected = tensors.get(&key).unwrap();
        same(&read.to_dtype(expected.dtype()).unwrap(), &tensors, &key);
    }
    let fields = load_idx(file("fields.gz")).unwrap();
    same(&fields, &tensors, "idx.u8");
    // An empty set has sizes too.
    let none = read_idx(&[0, 0, 8, 2, 0, 0, 0, 0, 0, 0, 0, 5][..]).unwrap();
    assert_eq!(none.shape().to_vec(), [0, 5]);
}

#[test]
fn idx_files_with_false_headers_are_refused() {
    let good = bytes("i16.idx");
    let text = |bytes: &[u8]| read_idx(bytes).unwrap_err().to_string();
    // Every truncated file, wherever it ends.
    for end in 0..good.len() {
        let error = read_idx(&good[..end]).unwrap_err();
        assert!(
            matches!(problem(&error), ReaderError::TooShort { found, .. } if *found <= end as u64),
            "{end}: {error}"
        );
    }
    let long = [good.as_slice(), &[0]].concat();
    let error = read_idx(&long[..]).unwrap_err();
    assert!(
        matches!(problem(&error), ReaderError::TooLong { expected, .. } if *expected == (good.len() - 16) as u64),
        "{error}"
    );
    assert_eq!(
        text(&[0, 1, 8, 1, 0, 0, 0, 0]),
        "idx: the magic number is [00, 01, 08, 01], which starts with two zeros in this format"
    );
    assert!(text(&[0, 0, 0x0a, 1, 0, 0, 0, 0]).contains("0x0a"));
    assert!(text(&[&[0, 0, 8, 65][..], &[0; 260]].concat()).contains("65 dimensions"));
    // More elements than memory addresses, and more than the file has: nothing is allocated for them.
    let huge = [&[0, 0, 0x0e, 3][..], &[0xff; 12]].concat();
    let error = read_idx(&huge[..]).unwrap_err();
    assert!(
        matches!(problem(&error), ReaderError::Format { .. }),
        "{error}"
    );
    let large = [
        &[0, 0, 8, 2][..],
        &[0, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0xff],
        &[7; 9],
    ]
    .concat();
    let error = read_idx(&large[..]).unwrap_err();
    let expected = 0xff_ffff_u64 * 0xff_ffff;
    assert!(
        matches!(problem(&error), ReaderError::TooShort { expected: e, found: 9, .. } if *e == expected),
        "{error}"
    );
    let path = temporary("cut.idx", &good[..20]);
    let error = load_idx(&path).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}: idx: ", path.display())),
        "{error}"
    );
    std::fs::remove_file(path).unwrap();
    assert!(matches!(
        problem(&load_idx("nowhere.idx").unwrap_err()),
        ReaderError::Io(_)
    ));
}

#[test]
fn gzip_is_checked() {
    let packed = bytes("mnist-images.idx.gz");
    let unpack = |bytes: &[u8]| {
        let mut content = Vec::new();
        GzipReader::new(bytes)
            .read_to_end(&mut content)
            .map(|_| content)
    };
    assert_eq!(unpack(&packed).unwrap(), bytes("mnist-images.idx"));
    // A single byte at a time, out of it and into it.
    struct Slow<R>(R);
    impl<R: Read> Read for Slow<R> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = out.len().min(1);
            self.0.read(&mut out[..count])
        }
    }
    let mut content = Vec::new();
    let read = Slow(GzipReader::new(Slow(&packed[..]))).read_to_end(&mut content);
    assert_eq!((read.unwrap(), content), (3936, bytes("mnist-images.idx")));
    let fields = bytes("fields.gz");
    assert_eq!(unpack(&fields).unwrap(), bytes("u8.idx"));
    for end in 0..fields.len() {
        assert!(unpack(&fields[..end]).is_err(), "{end} of {}", fields.len());
    }
    // The magic number, the flags, the header's checksum, the content's checksum and its length.
    let (last, header) = (
        fields.len() - 1,
        fields
            .windows(10)
            .position(|w| w == b"a comment\0")
            .unwrap()
            + 10,
    );
    for changed in [0, 1, 2, 12, header, last - 7, last] {
        let mut fields = fields.clone();
        fields[changed] ^= 0x10;
        let error = unpack(&fields).unwrap_err();
        assert_eq!(
            error.kind(),
            std::io::ErrorKind::InvalidData,
            "{changed}: {error}"
        );
    }
    assert!(unpack(&[fields.as_slice(), b"more"].concat()).is_err());
    assert!(unpack(&[]).is_err());
}

#[test]
fn mnist_is_read_packed_or_not() {
    let (_, tensors) = recorded();
    let plain = load_mnist(file("mnist-images.idx"), file("mnist-labels.idx")).unwrap();
    let packed = load_mnist(file("mnist-images.idx.gz"), file("mnist-labels.idx.gz")).unwrap();
    for dataset in [plain, packed] {
        assert_eq!(dataset.images().shape().to_vec(), [5, 1, 28, 28]);
        same(
            &dataset.images().squeeze(1).unwrap(),
            &tensors,
            "mnist.images",
        );
        let labels = dataset.labels().to_dtype(DType::U8).unwrap();
        same(&labels, &tensors, "mnist.labels");
        let loader = DataLoaderConfig::new()
            .batch_size(5)
            .build(dataset.clone().scaled())
            .unwrap();
        let (x, y) = loader.iter().next().unwrap().unwrap();
        assert_eq!((x.dtype(), y.dtype()), (DType::F32, DType::I64));
        assert!(y.equal(dataset.labels()).unwrap());
        let scaled = dataset
            .images()
            .to_dtype(DType::F32)
            .unwrap()
            .mul(1.0 / 255.0)
            .unwrap();
        assert!(x.equal(&scaled).unwrap());
        assert!(dataset.get(5).is_err());
    }
    let (images, labels) = (bytes("mnist-images.idx"), bytes("mnist-labels.idx"));
    assert!(read_mnist(&labels[..], &images[..]).is_err());
    let fewer = [0, 0, 8, 1, 0, 0, 0, 1, 0];
    let error = read_mnist(&images[..], &fewer[..]).unwrap_err();
    assert!(matches!(
        problem(&error),
        ReaderError::Counts {
            images: 5,
            labels: 1
        }
    ));
}

#[test]
fn cifar_is_read_from_several_files() {
    let (_, tensors) = recorded();
    let check = |dataset: &LabeledImages, name: &str, labels: &str| {
        same(dataset.images(), &tensors, &format!("{name}.images"));
        same(dataset.labels(), &tensors, labels);
    };
    let ten = load_cifar10([file("cifar10-0.bin"), file("cifar10-1.bin")]).unwrap();
    check(&ten, "cifar10", "cifar10.labels");
    let fine = load_cifar100([file("cifar100-0.bin")], CifarLabels::Fine).unwrap();
    check(&fine, "cifar100", "cifar100.labels");
    let coarse = load_cifar100([file("cifar100-0.bin")], CifarLabels::Coarse).unwrap();
    check(&coarse, "cifar100", "cifar100.coarse");

    let good = bytes("cifar10-0.bin");
    let error = read_cifar10([&good[..3 * 3073 - 1]]).unwrap_err();
    let ReaderError::TooShort {
        expected, found, ..
    } = problem(&error)
    else {
        panic!("{error}");
    };
    assert_eq!((*expected, *found), (3 * 3073, 3 * 3073 - 1));
    let mut wrong = good;
    wrong[2 * 3073] = 10;
    let error = read_cifar10([&wrong[..]]).unwrap_err();
    assert!(
        matches!(
            problem(&error),
            ReaderError::Label {
                sample: 2,
                label: 10,
                classes: 10,
                ..
            }
        ),
        "{error}"
    );
    let coarse = [&[20_u8, 0][..], &[0; 3072]].concat();
    assert!(read_cifar100([&coarse[..]], CifarLabels::Coarse).is_err());
    assert!(read_cifar100([&coarse[..]], CifarLabels::Fine).is_ok());
}

#[test]
fn rows_stay_in_their_files() {
    let (_, tensors) = recorded();
    let expected = tensors.get("rows").unwrap();
    let raw = TensorFile::raw(file("rows.f64"), DType::F64, [6, 2, 3], 0).unwrap();
    let npy = TensorFile::npy(file("rows.npy")).unwrap();
    assert_eq!(
        (npy.dtype(), npy.shape(), Dataset::len(&npy)),
        (DType::F32, &[6, 2, 3][..], 6)
    );
    let state = golden::path("dataset_files.safetensors");
    let safe = TensorFile::safetensors(&state, "rows").unwrap();
    for (row, index) in (0..6).enumerate() {
        let expected = expected.select(0, index).unwrap();
        for dataset in [&raw, &safe] {
            assert!(dataset.get(row).unwrap().equal(&expected).unwrap());
        }
        let expected = expected.to_dtype(DType::F32).unwrap();
        assert!(npy.get(row).unwrap().equal(&expected).unwrap());
    }
    assert!(
        raw.rows(2..5)
            .unwrap()
            .equal(&expected.narrow(0, 2..5).unwrap())
            .unwrap()
    );
    let behind = TensorFile::raw(file("rows.f64"), DType::F64, [5, 6], 48).unwrap();
    let rest = expected.narrow(0, 1..6).unwrap().reshape([5, 6]).unwrap();
    assert!(behind.rows(0..5).unwrap().equal(&rest).unwrap());

    // Workers read one file at once; images and labels side by side.
    let labels = TensorFile::safetensors(&state, "mnist.labels").unwrap();
    let five = TensorFile::raw(file("rows.f64"), DType::F64, [5, 2, 3], 0).unwrap();
    let dataset = StackDataset::new((five, labels)).unwrap();
    let loader = DataLoaderConfig::new()
        .batch_size(2)
        .num_workers(2)
        .build(dataset)
        .unwrap();
    let batches: Vec<(Tensor, Tensor)> = loader.iter().collect::<Result<_>>().unwrap();
    let y: Vec<&Tensor> = batches.iter().map(|(_, y)| y).collect();
    same(&Tensor::cat(&y, 0).unwrap(), &tensors, "mnist.labels");

    // The mapped variant: rows are views of the mapping.
    let mapped = StateDict::load_with(&state, &mapped()).unwrap();
    let rows = TensorDataset::new(mapped.get("rows").unwrap().clone()).unwrap();
    assert!(rows.get(4).unwrap().equal(&safe.get(4).unwrap()).unwrap());
}

#[test]
fn files_without_such_rows_are_refused() {
    let text = |file: Result<TensorFile>| file.unwrap_err().to_string();
    let raw =
        |shape: Vec<usize>, offset| TensorFile::raw(file("rows.f64"), DType::F64, shape, offset);
    assert!(raw(vec![6, 2, 3], 1).is_err());
    assert!(raw(vec![6, 2, 4], 0).is_err());
    assert!(raw(vec![usize::MAX, 2], 0).is_err());
    assert!(raw(vec![6], usize::MAX).is_err());
    assert!(text(raw(vec![], 0)).contains("no dimensions"));
    assert!(text(TensorFile::npy(file("columns.npy"))).contains("column by column"));
    assert!(TensorFile::npy(file("rows.f64")).is_err());
    let state = golden::path("dataset_files.safetensors");
    assert!(text(TensorFile::safetensors(&state, "none")).contains("it has no tensor `none`"));
    assert!(TensorFile::safetensors(file("rows.npy"), "x").is_err());
    let whole = bytes("rows.npy");
    for end in [0, 5, 9, 40, whole.len() - 1] {
        let path = temporary("cut.npy", &whole[..end]);
        assert!(TensorFile::npy(&path).is_err(), "{end}");
        std::fs::remove_file(path).unwrap();
    }
    // A file that is truncated while it is used.
    let path = temporary("rows.npy", &whole);
    let rows = TensorFile::npy(&path).unwrap();
    assert!(rows.get(6).is_err() && rows.rows(4..7).is_err());
    assert!(rows.get(5).is_ok());
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let error = rows.get(5).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(FileError::File { .. })),
        "{error}"
    );
    assert!(rows.get(4).is_ok());
    std::fs::remove_file(path).unwrap();
}
