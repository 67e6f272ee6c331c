use std::collections::HashMap;

use module_nn::{Module, ModuleExt, Result, Tensor};

use crate::{Comm, FailureCause, RankFailure};

/// Checks that the parameters of a model have the same bits on all ranks.
///
/// # Errors
///
/// [`FailureCause::Diverged`] with the first rank, and its first parameter, whose values most ranks do not have; of two
/// different ones, rank 0 counts as right.
///
/// # Example
///
/// ```
/// use module_dist::{LocalComm, check_parameters};
/// use module_nn::prelude::*;
///
/// let results = LocalComm::run_with(2, LocalComm::DEADLINE, |comm| {
///     let model = Linear::new(1, 1)?;
///     model.weight().set(Tensor::from([[comm.rank() as f32]]))?;
///     check_parameters(&model, &*comm)
/// })?;
/// for result in results {
///     assert!(result.unwrap_err().to_string().starts_with("rank 1 in check_parameters: its parameter `weight`"));
/// }
/// # Ok::<(), Error>(())
/// ```
pub fn check_parameters(model: &dyn Module, comm: &dyn Comm) -> Result<()> {
    let named: Vec<_> = model.named_parameters().collect();
    let values = named.iter().map(|(path, it)| (path.as_str(), it.detach()));
    check_checksums(&values.collect::<Vec<_>>(), comm)
}

pub(super) fn check_checksums(values: &[(&str, Tensor)], comm: &dyn Comm) -> Result<()> {
    let sums = values.iter().map(|(_, value)| checksum(value));
    let sums = sums.collect::<Result<Vec<_>>>()?;
    let gathered = comm.all_gather(&Tensor::from(sums))?;
    let all = gathered.iter().map(Tensor::to_vec::<i64>);
    let all = all.collect::<Result<Vec<_>>>()?;
    let right = most_frequent(&all);
    for (rank, theirs) in all.iter().enumerate() {
        let differs = theirs.iter().zip(right).position(|(a, b)| a != b);
        let Some(differs) = differs.and_then(|i| values.get(i)) else {
            continue;
        };
        let parameter = differs.0.to_owned();
        let cause = FailureCause::Diverged { parameter };
        let failure = RankFailure::new(rank, "check_parameters", cause);
        comm.fail(failure.clone());
        return Err(failure.into());
    }
    Ok(())
}

/// The list that occurs most often, and the first of several such.
fn most_frequent(all: &[Vec<i64>]) -> &[i64] {
    let mut counts: HashMap<&[i64], usize> = HashMap::new();
    for list in all {
        *counts.entry(list).or_default() += 1;
    }
    let most = counts.values().copied().max();
    let first = all
        .iter()
        .find(|list| counts.get(list.as_slice()).copied() == most);
    first.map_or(&[], Vec::as_slice)
}

/// A number that differs, but for one chance in 2⁶⁴, if a bit of the values does.
fn checksum(tensor: &Tensor) -> Result<i64> {
    let bytes = match tensor.as_le_bytes() {
        Some(bytes) => bytes,
        None => &tensor.to_host()?.to_le_bytes(),
    };
    // FNV-1a on words, with a rotation so that high bits reach low ones.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in bytes.chunks(8) {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        hash = (hash ^ u64::from_le_bytes(padded))
            .wrapping_mul(0x100_0000_01b3)
            .rotate_left(29);
    }
    Ok(hash as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_most_ranks_are_right() {
        assert_eq!(most_frequent(&[vec![1], vec![2], vec![2]]), [2]);
        assert_eq!(most_frequent(&[vec![1], vec![2]]), [1]);
    }

    #[test]
    fn each_bit_changes_the_checksum() -> Result<()> {
        let bits = |flipped: u32| {
            let mut values = [1.0_f32, 2.0, 3.0];
            if flipped < 96 {
                let value = &mut values[flipped as usize / 32];
                *value = f32::from_bits(value.to_bits() ^ (1 << (flipped % 32)));
            }
            checksum(&Tensor::from(values))
        };
        let original = bits(96)?;
        for flipped in 0..96 {
            assert_ne!(bits(flipped)?, original, "bit {flipped}");
        }
        Ok(())
    }
}
