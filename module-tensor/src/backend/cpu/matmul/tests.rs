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

/// The sums of products of each row and column.
fn sums(a: &[f32], b: &[f32], [m, k, n]: [usize; 3]) -> Vec<f32> {
    let sum = |i: usize| (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum();
    (0..m * n).map(sum).collect()
}

#[test]
fn small_products_of_any_layout_are_sums() -> Result<()> {
    let number = |i: usize| (i * 7 % 11) as f32 - 5.0;
    for sizes in [
        [1, 1, 1],
        [2, 3, 4],
        [8, 8, 8],
        [4, 4, 4],
        [5, 9, 7],
        [3, 20, 13],
        [9, 1, 9],
        [6, 40, 1],
    ] {
        let [m, k, n] = sizes;
        let batch = 5;
        let a: Vec<f32> = (0..batch * m * k).map(number).collect();
        let b: Vec<f32> = (0..batch * k * n).map(|i| number(i + 3)).collect();
        let pairs = a.chunks_exact(m * k).zip(b.chunks_exact(k * n));
        let want: Vec<f32> = pairs.flat_map(|(a, b)| sums(a, b, sizes)).collect();
        let (a, b) = (
            Tensor::from_vec(a, [batch, m, k])?,
            Tensor::from_vec(b, [batch, k, n])?,
        );
        // The same elements, columns side by side.
        let by_columns = |x: &Tensor| x.transpose(1, 2)?.contiguous()?.transpose(1, 2);
        for a in [&a, &by_columns(&a)?] {
            for b in [&b, &by_columns(&b)?] {
                for threads in [1, 3] {
                    set_num_threads(threads);
                    assert_eq!(a.matmul(b)?.to_vec::<f32>()?, want, "{sizes:?}");
                }
            }
        }
    }
    Ok(())
}

/// A product of few rows reads whole registers of the right factor's rows, and so what lies behind them.
#[test]
fn what_lies_beside_the_columns_changes_nothing() -> Result<()> {
    let number = |i: usize| (i * 7 % 11) as f32 - 5.0;
    for sizes in [[5, 300, 5], [16, 40, 17], [3, 700, 31], [40, 70, 33]] {
        let [m, k, n] = sizes;
        let (a, b): (Vec<f32>, Vec<f32>) = (
            (0..m * k).map(number).collect(),
            (0..k * n).map(number).collect(),
        );
        let want = sums(&a, &b, sizes);
        let (a, b) = (Tensor::from_vec(a, [m, k])?, Tensor::from_vec(b, [k, n])?);
        assert_eq!(a.matmul(&b)?.to_vec::<f32>()?, want, "{sizes:?}");
        let beside = Tensor::full([k, 9], f32::NAN, ())?;
        let wide = Tensor::cat(&[&b, &beside], 1)?;
        let part = wide.narrow(1, 0..n)?;
        assert_eq!(a.matmul(&part)?.to_vec::<f32>()?, want, "{sizes:?}");
    }
    Ok(())
}
