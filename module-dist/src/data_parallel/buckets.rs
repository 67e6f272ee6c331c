use std::ops::Range;

use module_nn::{DType, Device, Parameter};

/// Parameters whose gradients are sent together.
pub(super) struct Bucket {
    pub(super) members: Vec<Member>,
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) numel: usize,
}

/// A parameter in a bucket.
pub(super) struct Member {
    /// Its index among the parameters.
    pub(super) parameter: usize,
    /// Where its gradient lies in the bucket.
    pub(super) range: Range<usize>,
}

/// Divides parameters into buckets, from the last to the first, which is about the order in which the backward pass
/// completes their gradients. A bucket holds one dtype and device, and is full once it has `limit` bytes, the first one once
/// it has `first_limit`.
pub(super) fn divide(parameters: &[&Parameter], first_limit: usize, limit: usize) -> Vec<Bucket> {
    let mut open: Vec<Bucket> = Vec::new();
    let mut full = Vec::new();
    for (i, parameter) in parameters.iter().enumerate().rev() {
        let (dtype, device) = (parameter.dtype(), parameter.device());
        let fits = |bucket: &Bucket| bucket.dtype == dtype && bucket.device == device;
        let at = open.iter().position(fits);
        let mut bucket = match at {
            Some(at) => open.remove(at),
            None => Bucket {
                members: Vec::new(),
                dtype,
                device,
                numel: 0,
            },
        };
        let end = bucket.numel + parameter.numel();
        let range = bucket.numel..end;
        bucket.numel = end;
        bucket.members.push(Member {
            parameter: i,
            range,
        });
        let limit = if full.is_empty() { first_limit } else { limit };
        match end * dtype.size_in_bytes() >= limit {
            true => full.push(bucket),
            false => open.push(bucket),
        }
    }
    full.extend(open);
    full
}

#[cfg(test)]
mod tests {
    use module_nn::{DType, Result, Tensor};

    use super::*;

    #[test]
    fn buckets_run_from_the_last_parameter_and_close_at_their_limits() -> Result<()> {
        let sizes = [100, 300, 50, 50, 10];
        let parameters =
            sizes.map(|n| Parameter::new(Tensor::zeros(n, DType::F32).unwrap()).unwrap());
        let parameters: Vec<_> = parameters.iter().collect();
        let members = |bucket: &Bucket| -> Vec<_> {
            bucket
                .members
                .iter()
                .map(|m| (m.parameter, m.range.clone()))
                .collect()
        };
        let buckets = divide(&parameters, 4 * 20, 4 * 200);
        let found: Vec<_> = buckets.iter().map(members).collect();
        assert_eq!(
            found,
            [
                vec![(4, 0..10), (3, 10..60)],
                vec![(2, 0..50), (1, 50..350)],
                vec![(0, 0..100)]
            ]
        );
        Ok(())
    }

    #[test]
    fn a_bucket_holds_one_dtype() -> Result<()> {
        let wide = Parameter::new(Tensor::zeros(2, DType::F64)?)?;
        let narrow = Parameter::new(Tensor::zeros(2, DType::F32)?)?;
        let again = Parameter::new(Tensor::zeros(2, DType::F64)?)?;
        let buckets = divide(&[&wide, &narrow, &again], 1 << 20, 1 << 20);
        let found: Vec<_> = buckets.iter().map(|b| (b.dtype, b.members.len())).collect();
        assert_eq!(found.len(), 2);
        assert!(found.contains(&(DType::F64, 2)) && found.contains(&(DType::F32, 1)));
        Ok(())
    }
}
