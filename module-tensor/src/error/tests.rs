#![allow(clippy::panic, clippy::unwrap_used)]

use std::io;

use super::{AutogradError, DTypeError, DeviceError, Error, ErrorKind, RngError, ShapeError};
use crate::{DType, Shape, Tensor};

/// A key from a hostile file: long, and with terminal control characters.
fn key() -> String {
    format!("\u{1b}[2J\n\r\u{9b}\u{202e}{}", "k".repeat(1 << 20))
}

/// A shape that fills a screen.
fn shape() -> Shape {
    vec![7; 100].into()
}

fn shape_errors() -> [ShapeError; 7] {
    let op = "load";
    let (lhs, rhs) = (shape, shape);
    [
        ShapeError::Broadcast {
            op,
            lhs: lhs(),
            rhs: rhs(),
        },
        ShapeError::Mismatch {
            op,
            lhs: lhs(),
            rhs: rhs(),
            rule: key(),
        },
        ShapeError::Unexpected {
            op,
            expected: key(),
            got: shape(),
        },
        ShapeError::Dimension {
            op,
            dim: 3,
            shape: shape(),
        },
        ShapeError::Index {
            op,
            index: 3,
            size: 2,
        },
        ShapeError::TooLarge { op, shape: shape() },
        ShapeError::Rank { op, rank: 65 },
    ]
}

fn dtype_errors() -> [DTypeError; 3] {
    let (op, dtype) = ("load", DType::F32);
    [
        DTypeError::Mismatch {
            op,
            lhs: dtype,
            rhs: dtype,
        },
        DTypeError::Unsupported {
            op,
            dtype,
            needs: "an integer",
        },
        DTypeError::Packed { op, scheme: op },
    ]
}

fn device_errors() -> [DeviceError; 6] {
    let (op, device) = ("load", key);
    [
        DeviceError::Mismatch {
            op,
            lhs: device(),
            rhs: device(),
        },
        DeviceError::Unavailable {
            op,
            device: device(),
        },
        DeviceError::Unknown {
            device: device(),
            known: key(),
        },
        DeviceError::Taken { device: device() },
        DeviceError::OutOfMemory {
            device: device(),
            bytes: 1,
        },
        DeviceError::Failed {
            device: device(),
            source: "it is hot".into(),
        },
    ]
}

fn autograd_errors() -> [AutogradError; 10] {
    let op = "load";
    [
        AutogradError::NonScalar { shape: shape() },
        AutogradError::BackwardUntracked,
        AutogradError::Untracked { op },
        AutogradError::GraphFreed { op },
        AutogradError::NoGradient { op },
        AutogradError::Hook {
            location: "x.rs:1:1".into(),
            of: "add",
            source: Error::argument(op, "key", key(), "bad").into(),
        },
        AutogradError::NonFinite {
            op,
            input: 0,
            shape: shape(),
            element: 0,
            value: 0.0,
        },
        AutogradError::GradientCount {
            op,
            expected: 1,
            got: 2,
        },
        AutogradError::GradCheck {
            input: 0,
            element: 0,
            analytic: 0.0,
            numeric: 1.0,
        },
        AutogradError::Recomputed {
            op,
            problem: "2 operations".into(),
        },
    ]
}

fn other_errors() -> [ErrorKind; 7] {
    let op = "load";
    [
        ErrorKind::Argument {
            op,
            name: "key",
            value: key(),
            problem: key(),
        },
        ErrorKind::Factorization {
            op,
            matrix: 0,
            problem: key(),
        },
        ErrorKind::NoValues { what: key() },
        ErrorKind::Released { what: key() },
        ErrorKind::Random(RngError::TooManyElements { n: 1 }),
        ErrorKind::Io(io::Error::other("no room")),
        ErrorKind::Custom("the message of a user".into()),
    ]
}

/// Every kind of error, with hostile text wherever it contains text.
fn kinds() -> Vec<ErrorKind> {
    let shapes = shape_errors().map(ErrorKind::from).into_iter();
    shapes
        .chain(dtype_errors().map(ErrorKind::from))
        .chain(device_errors().map(ErrorKind::from))
        .chain(autograd_errors().map(ErrorKind::from))
        .chain(other_errors())
        .collect()
}

