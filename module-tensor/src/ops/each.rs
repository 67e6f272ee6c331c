//! Kernels of elements: which order they see, and which one results have.
//!
//! Elements that fill a block of memory in another than row-major order, such as those of a transposed tensor, are computed
//! in the order in which they lie, and the result keeps this order, as in PyTorch. Other results are in row-major order.

use crate::Result;
use crate::backend::{Operand, Storage};
use crate::tensor::Tensor;

impl Tensor {
    /// The result of a kernel of each element.
    pub(super) fn each(
        &self,
        name: &'static str,
        kernel: impl FnOnce(Operand) -> Result<Storage>,
    ) -> Result<Self> {
        self.storage.check_plain(name)?;
        match self.layout.in_memory_order() {
            None => Ok(self.like_shape(kernel(self.operand())?)),
            Some((flat, like)) => {
                let storage = kernel(self.operand_with(flat))?;
                Ok(Self::from_storage(storage, like))
            }
        }
    }

    /// The result of a kernel of each element and its counterpart in a tensor of the same shape.
    pub(super) fn each_pair(
        &self,
        name: &'static str,
        other: &Self,
        kernel: impl FnOnce(Operand, Operand) -> Result<Storage>,
    ) -> Result<Self> {
        other.storage.check_plain(name)?;
        let have_one_order = self.layout.strides() == other.layout.strides();
        if have_one_order && let Some((flat, _)) = other.layout.in_memory_order() {
            let other = other.operand_with(flat);
            return self.each(name, |x| kernel(x, other));
        }
        self.storage.check_plain(name)?;
        Ok(self.like_shape(kernel(self.operand(), other.operand())?))
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Result, Tensor};

    type Operation = fn(&Tensor) -> Result<Tensor>;

    const OPERATIONS: [Operation; 10] = [
        |x| x.relu(),
        |x| x.exp(),
        |x| x.mul(3.0),
        |x| x.add(x),
        |x| x.div(&x.neg()?),
        |x| x.maximum(&x.square()?),
        |x| x.to_dtype(DType::BF16)?.to_dtype(DType::F64),
        |x| x.gt(0.5)?.to_dtype(DType::F64),
        |x| x.lt(&x.mul(x)?)?.to_dtype(DType::F64),
        |x| {
            let leaf = x.with_grad()?;
            leaf.silu()?.backward_with(x, Default::default())?;
            leaf.grad()
                .ok_or_else(|| crate::Error::custom("no gradient"))
        },
    ];

    /// Numbers behind others, as dimensions of these sizes in this order.
    fn permuted(sizes: &[usize], order: &[isize]) -> Tensor {
        let numel: usize = sizes.iter().product();
        let numbers = (0..numel + 5).map(|i| (i as f64 * 0.618_034).fract() * 4.0 - 2.0);
        let numbers = Tensor::from_vec(numbers.collect(), [numel + 5]).unwrap();
        let block = numbers.narrow(0, 5..numel + 5).unwrap();
        block.reshape(sizes).unwrap().permute(order).unwrap()
    }

    #[test]
    fn results_have_the_strides_of_pytorch() {
        // `torch.relu`, `torch.exp` and others of such tensors have these strides, in PyTorch 2.15.
        for (x, strides) in [
            (permuted(&[8, 6], &[1, 0]), &[1, 6][..]),
            (permuted(&[2, 4, 5, 3], &[0, 3, 1, 2]), &[60, 1, 15, 3]),
            (permuted(&[4, 6, 5, 3], &[2, 0, 3, 1]), &[3, 90, 1, 15]),
            (permuted(&[1, 8, 6], &[0, 2, 1]), &[48, 1, 6]),
            (permuted(&[8, 1, 6], &[2, 1, 0]), &[1, 6, 6]),
            (permuted(&[8, 6], &[0, 1]), &[6, 1]),
        ] {
            for f in OPERATIONS {
                let (y, expected) = (f(&x).unwrap(), f(&x.contiguous().unwrap()).unwrap());
                assert_eq!((y.layout().strides(), y.layout().offset()), (strides, 0));
                let (y, expected) = (
                    y.to_vec::<f64>().unwrap(),
                    expected.to_vec::<f64>().unwrap(),
                );
                assert!(y == expected, "{strides:?}");
            }
        }
    }

    #[test]
    fn elements_that_fill_no_block_become_row_major() {
        let x = permuted(&[8, 6], &[0, 1]);
        let row = permuted(&[6], &[0]);
        for x in [
            x.narrow(1, 1..4).unwrap(),
            x.t().unwrap().narrow(0, 1..4).unwrap(),
            row.expand([8, 6]).unwrap(),
            permuted(&[0, 6], &[1, 0]),
        ] {
            for f in OPERATIONS {
                assert!(f(&x).unwrap().is_contiguous());
            }
        }
        // Two orders.
        let columns = permuted(&[6, 8], &[1, 0]);
        assert!(x.add(&columns).unwrap().is_contiguous());
        assert!(columns.gt(&x).unwrap().is_contiguous());
    }
}
