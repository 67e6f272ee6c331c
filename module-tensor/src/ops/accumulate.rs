//! Addition in place, for gradients that accumulate.

use crate::{DType, Result, Tensor};

impl Tensor {
    /// Whether [`add_in_place`](Self::add_in_place) may overwrite this tensor with the sum: neither a graph nor
    /// another handle refers to its memory, and the addition cannot fail.
    pub(crate) fn can_add_in_place(&self, other: &Self) -> bool {
        let plain = self.edge.is_none() && other.edge.is_none();
        let alike = self.shape() == other.shape()
            && self.dtype() == other.dtype()
            && self.device() == other.device();
        let whole = matches!(self.dtype(), DType::F32 | DType::F64)
            && self.layout.is_contiguous()
            && other.layout.is_contiguous();
        plain && alike && whole && self.storage.is_unshared()
    }

    /// `self + α·other`, in the memory of `self` if the backend supports it. Both tensors must be untracked and have the
    /// same shape, dtype and device.
    pub(crate) fn add_in_place(self, other: &Self, alpha: f64) -> Result<Self> {
        let Self {
            storage, layout, ..
        } = self;
        let shape = layout.shape().clone();
        let a = crate::backend::Operand { storage, layout };
        let backend = other.device().backend();
        let sum = backend.add_scaled(a, other.operand(), alpha.into())?;
        Ok(Self::fresh(sum, shape))
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Result, Tensor};

    #[test]
    fn only_memory_that_nobody_else_holds_is_written_over() -> Result<()> {
        let one = Tensor::from([1.0_f32, 2.0, 3.0]);
        let other = Tensor::from([10.0_f32, 20.0, 30.0]);
        let held = one.clone();
        assert!(!one.can_add_in_place(&other));
        drop(held);
        assert!(one.can_add_in_place(&other));
        assert!(!one.can_add_in_place(&other.to_dtype(DType::F64)?));
        assert!(!one.can_add_in_place(&other.narrow(0, 0..2)?));
        let address = one.storage.address();
        let sum = one.add_in_place(&other, 1.0)?;
        assert_eq!(sum.to_vec::<f32>()?, [11.0, 22.0, 33.0]);
        assert_eq!(sum.storage.address(), address);
        Ok(())
    }

    #[test]
    fn an_operator_writes_over_a_value_and_never_over_a_reference() -> Result<()> {
        let b = Tensor::from([3.0_f64, f64::INFINITY, -0.0]);
        for (operator, method) in [
            (
                (|a, b| a + b) as fn(Tensor, &Tensor) -> Result<Tensor>,
                (|a, b| a.add(b)) as fn(&Tensor, &Tensor) -> Result<Tensor>,
            ),
            (|a, b| a - b, |a, b| a.sub(b)),
        ] {
            let a = Tensor::from([0.1_f64, 1.0, -0.0]);
            let bits = |x: Tensor| {
                let values = x.to_vec::<f64>()?;
                Ok::<_, crate::Error>(values.into_iter().map(f64::to_bits).collect::<Vec<_>>())
            };
            let expected = bits(method(&a, &b)?)?;
            assert_eq!(a.to_vec::<f64>()?, [0.1, 1.0, -0.0]);

            let (address, held) = (a.storage.address(), a.clone());
            let fresh = operator(a, &b)?;
            assert_ne!(fresh.storage.address(), address);
            assert_eq!(held.to_vec::<f64>()?, [0.1, 1.0, -0.0]);

            let over = operator(held, &b)?;
            assert_eq!(over.storage.address(), address);
            assert_eq!(bits(over)?, expected);
            assert_eq!(bits(fresh)?, expected);
        }
        Ok(())
    }

    #[test]
    fn a_gradient_that_is_held_does_not_change() -> Result<()> {
        let x = Tensor::from([1.0_f32, 2.0]).with_grad()?;
        x.mul(3.0)?.sum(..)?.backward()?;
        let held = x.grad();
        x.mul(4.0)?.sum(..)?.backward()?;
        let now = x.grad();
        assert_eq!(
            held.map(|g| g.to_vec::<f32>()).transpose()?,
            Some(vec![3.0, 3.0])
        );
        assert_eq!(
            now.map(|g| g.to_vec::<f32>()).transpose()?,
            Some(vec![7.0, 7.0])
        );
        Ok(())
    }
}
