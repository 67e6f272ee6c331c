//! Patterns of values: identities, sparse columns, blocks of rows.

use module_core::rng::Distribution;
use module_core::{DType, Error, Generator, Init, Layout, Result, Shape, Tensor};

use super::Normal;

/// The identity matrix, so that a linear layer preserves its input as far as possible.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::Eye};
///
/// let weight = Parameter::with_init([2, 3], Eye)?;
/// assert_eq!(weight.tensor().to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eye;

impl Init for Eye {
    fn init(&self, shape: &Shape, dtype: DType, _: &Generator) -> Result<Tensor> {
        let (rows, columns) = matrix("eye", shape)?;
        Tensor::eye(rows, columns, dtype)
    }
}

/// The identity of a convolution: a 1 in the middle of the kernel from each channel to itself, in each of `groups` groups
/// of outputs.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::Dirac};
///
/// let weight = Parameter::with_init([1, 1, 3], Dirac { groups: 1 })?;
/// assert_eq!(weight.tensor().to_vec::<f32>()?, [0.0, 1.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dirac {
    /// The number of groups, each of which has its own identity.
    pub groups: usize,
}

impl Default for Dirac {
    fn default() -> Self {
        Self { groups: 1 }
    }
}

impl Init for Dirac {
    fn init(&self, shape: &Shape, dtype: DType, _: &Generator) -> Result<Tensor> {
        const NAME: &str = "dirac";
        let &[outputs, inputs, ref kernel @ ..] = &**shape else {
            return Err(shape.error(NAME, "three to five dimensions"));
        };
        if !(1..=3).contains(&kernel.len()) {
            return Err(shape.error(NAME, "three to five dimensions"));
        }
        let groups = self.groups;
        if groups == 0 || outputs % groups != 0 {
            let problem = format!("must divide the {outputs} output(s)");
            return Err(Error::argument(NAME, "groups", groups, problem));
        }
        let zeros = Tensor::zeros(shape, dtype)?;
        if zeros.numel() == 0 {
            return Ok(zeros);
        }
        let field: usize = kernel.iter().product();
        let middle = kernel
            .iter()
            .fold(0, |place, &size| place * size + size / 2);
        let each = outputs / groups;
        let mut places: Vec<i64> = Vec::with_capacity(groups * each.min(inputs));
        for group in 0..groups {
            for channel in 0..each.min(inputs) {
                let place = (group * each + channel) * inputs + channel;
                places.push((place * field + middle) as i64);
            }
        }
        let count = places.len();
        let index = Tensor::from_vec(places, count)?;
        let flat = zeros.reshape(zeros.numel())?.scatter(0, &index, 1.0)?;
        flat.reshape(shape)
    }
}

/// A normal distribution around 0, with a fraction of each column set to 0.
///
/// Source: Martens, *Deep learning via Hessian-free optimization* (2010).
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::Sparse};
///
/// let weight = Parameter::with_init([10, 2], Sparse { sparsity: 0.3, std: 0.01 })?;
/// let zeros = weight.tensor().eq(0.0)?.sum(..)?;
/// assert_eq!(zeros.item::<i64>()?, 6);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sparse {
    /// The fraction of zeros in each column, rounded up.
    pub sparsity: f64,
    /// The standard deviation of the others; PyTorch's default is 0.01.
    pub std: f64,
}

impl Init for Sparse {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        const NAME: &str = "sparse";
        let &Self { sparsity, std } = self;
        let (rows, columns) = matrix(NAME, shape)?;
        crate::config::check_between(NAME, "sparsity", sparsity, [0.0, 1.0])?;
        let drawn = Normal { mean: 0.0, std }.init(shape, dtype, generator)?;
        let count = (sparsity * rows as f64).ceil() as usize;
        let mut index = Vec::new();
        for column in 0..columns {
            let order = generator.draw(Distribution::Permutation, rows, DType::I64)?;
            let order = Tensor::from_storage(order, Layout::contiguous(rows.into()));
            let zeros = order.to_vec::<i64>()?.into_iter().take(count);
            index.extend(zeros.map(|row| row * columns as i64 + column as i64));
        }
        let index_shape = index.len();
        let index = Tensor::from_vec(index, index_shape)?;
        let flat = drawn.reshape(drawn.numel())?.scatter(0, &index, 0.0)?;
        flat.reshape(shape)
    }
}

/// Blocks with equal numbers of rows, stacked vertically, each with its own initializer: the gates of a recurrent layer, or
/// the three projections of attention.
///
/// # Example
///
/// The bias of four gates, of which the second, the forget gate, starts at 1:
///
/// ```
/// use module_nn::{Parameter, init::{Blocks, ones, zeros}};
///
/// let gates = Blocks::of(4, zeros()).with(1, ones());
/// let bias = Parameter::with_init(8, gates)?;
/// assert_eq!(bias.tensor().to_vec::<f32>()?, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub struct Blocks {
    count: usize,
    all: Box<dyn Init>,
    one: Option<(usize, Box<dyn Init>)>,
}

impl Blocks {
    /// `count` blocks, all with one initializer.
    pub fn of(count: usize, init: impl Init) -> Self {
        Self {
            count,
            all: Box::new(init),
            one: None,
        }
    }

    /// Replaces the initializer of one block.
    #[must_use]
    pub fn with(self, block: usize, init: impl Init) -> Self {
        Self {
            one: Some((block, Box::new(init))),
            ..self
        }
    }
}

impl Blocks {
    /// The shape of one block.
    fn part(&self, shape: &Shape) -> Result<Shape> {
        let rows = shape.first().copied().unwrap_or(0);
        if self.count == 0 || shape.rank() == 0 || rows % self.count != 0 {
            let expected = format!("rows in {} equal blocks", self.count);
            return Err(shape.error("blocks", expected));
        }
        let mut part = shape.to_vec();
        if let Some(rows) = part.first_mut() {
            *rows /= self.count;
        }
        Ok(Shape::from(part))
    }

    /// The initializer of each block.
    fn each(&self) -> impl Iterator<Item = &dyn Init> {
        (0..self.count).map(|number| {
            let own = self.one.as_ref().filter(|(block, _)| *block == number);
            own.map_or(&*self.all, |(_, init)| &**init)
        })
    }
}

impl Init for Blocks {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let part = self.part(shape)?;
        let parts = self.each().map(|init| init.init(&part, dtype, generator));
        Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 0)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        let part = self.part(shape)?;
        let mut inits = self.each();
        inits.try_for_each(|init| init.skip(&part, dtype, generator))
    }
}

/// The rows and columns of a matrix.
fn matrix(op: &'static str, shape: &Shape) -> Result<(usize, usize)> {
    match **shape {
        [rows, columns] => Ok((rows, columns)),
        _ => Err(shape.error(op, "two dimensions")),
    }
}