/// A new variant is missing here until it is added to [`kinds`] too.
fn place(kind: &ErrorKind) -> usize {
    use ErrorKind as K;
    match kind {
        K::Shape(ShapeError::Broadcast { .. }) => 0,
        K::Shape(ShapeError::Mismatch { .. }) => 1,
        K::Shape(ShapeError::Unexpected { .. }) => 2,
        K::Shape(ShapeError::Dimension { .. }) => 3,
        K::Shape(ShapeError::Index { .. }) => 4,
        K::Shape(ShapeError::TooLarge { .. }) => 5,
        K::Shape(ShapeError::Rank { .. }) => 6,
        K::DType(DTypeError::Mismatch { .. }) => 7,
        K::DType(DTypeError::Unsupported { .. }) => 8,
        K::DType(DTypeError::Packed { .. }) => 9,
        K::Device(DeviceError::Mismatch { .. }) => 10,
        K::Device(DeviceError::Unavailable { .. }) => 11,
        K::Device(DeviceError::Unknown { .. }) => 12,
        K::Device(DeviceError::Taken { .. }) => 13,
        K::Device(DeviceError::OutOfMemory { .. }) => 14,
        K::Device(DeviceError::Failed { .. }) => 15,
        K::Autograd(AutogradError::NonScalar { .. }) => 16,
        K::Autograd(AutogradError::BackwardUntracked) => 17,
        K::Autograd(AutogradError::Untracked { .. }) => 18,
        K::Autograd(AutogradError::GraphFreed { .. }) => 19,
        K::Autograd(AutogradError::NoGradient { .. }) => 20,
        K::Autograd(AutogradError::Hook { .. }) => 21,
        K::Autograd(AutogradError::NonFinite { .. }) => 22,
        K::Autograd(AutogradError::GradientCount { .. }) => 23,
        K::Autograd(AutogradError::GradCheck { .. }) => 24,
        K::Autograd(AutogradError::Recomputed { .. }) => 25,
        K::Argument { .. } => 26,
        K::Factorization { .. } => 27,
        K::NoValues { .. } => 28,
        K::Released { .. } => 29,
        K::Random(_) => 30,
        K::Io(_) => 31,
        K::Custom(_) => 32,
    }
}

#[test]
fn no_error_contains_control_sequences_or_fills_a_screen() {
    let kinds = kinds();
    let mut places: Vec<usize> = kinds.iter().map(place).collect();
    places.dedup();
    assert_eq!(places, (0..33).collect::<Vec<_>>());
    for kind in kinds {
        let message = Error::from(kind).to_string();
        let steers = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!message.chars().any(steers), "{message:?}");
        assert!(message.chars().count() < 5000, "{}", message.len());
        assert!(message.matches('7').count() <= 2 * 16, "{message}");
        if message.contains("kkk") {
            assert!(
                message.contains(r"\u{1b}[2J\n\r\u{9b}\u{202e}kk"),
                "{message}"
            );
            let cut = "k".repeat(121);
            let whole_sentence = message.chars().count() > 3900;
            assert!(whole_sentence || !message.contains(&cut), "{message}");
        }
    }
}

#[test]
fn shapes_print_sixteen_sizes_at_most() {
    let sizes: Vec<usize> = (1..=16).collect();
    let all = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16";
    assert_eq!(Shape::from(sizes).to_string(), format!("{all}]"));
    let sizes: Vec<usize> = (1..=100).collect();
    let shape = Shape::from(sizes);
    assert_eq!(shape.to_string(), format!("{all}, … and 84 more]"));
    assert_eq!(format!("{shape:?}"), shape.to_string());
}

#[test]
fn what_the_system_says_passes_through() {
    fn missing() -> crate::Result<Tensor> {
        let text = std::fs::read_to_string("no such directory/x")?;
        Ok(Tensor::from(text.len() as i64))
    }
    let error = missing().unwrap_err();
    let ErrorKind::Io(source) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), source.to_string());
}

#[test]
fn errors_of_a_device_or_a_hook_are_the_source_of_the_error() {
    let sources = kinds().into_iter().filter_map(|kind| {
        let error = Error::from(kind);
        std::error::Error::source(&error).map(ToString::to_string)
    });
    let hook = Error::argument("load", "key", key(), "bad").to_string();
    assert_eq!(sources.collect::<Vec<_>>(), ["it is hot".to_owned(), hook]);
}
