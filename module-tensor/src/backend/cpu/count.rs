//! Counts of numbers.

use super::view::to_row_major;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::{Result, ShapeError};

/// Few counts are kept several times: to count a number again at once would wait until the last count is in memory.
const FEW: usize = 1 << 12;

/// The number of occurrences of each number below `length`, as `I64`.
pub(super) fn bincount(x: &Operand, length: usize) -> Result<Storage> {
    let values = to_row_major::<i64>(x)?;
    check_allocatable::<i64>(length)?;
    Ok(CpuStorage::wrap(match length <= FEW {
        true => count::<4>(&values, length)?,
        false => count::<1>(&values, length)?,
    }))
}

/// Counts in `N` tables in turn.
fn count<const N: usize>(values: &[i64], length: usize) -> Result<Vec<i64>> {
    let mut tables = [(); N].map(|()| vec![0_i64; length]);
    let mut outside = None;
    let mut add = |table: &mut Vec<i64>, v: i64| {
        let count = usize::try_from(v).ok().and_then(|v| table.get_mut(v));
        match count {
            Some(count) => *count += 1,
            None => outside = Some(v),
        }
    };
    let (groups, rest) = values.as_chunks::<N>();
    for group in groups {
        for (table, &v) in tables.iter_mut().zip(group) {
            add(table, v);
        }
    }
    for (table, &v) in tables.iter_mut().zip(rest) {
        add(table, v);
    }
    if let Some(index) = outside {
        let (op, size) = ("bincount", length);
        return Err(ShapeError::Index { op, index, size }.into());
    }
    let mut tables = tables.into_iter();
    let mut total = tables.next().unwrap_or_default();
    for table in tables {
        for (total, count) in total.iter_mut().zip(table) {
            *total += count;
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::FEW;
    use crate::Tensor;

    #[test]
    fn every_number_is_counted_in_short_and_long_tables() {
        for (len, numbers) in [(1, 1), (3, 2), (1001, 7), (5003, 2 * FEW as i64)] {
            let values: Vec<i64> = (0..len).map(|i| i * i * 31 % numbers).collect();
            let x = Tensor::from_vec(values.clone(), [len as usize]).unwrap();
            let counts = x.bincount(None, numbers as usize).unwrap().to_vec::<i64>();
            let counted = |v: i64| values.iter().filter(|&&value| value == v).count() as i64;
            let want: Vec<i64> = (0..numbers).map(counted).collect();
            assert_eq!(counts.unwrap(), want);
        }
    }

    #[test]
    fn a_number_outside_of_the_table_is_an_error() {
        let backend = crate::Device::cpu().backend();
        for v in [-1_i64, 3, i64::MIN] {
            let x = Tensor::from([0, v, 2]);
            let error = backend.bincount(x.operand(), 3).err().unwrap().to_string();
            assert!(error.contains(&v.to_string()), "{error}");
        }
    }
}
