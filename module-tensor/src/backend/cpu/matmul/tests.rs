//! Matrix products, compared with their sums as they are defined.

use crate::{Result, Tensor, set_num_threads};

#[test]
fn a_few_rows_are_multiplied_as_each_is() -> Result<()> {
    let numbers =
        |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7 % 11) as f32 - 5.0).collect() };
    let (depth, columns) = (600, 500);
    let weight = Tensor::from_vec(numbers(depth * columns), [columns, depth])?;
    let bias = Tensor::from_vec(numbers(columns), [columns])?;
    for rows in [2, 3, 4, 5] {
        let x = Tensor::from_vec(numbers(rows * depth), [rows, depth])?;
        for bias in [None, Some(&bias)] {
            let all = x.linear(&weight, bias)?.to_vec::<f32>()?;
            let each = (0..rows).map(|i| x.narrow(0, i..i + 1)?.linear(&weight, bias)?.to_vec());
            let each: Vec<Vec<f32>> = each.collect::<Result<_>>()?;
            // Integers, which are exact in any order.
            assert_eq!(all, each.concat(), "{rows}");
        }
    }
    Ok(())
}

#[test]
fn a_column_by_a_row_is_each_product() -> Result<()> {
    let numbers =
        |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7 % 11) as f32 - 5.0).collect() };
    for (rows, columns) in [(2, 3), (70, 33), (900, 300)] {
        let x = Tensor::from_vec(numbers(rows), [rows, 1])?;
        let y = Tensor::from_vec(numbers(columns), [1, columns])?;
        let bias = Tensor::from_vec(numbers(columns), [columns])?;
        let expected: Vec<f32> = (&x * &y)?.to_vec()?;
        for threads in [1, 3] {
            set_num_threads(threads);
            let product: Vec<f32> = x.matmul(&y)?.to_vec()?;
            // A product of -0 is added to 0.
            let bits = |v: &f32| (v + 0.0).to_bits();
            assert!(
                product
                    .iter()
                    .map(|v| v.to_bits())
                    .eq(expected.iter().map(bits))
            );
            let sums: Vec<f32> = x.linear(&y.t()?, Some(&bias))?.to_vec()?;
            assert_eq!(sums, (&(&x * &y)? + &bias)?.to_vec::<f32>()?);
        }
        // Factors that do not lie side by side.
        let (column, row) = (x.expand([rows, 4])?.narrow(1, 2..3)?, y.t()?.t()?);
        let same: Vec<f32> = column.matmul(&row)?.to_vec()?;
        assert_eq!(same, expected);
        let one = x.narrow(0, 1..2)?.expand([rows, 1])?.matmul(&y)?;
        let second = expected[columns..2 * columns].repeat(rows);
        assert_eq!(one.to_vec::<f32>()?, second);
    }
    Ok(())
}

/// Sums of one column, of lines and of columns of the right factor.
#[test]
fn small_products_are_added_to_the_row_in_order() -> Result<()> {
    // Not integers: another order of additions gives other bits.
    let numbers = |count: usize| -> Vec<f32> { (1..=count).map(|i| (i as f32).sin()).collect() };
    for [m, n, depth] in [[1, 1, 1], [5, 1, 9], [3, 4, 7], [2, 17, 5]] {
        let (x, y, row) = (numbers(m * depth), numbers(n * depth), numbers(n));
        let sum = |start: f32, i: usize, j: usize| {
            let products = (0..depth).map(|p| x[i * depth + p] * y[p * n + j]);
            products.fold(start, |sum, product| sum + product)
        };
        let sums = |start: &[f32]| -> Vec<f32> {
            let of_row = |i: usize| (0..n).map(move |j| (i, j));
            let all = (0..m).flat_map(of_row);
            all.map(|(i, j)| sum(start[j], i, j)).collect()
        };
        let factor = Tensor::from_vec(x.clone(), [m, depth])?;
        let lines = Tensor::from_vec(y.clone(), [depth, n])?;
        let columns = lines.t()?.contiguous()?.t()?;
        let bias = Tensor::from_vec(row.clone(), [n])?;
        for right in [&lines, &columns] {
            let product = factor.matmul(right)?.to_vec::<f32>()?;
            assert_eq!(product, sums(&vec![0.0; n]), "{m} {n} {depth}");
            let added = factor.linear(&right.t()?, Some(&bias))?.to_vec::<f32>()?;
            assert_eq!(added, sums(&row), "{m} {n} {depth}");
        }
    }
    Ok(())
}
