#![allow(clippy::panic, clippy::unwrap_used)]

use std::io;

use super::{Error, ErrorKind};
use crate::error::RngError;
use crate::{DType, Shape, Tensor};

/// A key of a hostile file: long, and with what steers a terminal.
fn key() -> String {
    format!("\u{1b}[2J\n\r\u{9b}\u{202e}{}", "k".repeat(1 << 20))
}

/// A shape that fills a screen.
fn shape() -> Shape {
    vec![7; 100].into()
}

/// Every kind of error, made of hostile text wherever it holds text.
fn kinds() -> Vec<ErrorKind> {
    use ErrorKind as K;
    let (op, device) = ("load", key);
    let dtype = DType::F32;
    let random = RngError::TooManyElements { n: 1 };
    let (lhs, rhs) = (shape, shape);
    vec![
        K::Broadcast {
            op,
            lhs: lhs(),
            rhs: rhs(),
        },
        K::ShapeMismatch {
            op,
            lhs: lhs(),
            rhs: rhs(),
            rule: key(),
        },
        K::Shape {
            op,
            expected: key(),
            got: shape(),
        },
        K::Dimension {
            op,
            dim: 3,
            shape: shape(),
        },
        K::Index {
            op,
            index: 3,
            size: 2,
        },
        K::TooLarge { op, shape: shape() },
        K::Rank { op, rank: 65 },
        K::DTypeMismatch {
            op,
            lhs: dtype,
            rhs: dtype,
        },
        K::UnsupportedDType {
            op,
            dtype,
            needs: "an integer",
        },
        K::DeviceMismatch {
            op,
            lhs: device(),
            rhs: device(),
        },
        K::Unavailable {
            op,
            device: device(),
        },
        K::UnknownDevice {
            device: device(),
            known: key(),
        },
        K::DeviceTaken { device: device() },
        K::OutOfMemory {
            device: device(),
            bytes: 1,
        },
        K::Device {
            device: device(),
            source: "it is hot".into(),
        },
        K::Argument {
            op,
            name: "key",
            value: key(),
            problem: key(),
        },
        K::BackwardNonScalar { shape: shape() },
        K::BackwardUntracked,
        K::GraphFreed { op },
        K::NoGradient { op },
        K::Untracked { op },
        K::GradHook {
            place: "x.rs:1:1".into(),
            of: "add",
            source: Error::argument(op, "key", key(), "bad").into(),
        },
        K::NonFiniteGradient {
            op,
            input: 0,
            shape: shape(),
            element: 0,
            value: 0.0,
        },
        K::GradientCount {
            op,
            expected: 1,
            got: 2,
        },
        K::GradCheck {
            input: 0,
            element: 0,
            analytic: 0.0,
            numeric: 1.0,
        },
        K::NoValues { what: key() },
        K::Random(random),
        K::Io(io::Error::other("no room")),
        K::Custom("the message of a user".into()),
        K::Factorization {
            op,
            matrix: 0,
            problem: key(),
        },
        K::Packed { op, scheme: op },
    ]
}

/// A variant that is new is missing here until it stands in [`kinds`] too.
fn place(kind: &ErrorKind) -> usize {
    use ErrorKind as K;
    match kind {
        K::Broadcast { .. } => 0,
        K::ShapeMismatch { .. } => 1,
        K::Shape { .. } => 2,
        K::Dimension { .. } => 3,
        K::Index { .. } => 4,
        K::TooLarge { .. } => 5,
        K::Rank { .. } => 6,
        K::DTypeMismatch { .. } => 7,
        K::UnsupportedDType { .. } => 8,
        K::DeviceMismatch { .. } => 9,
        K::Unavailable { .. } => 10,
        K::UnknownDevice { .. } => 11,
        K::DeviceTaken { .. } => 12,
        K::OutOfMemory { .. } => 13,
        K::Device { .. } => 14,
        K::Argument { .. } => 15,
        K::BackwardNonScalar { .. } => 16,
        K::BackwardUntracked => 17,
        K::GraphFreed { .. } => 18,
        K::NoGradient { .. } => 19,
        K::Untracked { .. } => 20,
        K::GradHook { .. } => 21,
        K::NonFiniteGradient { .. } => 22,
        K::GradientCount { .. } => 23,
        K::GradCheck { .. } => 24,
        K::NoValues { .. } => 25,
        K::Random(_) => 26,
        K::Io(_) => 27,
        K::Custom(_) => 28,
        K::Factorization { .. } => 29,
        K::Packed { .. } => 30,
    }
}

#[test]
fn no_error_passes_on_what_steers_a_terminal_or_fills_a_screen() {
    let kinds = kinds();
    let mut places: Vec<usize> = kinds.iter().map(place).collect();
    places.dedup();
    assert_eq!(places, (0..31).collect::<Vec<_>>());
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
