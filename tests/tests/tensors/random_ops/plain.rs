//! Tensors as plain numbers, and operations on them by their definitions, index by index, without using the crates.

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plain {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

/// Every index of a shape, in row-major order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &size in shape {
        all = all
            .iter()
            .flat_map(|head| (0..size).map(move |i| [head.as_slice(), &[i]].concat()))
            .collect();
    }
    all
}

/// The shape to which two shapes broadcast, if they do.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], i: usize| match (i + shape.len()).checked_sub(rank) {
        Some(place) => shape[place],
        None => 1,
    };
    let join = |i| match (size(a, i), size(b, i)) {
        (1, n) | (n, 1) => Some(n),
        (n, m) => (n == m).then_some(n),
    };
    (0..rank).map(join).collect()
}

impl Plain {
    pub(crate) fn from_fn(shape: &[usize], f: impl FnMut(Vec<usize>) -> f64) -> Self {
        Self {
            shape: shape.to_vec(),
            data: indices(shape).into_iter().map(f).collect(),
        }
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn at(&self, index: &[usize]) -> f64 {
        assert_eq!(index.len(), self.rank());
        let step = |place: usize, (&i, &size): (&usize, &usize)| {
            assert!(i < size);
            place * size + i
        };
        self.data[index.iter().zip(&self.shape).fold(0, step)]
    }

    /// The element that a larger shape sees at `index`.
    pub(crate) fn stretched_at(&self, index: &[usize]) -> f64 {
        let tail = &index[index.len() - self.rank()..];
        let own = tail.iter().zip(&self.shape);
        self.at(&own
            .map(|(&i, &size)| if size == 1 { 0 } else { i })
            .collect::<Vec<_>>())
    }

    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            shape: self.shape.clone(),
            data: self.data.iter().map(|&v| f(v)).collect(),
        }
    }

    pub(crate) fn zip(&self, other: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let shape = broadcast(&self.shape, &other.shape).expect("shapes that fit");
        Self::from_fn(&shape, |i| f(self.stretched_at(&i), other.stretched_at(&i)))
    }

    /// `f` of all elements that differ only in `dims`.
    pub(crate) fn reduce(&self, dims: &[usize], keepdim: bool, f: impl Fn(&[f64]) -> f64) -> Self {
        let kept = |index: &[usize], one: usize| -> Vec<usize> {
            let place = |(d, &i): (usize, &usize)| match (dims.contains(&d), keepdim) {
                (false, _) => Some(i),
                (true, true) => Some(one),
                (true, false) => None,
            };
            index.iter().enumerate().filter_map(place).collect()
        };
        Self::from_fn(&kept(&self.shape, 1), |out| {
            let group = indices(&self.shape).into_iter();
            let group = group.filter(|i| kept(i, 0) == out).map(|i| self.at(&i));
            f(&group.collect::<Vec<_>>())
        })
    }

    /// Each row along `dim` replaced by the result of `f`.
    pub(crate) fn rows(&self, dim: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let mut out_shape = self.shape.clone();
        let row = |index: &[usize]| -> Vec<f64> {
            let mut index = index.to_vec();
            let element = |i| {
                index[dim] = i;
                self.at(&index)
            };
            (0..self.shape[dim]).map(element).collect()
        };
        out_shape[dim] = f(&row(&vec![0; self.rank()])).len();
        Self::from_fn(&out_shape, |index| f(&row(&index))[index[dim]])
    }

    pub(crate) fn matmul(&self, other: &Self) -> Self {
        let (mut a, mut b) = (self.clone(), other.clone());
        if self.rank() == 1 {
            a.shape.insert(0, 1);
        }
        if other.rank() == 1 {
            b.shape.push(1);
        }
        let (heads_a, heads_b) = (&a.shape[..a.rank() - 2], &b.shape[..b.rank() - 2]);
        let mut shape = broadcast(heads_a, heads_b).expect("shapes that fit");
        let (inner, heads) = (a.shape[a.rank() - 1], shape.len());
        shape.extend([a.shape[a.rank() - 2], b.shape[b.rank() - 1]]);
        let place = |x: &Self, head: &[usize], i: usize, j: usize| {
            let head = head[heads + 2 - x.rank()..].iter().zip(&x.shape);
            let head = head.map(|(&i, &size)| if size == 1 { 0 } else { i });
            x.at(&head.chain([i, j]).collect::<Vec<_>>())
        };
        let mut out = Self::from_fn(&shape, |index| {
            let (head, i, j) = (&index[..heads], index[heads], index[heads + 1]);
            let product = |k| place(&a, head, i, k) * place(&b, head, k, j);
            (0..inner).map(product).sum()
        });
        if other.rank() == 1 {
            out.shape.pop();
        }
        if self.rank() == 1 {
            out.shape.remove(heads);
        }
        out
    }

    pub(crate) fn cat(parts: &[&Self], dim: usize) -> Self {
        let mut shape = parts[0].shape.clone();
        shape[dim] = parts.iter().map(|part| part.shape[dim]).sum();
        Self::from_fn(&shape, |mut index| {
            for part in parts {
                match index[dim].checked_sub(part.shape[dim]) {
                    None => return part.at(&index),
                    Some(rest) => index[dim] = rest,
                }
            }
            unreachable!("an index of the sum of sizes")
        })
    }
}
