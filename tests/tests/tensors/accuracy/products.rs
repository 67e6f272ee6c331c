//! Products of matrices and vectors, compared with sums of products.

use module_nn::Tensor;

use super::case::{Case, draw, draw_positive};
use super::terms::{Bound, Products, bilinear};

/// The products of `[batch, m, k] · [batch, k, n]`.
fn batched(batch: usize, [m, k, n]: [usize; 3]) -> Products {
    Box::new(move |visit| {
        for row in 0..batch * m {
            let matrix = row / m * k * n;
            for p in 0..k {
                for column in 0..n {
                    visit(row * n + column, row * k + p, matrix + p * n + column);
                }
            }
        }
    })
}

/// Around the heights (4, 6, 8, 12) and widths (4, 8, 16, 32) of tiles, blocks of 512 steps, 256 columns and 1,024 rows,
/// the 16 rows that are multiplied in place, and the 96 from which tiles are high.
const SIZES: [[usize; 3]; 23] = [
    [1, 513, 257],
    [257, 513, 1],
    [2, 512, 33],
    [3, 7, 9],
    [4, 1025, 17],
    [5, 511, 31],
    [6, 513, 16],
    [7, 64, 15],
    [11, 100, 32],
    [12, 513, 48],
    [13, 1025, 49],
    [16, 512, 255],
    [17, 513, 256],
    [25, 1, 65],
    [95, 96, 33],
    [96, 97, 257],
    [97, 513, 31],
    [1025, 17, 15],
    [1023, 5, 127],
    [9, 2049, 8],
    [8, 130, 3],
    [13, 80, 5],
    [30, 40, 7],
];

fn transposed(x: &Tensor) -> Tensor {
    // The same numbers, in columns that are contiguous.
    x.t().unwrap().contiguous().unwrap().t().unwrap()
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, a: Tensor, b: Tensor, [m, k, n]: [usize; 3]| {
        let reference = bilinear(Bound::Sums(0.0), batched(1, [m, k, n]), None);
        let multiply = |x: &[Tensor]| x[0].matmul(&x[1]);
        cases.push(Case::new(name, vec![a, b], multiply, reference));
    };
    for size in SIZES {
        let [m, k, n] = size;
        let (a, b) = (draw(&[m, k], 1), draw(&[k, n], 2));
        add(format!("matmul {size:?}"), a, b, size);
    }
    for size in [[13, 513, 33], [97, 129, 65], [1, 700, 40], [40, 700, 1]] {
        let [m, k, n] = size;
        let (a, b) = (draw(&[m, k], 3), draw(&[k, n], 4));
        let (turned_a, turned_b) = (transposed(&a), transposed(&b));
        add(format!("matmul of columns {size:?}"), turned_a, b, size);
        add(format!("matmul by columns {size:?}"), a, turned_b, size);
        // Nothing cancels, so that the sums are as large as the scale.
        let (a, b) = (draw_positive(&[m, k], 5), draw_positive(&[k, n], 6));
        add(format!("matmul, all positive {size:?}"), a, b, size);
    }
    // More than a million outputs.
    let size = [1025, 5, 1031];
    let [m, k, n] = size;
    let (a, b) = (draw(&[m, k], 7), draw(&[k, n], 8));
    add(format!("matmul {size:?}"), a, b, size);
    let size = [3, 300_001, 2];
    let [m, k, n] = size;
    let (a, b) = (draw_positive(&[m, k], 9), draw_positive(&[k, n], 10));
    add(format!("matmul, all positive {size:?}"), a, b, size);

    for (batch, size) in [(5, [13, 33, 17]), (37, [1, 65, 16]), (3, [33, 129, 1])] {
        let [m, k, n] = size;
        let operands = vec![draw(&[batch, m, k], 11), draw(&[batch, k, n], 12)];
        let reference = bilinear(Bound::Sums(0.0), batched(batch, size), None);
        let multiply = |x: &[Tensor]| x[0].matmul(&x[1]);
        let name = format!("matmul of {batch} {size:?}");
        cases.push(Case::new(name, operands, multiply, reference));
    }
    for size in [[65, 513, 31], [1, 257, 100], [130, 17, 257], [6, 1024, 1]] {
        let [m, k, n] = size;
        let operands = vec![draw(&[m, k], 13), draw(&[n, k], 14), draw(&[n], 15)];
        let products: Products = Box::new(move |visit| {
            for out in 0..m * n {
                let (row, column) = (out / n, out % n);
                for p in 0..k {
                    visit(out, row * k + p, column * k + p);
                }
            }
        });
        let bias: Box<dyn Fn(usize) -> usize> = Box::new(move |out| out % n);
        let reference = bilinear(Bound::Sums(0.0), products, Some(bias));
        let map = |x: &[Tensor]| x[0].linear(&x[1], Some(&x[2]));
        let name = format!("linear {size:?}");
        cases.push(Case::new(name, operands, map, reference));
    }
    for count in [1, 15, 64, 1025, (1 << 20) + 13] {
        let operands = vec![draw(&[count], 16), draw(&[count], 17)];
        let products: Products = Box::new(move |visit| (0..count).for_each(|i| visit(0, i, i)));
        let reference = bilinear(Bound::Sums(0.0), products, None);
        let dot = |x: &[Tensor]| x[0].dot(&x[1]);
        cases.push(Case::new(format!("dot {count}"), operands, dot, reference));
    }
    cases
}
