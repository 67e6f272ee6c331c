use std::ops::Range;

use module_nn::{DType, Device, Result, Shape, Tensor};

/// How the elements of one parameter are divided among ranks: in row-major order, in parts of one length, of which the last
/// ones are filled with zeros or consist of nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) shape: Shape,
    pub(super) dtype: DType,
    pub(super) device: Device,
    ranks: usize,
}

impl Division {
    /// The division of tensors like this one.
    pub(super) fn of(value: &Tensor, ranks: usize) -> Self {
        Self {
            shape: value.shape().clone(),
            dtype: value.dtype(),
            device: value.device(),
            ranks,
        }
    }

    /// The division of the same tensors among another number of ranks.
    pub(super) fn among(&self, ranks: usize) -> Self {
        let shape = self.shape.clone();
        Self {
            shape,
            ranks,
            ..*self
        }
    }

    pub(super) fn numel(&self) -> usize {
        self.shape.numel()
    }

    /// The length of each rank's part.
    pub(super) fn part_len(&self) -> usize {
        self.numel().div_ceil(self.ranks)
    }

    /// The elements of a rank's part, without those that fill it.
    pub(super) fn range(&self, rank: usize) -> Range<usize> {
        let bound = |rank: usize| (rank * self.part_len()).min(self.numel());
        bound(rank)..bound(rank + 1)
    }

    /// A rank's part, with memory of its own.
    pub(super) fn part(&self, whole: &Tensor, rank: usize) -> Result<Tensor> {
        let flat = whole.detach().reshape([self.numel()])?;
        self.filled(&flat.narrow(0, self.range(rank))?)
    }

    /// The elements of a part, filled with zeros to its length. The result has memory of its own.
    pub(super) fn filled(&self, elements: &Tensor) -> Result<Tensor> {
        let missing = self.part_len() - elements.numel().min(self.part_len());
        let zeros = Tensor::zeros([missing], (elements.dtype(), &elements.device()))?;
        Tensor::cat(&[elements, &zeros], 0)
    }

    /// A part whose elements are still to come.
    pub(super) fn absent_part(&self) -> Result<Tensor> {
        let shape = [self.part_len()].into();
        Tensor::absent("Sharded", &shape, (self.dtype, &self.device))
    }

    /// The parts of all ranks, one after another.
    pub(super) fn parts(&self, whole: &Tensor) -> Result<Vec<Tensor>> {
        (0..self.ranks).map(|rank| self.part(whole, rank)).collect()
    }

    /// The tensor that has these parts.
    pub(super) fn whole(&self, parts: &[Tensor]) -> Result<Tensor> {
        let joined = Tensor::cat(parts, 0)?;
        joined.narrow(0, 0..self.numel())?.reshape(&self.shape)
    }
}

#[cfg(test)]
mod tests {
    use module_nn::{Result, Tensor};

    use super::Division;

    #[test]
    fn parts_are_of_one_length_and_join_to_the_whole() -> Result<()> {
        for sizes in [[1, 1], [2, 3], [5, 1], [3, 4], [0, 3]] {
            let numel: usize = sizes.iter().product();
            let values: Vec<f32> = (0..numel).map(|i| i as f32 - 0.5).collect();
            let whole = Tensor::from_vec(values.clone(), sizes)?;
            for ranks in 1..6 {
                let division = Division::of(&whole, ranks);
                let parts = division.parts(&whole)?;
                assert_eq!(parts.len(), ranks);
                let mut elements = Vec::new();
                for (rank, part) in parts.iter().enumerate() {
                    assert_eq!(part.numel(), division.part_len());
                    assert!(!part.shares_memory_with(&whole));
                    let own = division.range(rank).len();
                    let numbers = part.to_vec::<f32>()?;
                    elements.extend_from_slice(&numbers[..own]);
                    assert!(numbers[own..].iter().all(|&filler| filler == 0.0));
                }
                assert_eq!(elements, values);
                let joined = division.whole(&parts)?;
                assert_eq!(joined.shape(), whole.shape());
                assert_eq!(joined.to_vec::<f32>()?, values);
            }
        }
        Ok(())
    }

    #[test]
    fn transposed_values_are_divided_in_row_major_order() -> Result<()> {
        let whole = Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).t()?;
        let division = Division::of(&whole, 2);
        assert_eq!(division.part(&whole, 0)?.to_vec::<f32>()?, [1.0, 4.0, 2.0]);
        assert_eq!(division.part(&whole, 1)?.to_vec::<f32>()?, [5.0, 3.0, 6.0]);
        Ok(())
    }
}
