//! The tiles of a product, of plain numbers or of matrices of tensor cores.

use crate::elem::Elem;
use crate::matrix_tiles::{DIRECTIVES, MatrixTile};
use crate::product::Product;
use crate::tiles::Tile;

/// Fewer rows, columns or terms leave most of a matrix of the tensor cores empty.
const WORTH: usize = 16;

/// So many tiles of tensor cores keep the device busy.
const BUSY: usize = 128;

/// The shape of the tiles.
#[derive(Clone, Copy)]
pub(crate) enum ProductTile {
    Plain(Tile),
    Matrix(MatrixTile),
}

impl ProductTile {
    pub(crate) fn new(product: &Product<'_>, has_tensor_cores: bool) -> Self {
        let (batch, rows, columns) = (product.batch, product.rows, product.columns);
        let is_large = rows.min(columns).min(product.terms) >= WORTH;
        if has_tensor_cores && is_large && product.is_of_halves() {
            return Self::Matrix(MatrixTile::new(batch, rows, columns, BUSY, product.quads));
        }
        let is_wide = matches!(product.value, "f64" | "i64");
        Self::Plain(Tile::new(batch, [rows, columns, product.terms], is_wide))
    }

    /// Whether it writes rows of this many elements, which may share words.
    pub(crate) fn can_write(self, out: Elem, columns: usize) -> bool {
        match self {
            Self::Plain(_) => out.per_word() == 1,
            Self::Matrix(_) => columns.is_multiple_of(out.per_word()),
        }
    }

    pub(crate) fn count(self, rows: usize, columns: usize) -> usize {
        match self {
            Self::Plain(tile) => tile.count(rows, columns),
            Self::Matrix(tile) => tile.count(rows, columns),
        }
    }

    pub(crate) fn key(self, adjacent_terms: [bool; 2]) -> String {
        match self {
            Self::Plain(tile) => tile.key(adjacent_terms),
            Self::Matrix(tile) => tile.key(adjacent_terms),
        }
    }

    /// What the source begins with, and what the elements that it reads are taken for.
    pub(crate) fn reading(self, reads: &[Elem]) -> (&'static str, Vec<Elem>) {
        match self {
            Self::Plain(_) => ("", reads.to_vec()),
            Self::Matrix(tile) => (DIRECTIVES, (0..reads.len()).map(|i| tile.elem(i)).collect()),
        }
    }

    pub(crate) fn code(
        self,
        out: Elem,
        value: &str,
        adjacent_terms: [bool; 2],
        is_partial: bool,
    ) -> String {
        match self {
            Self::Plain(tile) => tile.code(out, value, adjacent_terms, is_partial),
            Self::Matrix(tile) => tile.code(out, adjacent_terms, is_partial),
        }
    }
}
