//! Charts as SVG that is readable on light and dark pages: [`Curves`] over steps, and a [`confusion_matrix`].

mod axis;
mod confusion_matrix;
mod curves;
mod svg;

pub use confusion_matrix::confusion_matrix;
pub use curves::{Curves, curves};
#[cfg(feature = "inspect-pictures")]
pub(crate) use svg::escape;
