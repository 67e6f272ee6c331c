//! Views, joins and indices.

use super::*;

#[test]
fn views() {
    fuzz("reshape", |d| {
        let x = d.maybe_huge();
        let sizes: Vec<isize> = if d.often() {
            vec![-1; 1 + d.below(2)]
        } else {
            let n = d.below(5);
            (0..n)
                .map(|_| (d.size() as isize).wrapping_sub(d.below(2) as isize))
                .collect()
        };
        x.reshape(sizes)
    });
    fuzz("reshape_to", |d| {
        let x = d.maybe_huge();
        x.reshape(Shape::from(d.shape()))
    });
    fuzz("flatten", |d| {
        let x = d.maybe_huge();
        x.flatten(d.dim(), d.dim())
    });
    fuzz("permute", |d| {
        let x = d.maybe_huge();
        let order: Vec<isize> = if d.often() {
            (0..x.rank() as isize).rev().collect()
        } else {
            (0..d.below(5)).map(|_| d.dim()).collect()
        };
        x.permute(order)
    });
    fuzz("transpose", |d| {
        let x = d.maybe_huge();
        x.transpose(d.dim(), d.dim())
    });
    fuzz("t", |d| d.maybe_huge().t());
    fuzz("narrow", |d| {
        let x = d.maybe_huge();
        x.narrow(d.dim(), d.size()..d.size())
    });
    fuzz("unsqueeze", |d| {
        let x = d.maybe_huge();
        x.unsqueeze(d.dim())
    });
    fuzz("squeeze", |d| {
        let x = d.maybe_huge();
        x.squeeze(d.dims())
    });
    fuzz("expand", |d| {
        let x = d.tensor();
        let mut shape = d.shape();
        if d.often() {
            shape.truncate(1);
            shape.extend(x.shape().iter());
        }
        x.expand(shape)
    });
    fuzz("flip", |d| {
        let x = d.maybe_huge();
        x.flip(d.dims())
    });
    fuzz("roll", |d| {
        let x = d.maybe_huge();
        let shifts: Vec<isize> = (0..d.below(4)).map(|_| d.dim()).collect();
        match d.often() {
            true => x.roll(d.dim(), d.dim()),
            false => x.roll(shifts, d.dims()),
        }
    });
    fuzz("tril", |d| {
        let x = d.maybe_huge();
        x.tril(d.dim() as i64)
    });
    fuzz("triu", |d| {
        let x = d.maybe_huge();
        x.triu(d.dim() as i64)
    });
    fuzz("split", |d| {
        let x = d.maybe_huge();
        let mut parts = x.split(d.size(), d.dim())?;
        Ok(parts.swap_remove(d.below(parts.len())))
    });
    fuzz("chunk", |d| {
        let x = d.maybe_huge();
        let mut parts = x.chunk(d.size(), d.dim())?;
        Ok(parts.swap_remove(d.below(parts.len())))
    });
    fuzz("size", |d| {
        let x = d.maybe_huge();
        x.size(d.dim()).map(|_| x)
    });
    fuzz("to_vec and item", |d| {
        let x = d.maybe_huge();
        let _ = x.item::<f32>();
        x.to_vec::<f32>().map(|_| x)
    });
    fuzz("display", |d| {
        let x = d.maybe_huge();
        assert!(x.to_string().starts_with("tensor("));
        Ok(x)
    });
}

#[test]
fn joins_and_indices() {
    fuzz("cat", |d| {
        let x = d.maybe_huge();
        let (a, b) = (d.like(&x), d.like(&x));
        let parts = [&x, &a, &b];
        Tensor::cat(&parts[..d.below(4)], d.dim())
    });
    fuzz("stack", |d| {
        let x = d.maybe_huge();
        let a = d.like(&x);
        let parts = [&x, &a];
        Tensor::stack(&parts[..d.below(3)], d.dim())
    });
    let index = |d: &mut Draw, x: &Tensor| {
        let small = x.shape().iter().all(|&size| size < 10);
        let shape = if small && d.often() {
            x.shape().to_vec()
        } else {
            d.small_shape()
        };
        let index = d.index(&shape);
        let absurd = d.shape();
        if d.often() {
            index
        } else {
            index.expand(absurd).unwrap_or(index)
        }
    };
    fuzz("gather", |d| {
        let x = d.maybe_huge();
        x.gather(d.dim(), &index(d, &x))
    });
    fuzz("scatter_add", |d| {
        let x = d.maybe_huge();
        let index = index(d, &x);
        let source = if d.often() {
            d.like(&x)
        } else {
            d.like(&index)
        };
        x.scatter_add(d.dim(), &index, &source)
    });
    fuzz("index_add", |d| {
        let x = d.maybe_huge();
        let dim = d.dim();
        let n = d.below(3);
        let index = if d.often() {
            d.index(&[n])
        } else {
            index(d, &x)
        };
        let fitting = x.index_select(dim, &index);
        let source = match fitting {
            Ok(source) if d.often() => source,
            _ => d.like(&x),
        };
        x.index_add(dim, &index, &source)
    });
    fuzz("one_hot", |d| {
        let shape = d.small_shape();
        let classes = d.index(&shape);
        let absurd = d.shape();
        let classes = if d.often() {
            classes
        } else {
            classes.expand(absurd).unwrap_or(classes)
        };
        classes.one_hot(d.size())
    });
    fuzz("index_select", |d| {
        let x = d.maybe_huge();
        let n = d.below(4);
        let index = if d.often() {
            d.index(&[n])
        } else {
            index(d, &x)
        };
        x.index_select(d.dim(), &index)
    });
}
