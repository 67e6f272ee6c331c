//! `split`, `chunk` and `unbind`: views of parts, made by one operation with many outputs.

use std::collections::HashMap;
use std::iter::repeat_with;

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result, Shape};

impl Tensor {
    /// Views of `split_size` elements along `dim`; the last one has the remaining elements.
    /// [`split_with_sizes`](Self::split_with_sizes) takes a size for each.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, a size of 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let parts = Tensor::from([1_i64, 2, 3, 4, 5]).split(2, 0)?;
    /// assert_eq!(parts.len(), 3);
    /// assert_eq!(parts[2].to_vec::<i64>()?, [5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn split(&self, split_size: usize, dim: isize) -> Result<Vec<Self>> {
        let (dim, total) = self.dim_and_size("split", dim)?;
        if split_size == 0 {
            return Err(Error::argument(
                "split",
                "split_size",
                split_size,
                "must be positive",
            ));
        }
        if total == 0 {
            return Ok(vec![self.alias()]);
        }
        let parts = total.div_ceil(split_size);
        // A view may have far more elements than memory.
        crate::backend::check_host_allocatable::<Self>(parts)?;
        let sizes = (0..parts).map(|i| split_size.min(total - i * split_size));
        Ok(self.parts("split", dim, sizes))
    }

    /// Consecutive views of these sizes along `dim`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, sizes whose sum is not that of the
    /// dimension.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let parts = Tensor::from([1_i64, 2, 3, 4, 5]).split_with_sizes([1, 4], 0)?;
    /// assert_eq!(parts[1].to_vec::<i64>()?, [2, 3, 4, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn split_with_sizes(&self, sizes: impl AsRef<[usize]>, dim: isize) -> Result<Vec<Self>> {
        self.split_by(sizes.as_ref(), dim)
    }

    fn split_by(&self, sizes: &[usize], dim: isize) -> Result<Vec<Self>> {
        const NAME: &str = "split_with_sizes";
        let (dim, total) = self.dim_and_size(NAME, dim)?;
        if sizes
            .iter()
            .try_fold(0, |sum: usize, &size| sum.checked_add(size))
            != Some(total)
        {
            let problem = format!("must add up to the {total} elements of the dimension");
            let sizes = format_args!("{sizes:?}");
            return Err(Error::argument(NAME, "sizes", sizes, problem));
        }
        Ok(self.parts(NAME, dim, sizes.iter().copied()))
    }

    /// Views along `dim`, `chunks` of them or fewer, all of equal size except the last.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions, 0 chunks.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let parts = Tensor::from([1_i64, 2, 3, 4, 5]).chunk(2, 0)?;
    /// assert_eq!(parts[0].to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn chunk(&self, chunks: usize, dim: isize) -> Result<Vec<Self>> {
        let (_, total) = self.dim_and_size("chunk", dim)?;
        if chunks == 0 {
            return Err(Error::argument(
                "chunk",
                "chunks",
                chunks,
                "must be positive",
            ));
        }
        if total == 0 {
            // PyTorch keeps the number of chunks if there is nothing to divide.
            crate::backend::check_host_allocatable::<Self>(chunks)?;
            return Ok(repeat_with(|| self.alias()).take(chunks).collect());
        }
        self.split(total.div_ceil(chunks), dim)
    }

    /// The `N` views of [`chunk`](Self::chunk), as an array: `let [q, k, v] = x.chunk_array(-1)?`.
    ///
    /// # Errors
    ///
    /// Those of `chunk`; a dimension that gives fewer than `N` chunks.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let [a, b] = Tensor::from([1_i64, 2, 3, 4, 5]).chunk_array(0)?;
    /// assert_eq!(a.to_vec::<i64>()?, [1, 2, 3]);
    /// assert_eq!(b.to_vec::<i64>()?, [4, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn chunk_array<const N: usize>(&self, dim: isize) -> Result<[Self; N]> {
        self.array_of("chunk_array", dim, self.chunk(N, dim)?)
    }

    /// The views of [`split_with_sizes`](Self::split_with_sizes), as an array with as many elements as sizes.
    ///
    /// # Errors
    ///
    /// Those of `split_with_sizes`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let [a, b] = Tensor::from([1_i64, 2, 3]).split_array([1, 2], 0)?;
    /// assert_eq!(a.to_vec::<i64>()?, [1]);
    /// assert_eq!(b.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn split_array<const N: usize>(&self, sizes: [usize; N], dim: isize) -> Result<[Self; N]> {
        self.array_of("split_array", dim, self.split_with_sizes(sizes, dim)?)
    }

    /// The slices of [`unbind`](Self::unbind), as an array of the dimension's size.
    ///
    /// # Errors
    ///
    /// Those of `unbind`; a dimension whose size is not `N`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let [x, y] = Tensor::from([[1_i64, 2], [3, 4]]).unbind_array(1)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 3]);
    /// assert_eq!(y.to_vec::<i64>()?, [2, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unbind_array<const N: usize>(&self, dim: isize) -> Result<[Self; N]> {
        const NAME: &str = "unbind_array";
        let (_, size) = self.dim_and_size(NAME, dim)?;
        if size != N {
            // Checked before making as many views as a long dimension has elements.
            return Err(self.not_so_many(NAME, dim, size, N));
        }
        self.array_of(NAME, dim, self.unbind(dim)?)
    }

    /// The slices of dimension `dim`, in order, as views.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a tensor without dimensions.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let columns = Tensor::from([[1_i64, 2], [3, 4]]).unbind(1)?;
    /// assert_eq!(columns[1].to_vec::<i64>()?, [2, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unbind(&self, dim: isize) -> Result<Vec<Self>> {
        const NAME: &str = "unbind";
        let (dim, size) = self.dim_and_size(NAME, dim)?;
        // A view may have far more elements than memory.
        crate::backend::check_host_allocatable::<Self>(size)?;
        let slices = (0..size).map(|i| self.with_layout(self.layout.select(dim, i)));
        Ok(Self::record_outputs(
            slices.collect::<Vec<_>>(),
            [self],
            |slices| Parts {
                op: NAME,
                dim: dim as isize,
                stacked: true,
                shapes: slices.iter().map(|slice| slice.shape().clone()).collect(),
            },
        ))
    }

    /// Views of these sizes along `dim`; the sizes add up to the dimension's.
    fn parts(&self, op: &'static str, dim: usize, sizes: impl Iterator<Item = usize>) -> Vec<Self> {
        let mut start = 0;
        let parts = sizes.map(|size| {
            let layout = self.layout.slice(dim, start, size, 1);
            start += size;
            self.with_layout(layout)
        });
        Self::record_outputs(parts.collect::<Vec<_>>(), [self], |parts| Parts {
            op,
            dim: dim as isize,
            stacked: false,
            shapes: parts.iter().map(|part| part.shape().clone()).collect(),
        })
    }

    fn array_of<const N: usize>(
        &self,
        op: &'static str,
        dim: isize,
        parts: Vec<Self>,
    ) -> Result<[Self; N]> {
        parts
            .try_into()
            .map_err(|parts: Vec<Self>| self.not_so_many(op, dim, parts.len(), N))
    }

    fn not_so_many(&self, op: &'static str, dim: isize, found: usize, wanted: usize) -> Error {
        let shape = self.shape();
        let problem = format!(
            "of shape {shape} gives {found} part(s), where an array of {wanted} was requested"
        );
        Error::argument(op, "dim", dim, problem)
    }
}

struct Parts {
    op: &'static str,
    dim: isize,
    /// Whether the parts lack the dimension.
    stacked: bool,
    shapes: Vec<Shape>,
}

impl Function for Parts {
    fn name(&self) -> &'static str {
        self.op
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // A broadcast zero stands for the unused parts of each shape.
        let mut zeros = HashMap::new();
        for (i, shape) in self.shapes.iter().enumerate() {
            if ctx.grad_of(i).is_none() && !zeros.contains_key(shape) {
                let zero = Tensor::zeros((), (ctx.grad().dtype(), &ctx.grad().device()))?;
                zeros.insert(shape, zero.expand(shape)?);
            }
        }
        let grads = self.shapes.iter().enumerate();
        let grads: Vec<&Tensor> = grads
            .filter_map(|(i, shape)| ctx.grad_of(i).or_else(|| zeros.get(shape)))
            .collect();
        one(match self.stacked {
            true => Tensor::stack(&grads, self.dim)?,
            false => Tensor::cat(&grads, self.dim)?,
        })
    }
}
