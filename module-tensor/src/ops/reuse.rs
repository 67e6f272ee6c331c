//! Operations whose result may lie in the memory of an operand that nothing else holds: gradients that accumulate, operators
//! of values, formulas of gradients.

use std::borrow::Cow;

use super::Value;
use crate::backend::{BinaryOp, Operand, UnaryOp};
use crate::{DType, Result, Shape, Tensor};

impl Tensor {
    /// Whether a kernel may write its result over the elements.
    fn is_replaceable(&self) -> bool {
        let alone = matches!(self.dtype(), DType::F32 | DType::F64) && self.storage.is_unshared();
        alone && !self.is_packed() && self.layout.is_contiguous()
    }

    /// Whether a result of this tensor, which may be broadcast, and `other` has the shape of `other` and can be written over it.
    fn can_be_written_over(&self, other: &Self) -> bool {
        let alike = self.dtype() == other.dtype() && self.device() == other.device();
        alike && other.is_replaceable() && self.shape().broadcasts_to(other.shape())
    }

    /// Whether neither is in a graph, which could need the elements again.
    fn are_plain(a: &Self, b: &Self) -> bool {
        a.edge.is_none() && b.edge.is_none()
    }

    /// The tensor's own handle to its memory, which a kernel may take if it is the only one.
    pub(super) fn into_operand(self) -> Operand {
        let Self {
            storage, layout, ..
        } = self;
        Operand { storage, layout }
    }

    /// Whether [`add_in_place`](Self::add_in_place) may overwrite this tensor with the sum: neither a graph nor
    /// another handle refers to its memory, and the addition cannot fail.
    pub(crate) fn can_add_in_place(&self, other: &Self) -> bool {
        let plain = Self::are_plain(self, other) && self.shape() == other.shape();
        plain && other.layout.is_contiguous() && other.can_be_written_over(self)
    }

    /// The sum with `other`, in the memory of `self` if the backend supports it.
    pub(crate) fn add_in_place(self, other: &Self) -> Result<Self> {
        self.replaced(BinaryOp::Add, other)
    }

    /// The result of an operation with `other`, which may be broadcast, in the memory of `self` if the backend supports it.
    fn replaced(self, op: BinaryOp, other: &Self) -> Result<Self> {
        let (shape, backend) = (self.shape().clone(), other.device().backend());
        let is_whole = other.shape() == &shape;
        let other = other.operand_as(op.name(), &shape)?;
        let storage = match op {
            BinaryOp::Add if is_whole => backend.add_scaled(self.into_operand(), other, 1.into()),
            BinaryOp::Sub if is_whole => {
                backend.add_scaled(self.into_operand(), other, (-1).into())
            }
            _ => backend.binary(op, self.into_operand(), other),
        };
        Ok(Self::fresh(storage?, shape))
    }

    /// The result of an operation with a tensor or a number, in the memory of `self` if nothing else needs it; otherwise by
    /// `method`.
    pub(super) fn binary_over<'a>(
        self,
        op: BinaryOp,
        other: Value<'a>,
        method: impl FnOnce(&Self, Value<'a>) -> Result<Self>,
    ) -> Result<Self> {
        match other {
            Value::Tensor(ref b) if b.can_be_written_over(&self) && Self::are_plain(&self, b) => {
                self.replaced(op, b)
            }
            // The gradients of sums and differences do not need the elements.
            Value::Tensor(ref b)
                if matches!(op, BinaryOp::Add | BinaryOp::Sub) && b.can_be_written_over(&self) =>
            {
                let edge = self.edge.clone();
                let out = self.replaced(op, b)?;
                // What remains of `self`.
                let a = Self {
                    edge,
                    ..out.clone()
                };
                Ok(out.record_sum(op, &a, b))
            }
            Value::Scalar(number) if self.edge.is_none() && self.is_replaceable() => {
                let (shape, backend) = (self.shape().clone(), self.device().backend());
                let storage = backend.binary_scalar(op, self.into_operand(), number)?;
                Ok(Self::fresh(storage, shape))
            }
            other => method(&self, other),
        }
    }

