use std::fmt::Write as _;

use module_core::{DType, Error, Result, Tensor};

use super::svg::{begin, escape, width};

/// The minimum side of a cell.
const CELL: f64 = 48.0;

/// The colors of a fraction of 0 and of 1, in red, green and blue.
const COLORS: [[f64; 3]; 2] = [[239.0, 246.0, 255.0], [29.0, 78.0, 216.0]];

/// Draws a confusion matrix with rows of true and columns of predicted classes; the entries are colored by their fraction
/// of the row.
///
/// `matrix` is `[C, C]`, counts or fractions, as computed by [`ConfusionMatrix`](crate::metrics::ConfusionMatrix). `names`
/// are the names of the classes; without names, the classes are numbered.
///
/// # Errors
///
/// A matrix that is not square, or has entries that are negative or not finite; a number of names that differs from the
/// classes.
///
/// # Example
///
/// ```
/// use module_nn::metrics::{ConfusionMatrix, Metric};
/// use module_nn::plot;
/// use module_nn::prelude::*;
///
/// let mut matrix = ConfusionMatrix::new(2)?;
/// matrix.update(&Tensor::from([0_i64, 0, 1]), &Tensor::from([0_i64, 1, 1]))?;
/// let svg = plot::confusion_matrix(&matrix.compute()?, &["cat", "dog"])?;
/// assert!(svg.contains("true dog, predicted cat: 1"));
/// # Ok::<(), Error>(())
/// ```
pub fn confusion_matrix(matrix: &Tensor, names: &[&str]) -> Result<String> {
    const OP: &str = "confusion_matrix";
    let classes = match **matrix.shape() {
        [rows, columns] if rows == columns && rows > 0 => rows,
        _ => {
            let problem = "must be [C, C] with C of at least 1";
            return Err(Error::argument(OP, "matrix", matrix.shape(), problem));
        }
    };
    if !names.is_empty() && names.len() != classes {
        let problem = format!("there are {classes} classes; give each a name, or none");
        return Err(Error::argument(OP, "names", names.len(), problem));
    }
    let names = match names.is_empty() {
        true => (0..classes).map(|class| class.to_string()).collect(),
        false => names
            .iter()
            .map(|name| escape(name))
            .collect::<Vec<String>>(),
    };
    let is_count = !matrix.dtype().is_floating_point();
    let entries: Vec<f64> = matrix.detach().to_dtype(DType::F64)?.to_vec()?;
    if let Some(wrong) = entries
        .iter()
        .find(|entry| !(entry.is_finite() && **entry >= 0.0))
    {
        let problem = "must have finite entries of at least 0";
        return Err(Error::argument(OP, "matrix", wrong, problem));
    }

    let named = names.iter().map(|name| width(name)).fold(16.0, f64::max);
    let shown = entries.iter().map(|&entry| match is_count {
        true => format!("{entry}"),
        false => format!("{entry:.2}"),
    });
    let shown: Vec<String> = shown.collect();
    let cell = shown.iter().map(|entry| width(entry) + 12.0);
    let cell = cell.fold(CELL, f64::max);
    let side = cell * classes as f64;
    let (left, top) = (44.0 + named, 16.0);
    // Column names are slanted, down to the left.
    let below = 24.0 + named * 0.71;
    let mut svg = begin(left + side + 16.0, top + side + below + 28.0);
    for (row, entries) in entries.chunks_exact(classes).enumerate() {
        let sum: f64 = entries.iter().sum();
        for (column, &entry) in entries.iter().enumerate() {
            let share = if sum > 0.0 { entry / sum } else { 0.0 };
            let shown = &shown[row * classes + column];
            let (x, y) = (left + cell * column as f64, top + cell * row as f64);
            let (middle, base) = (x + cell / 2.0, y + cell / 2.0 + 4.0);
            let (truth, predicted) = (&names[row], &names[column]);
            let ink = if share > 0.7 { "#fff" } else { "#1f2937" };
            let percent = 100.0 * share;
            let _ = writeln!(
                svg,
                "<g><title>true {truth}, predicted {predicted}: {shown} ({percent:.1} %)</title>\
                 <rect class=\"cell\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{cell:.2}\" height=\"{cell:.2}\" \
                 fill=\"{}\"/><text class=\"count\" text-anchor=\"middle\" x=\"{middle:.2}\" y=\"{base:.2}\" \
                 style=\"fill:{ink}\">{shown}</text></g>",
                color(share)
            );
        }
    }
    for (class, name) in names.iter().enumerate() {
        let middle = cell * class as f64 + cell / 2.0;
        let (x, y) = (left + middle, top + middle + 4.0);
        let (before, under) = (left - 8.0, top + side + 14.0);
        let _ = writeln!(
            svg,
            "<text class=\"row\" text-anchor=\"end\" x=\"{before:.2}\" y=\"{y:.2}\">{name}</text>\
             <text class=\"column\" text-anchor=\"end\" \
             transform=\"translate({:.2} {under:.2})rotate(-45)\">{name}</text>",
            x + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<rect class=\"frame\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{side:.2}\" height=\"{side:.2}\"/>\
         <text text-anchor=\"middle\" transform=\"translate(18 {:.2})rotate(-90)\">true</text>\
         <text text-anchor=\"middle\" x=\"{:.2}\" y=\"{:.2}\">predicted</text>\n</svg>",
        top + side / 2.0,
        left + side / 2.0,
        top + side + below + 16.0
    );
    Ok(svg)
}

/// The color of a fraction.
fn color(share: f64) -> String {
    let [of_none, of_all] = COLORS;
    let mut color = "#".to_owned();
    for (none, all) in of_none.into_iter().zip(of_all) {
        let part = (none + share.min(1.0) * (all - none)).round() as u8;
        let _ = write!(color, "{part:02x}");
    }
    color
}