    /// [`binary_over`](Self::binary_over) in the memory of `other`, if that is a value.
    pub(super) fn binary_into<'a>(
        &self,
        op: BinaryOp,
        other: Value<'a>,
        method: impl FnOnce(&Self, Value<'a>) -> Result<Self>,
    ) -> Result<Self> {
        match other {
            Value::Tensor(Cow::Owned(b))
                if self.can_be_written_over(&b) && Self::are_plain(self, &b) =>
            {
                if op == BinaryOp::Add {
                    return b.replaced(op, self);
                }
                let shape = b.shape().clone();
                let a = self.operand_as(op.name(), &shape)?;
                let storage = self.device().backend().binary(op, a, b.into_operand())?;
                Ok(Self::fresh(storage, shape))
            }
            other => method(self, other),
        }
    }

    /// A function of each element, in the memory of `self` if nothing else needs it; otherwise by `method`.
    pub(super) fn unary_over(
        self,
        op: UnaryOp,
        method: impl FnOnce(&Self) -> Result<Self>,
    ) -> Result<Self> {
        if self.edge.is_some() || !self.is_replaceable() {
            return method(&self);
        }
        let (shape, backend) = (self.shape().clone(), self.device().backend());
        Ok(Self::fresh(backend.unary(op, self.into_operand())?, shape))
    }

    /// The operand of a kernel that broadcasts it to `shape`: if it is a value of that shape, its own handle to its memory.
    pub(super) fn take_operand_as(
        value: Cow<'_, Self>,
        op: &'static str,
        shape: &Shape,
    ) -> Result<Operand> {
        match value {
            Cow::Owned(x) if x.shape() == shape && x.is_replaceable() => Ok(x.into_operand()),
            x => x.operand_as(op, shape),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Result, Tensor};

    /// Enough elements for their memory to be worth reusing.
    const LEN: usize = 4096;

    fn numbers(scale: f64) -> Result<Tensor> {
        let x = Tensor::arange(0, LEN as i64, DType::F64)?;
        x.sub(1000.5)?.mul(scale)
    }

    /// The address of the first element.
    fn address(x: &Tensor) -> usize {
        x.as_le_bytes().map_or(0, |bytes| bytes.as_ptr().addr())
    }

    fn bits(x: &Tensor) -> Result<Vec<u64>> {
        let values = x.to_vec::<f64>()?;
        Ok(values.into_iter().map(f64::to_bits).collect())
    }

    #[test]
    fn only_memory_that_nobody_else_holds_is_written_over() -> Result<()> {
        let (one, other) = (numbers(1.0)?, numbers(10.0)?);
        let held = one.clone();
        assert!(!one.can_add_in_place(&other));
        drop(held);
        assert!(one.can_add_in_place(&other));
        assert!(!one.can_add_in_place(&other.to_dtype(DType::F32)?));
        assert!(!one.can_add_in_place(&other.narrow(0, 0..2)?));
        let before = address(&one);
        let sum = one.add_in_place(&other)?;
        assert_eq!(bits(&sum)?, bits(&numbers(1.0)?.add(&other)?)?);
        assert_eq!(address(&sum), before);
        Ok(())
    }

    type OfValue = fn(Tensor, &Tensor) -> Result<Tensor>;
    type Method = fn(&Tensor, &Tensor) -> Result<Tensor>;

    /// Operations that consume `a`, and the same by methods, which do not.
    const OF_VALUES: &[(OfValue, Method)] = &[
        (|a, b| a + b, |a, b| a.add(b)),
        (|a, b| a - b, |a, b| a.sub(b)),
        (|a, b| a * b, |a, b| a.mul(b)),
        (|a, b| a / b, |a, b| a.div(b)),
        (|a, b| b + a, |a, b| b.add(a)),
        (|a, b| b - a, |a, b| b.sub(a)),
        (|a, b| b / a, |a, b| b.div(a)),
        (
            |a, b| b.narrow(0, 1..2)? + a,
            |a, b| b.narrow(0, 1..2)?.add(a),
        ),
        (
            |a, b| a + b.narrow(0, 1..2)?,
            |a, b| a.add(&b.narrow(0, 1..2)?),
        ),
        (|a, _| a + 0.3, |a, _| a.add(0.3)),
        (|a, _| a / 0.3, |a, _| a.div(0.3)),
        (|a, _| 0.3 * a, |a, _| a.mul(0.3)),
        (|a, _| 0.3 - a, |a, _| a.neg()?.add(0.3)),
        (|a, _| -a, |a, _| a.neg()),
        (
            |a, b| b.gt(0.0)?.where_(a, b),
            |a, b| b.gt(0.0)?.where_(a, b),
        ),
        (
            |a, b| b.gt(0.0)?.where_(b, a),
            |a, b| b.gt(0.0)?.where_(b, a),
        ),
        (
            |a, b| b.gt(0.0)?.where_(0.0, a),
            |a, b| b.gt(0.0)?.where_(0.0, a),
        ),
        (
            |a, b| b.gt(0.0)?.where_(a, 0.0),
            |a, b| b.gt(0.0)?.where_(a, 0.0),
        ),
    ];

    #[test]
    fn an_operation_writes_over_a_value_and_never_over_a_reference() -> Result<()> {
        let b = numbers(0.7)?;
        let bits_of_b = bits(&b)?;
        for &(of_values, method) in OF_VALUES {
            let a = numbers(0.3)?;
            let expected = bits(&method(&a, &b)?)?;
            assert_eq!(bits(&a)?, bits(&numbers(0.3)?)?);

            let (before, held) = (address(&a), a.clone());
            let fresh = of_values(a, &b)?;
            assert_ne!(address(&fresh), before);
            assert_eq!(bits(&held)?, bits(&numbers(0.3)?)?);

            let over = of_values(held, &b)?;
            assert_eq!(address(&over), before);
            assert_eq!(bits(&over)?, expected);
            assert_eq!(bits(&fresh)?, expected);
            assert_eq!(bits(&b)?, bits_of_b);
        }
        Ok(())
    }

    #[test]
    fn a_result_in_a_graph_is_written_over_only_if_no_gradient_needs_it() -> Result<()> {
        let (x, b) = (numbers(0.3)?.with_grad()?, numbers(0.7)?);
        let operations: [(OfValue, Method, bool); 5] = [
            (|a, b| a + b, |a, b| a.add(b), true),
            (|a, b| a - b, |a, b| a.sub(b), true),
            (|a, b| b - a, |a, b| b.sub(a), false),
            (|a, b| a * b, |a, b| a.mul(b), false),
            (|a, b| a / b, |a, b| a.div(b), false),
        ];
        for (of_values, method, is_over) in operations {
            // An exponential, whose gradient needs its result, and a sum, whose gradient does not.
            for (make, may_be_over) in [
                (
                    (|x| x.mul(0.01)?.exp()) as fn(&Tensor) -> Result<Tensor>,
                    false,
                ),
                (|x| x.add(0.5), true),
            ] {
                let grad = |f: &dyn Fn(Tensor) -> Result<Tensor>| {
                    x.zero_grad();
                    let a = make(&x)?;
                    let before = address(&a);
                    let out = f(a)?;
                    let is_over = address(&out) == before;
                    out.mul(&b)?.sum(..)?.backward()?;
                    let grad = x.grad().map(|grad| bits(&grad)).transpose()?;
                    Ok::<_, crate::Error>((is_over, bits(&out.detach())?, grad))
                };
                let expected = grad(&|a| method(&a, &b))?;
                let got = grad(&|a| of_values(a, &b))?;
                assert_eq!(got.0, is_over && may_be_over);
                assert_eq!((got.1, got.2), (expected.1, expected.2));
            }
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
