//! References of bilinear and linear maps: every output is a sum of products, which are listed one by one.

use super::case::{Element, Reference};

/// A sum of products, the sum of their magnitudes, and their number.
#[derive(Clone, Copy, Default)]
struct Sum {
    value: f64,
    scale: f64,
    count: usize,
}

impl Sum {
    fn add(&mut self, product: f64) {
        self.value += product;
        self.scale += product.abs();
        self.count += 1;
    }

    /// `½ + √n`; nothing of a single product that is an `f32`, such as a copy.
    fn bound(&self) -> f64 {
        match self.count {
            0 | 1 if f64::from(self.value as f32) == self.value => 0.0,
            0 | 1 => 0.5,
            n => 0.5 + (n as f64).sqrt(),
        }
    }
}

/// How far a sum may be from the exact one.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    /// Those of [`Sum::bound`], and so much more.
    Sums(f64),
    /// `3e-6` of the greatest scale.
    Tiles,
}

impl Bound {
    fn of(self, sums: Vec<Sum>) -> Vec<Element> {
        let greatest = sums.iter().fold(0.0_f64, |most, sum| most.max(sum.scale));
        let element = |sum: Sum| match self {
            Self::Sums(more) => Element::sum(sum.value, sum.scale, sum.bound() + more),
            Self::Tiles => Element::sum(sum.value, greatest, 3e-6 / f64::from(f32::EPSILON)),
        };
        sums.into_iter().map(element).collect()
    }
}

/// Calls its argument with every product of a bilinear map: the output that it is added to, and the places of both factors.
pub(crate) type Products = Box<dyn Fn(&mut dyn FnMut(usize, usize, usize))>;

/// A bilinear map of two operands, and of a third one that is added to each output, if there is one: `bias` is its place.
pub(crate) fn bilinear(
    bound: Bound,
    products: Products,
    bias: Option<Box<dyn Fn(usize) -> usize>>,
) -> Reference {
    Box::new(move |operands, grad| {
        let (a, b) = (&operands[0], &operands[1]);
        let mut out = vec![Sum::default(); grad.len()];
        let (mut of_a, mut of_b) = (vec![Sum::default(); a.len()], vec![Sum::default(); b.len()]);
        products(&mut |o, i, j| {
            out[o].add(a[i] * b[j]);
            of_a[i].add(b[j] * grad[o]);
            of_b[j].add(a[i] * grad[o]);
        });
        let mut of_bias = None;
        if let Some(bias) = &bias {
            let mut sums = vec![Sum::default(); operands[2].len()];
            for (o, grad) in grad.iter().enumerate() {
                out[o].add(operands[2][bias(o)]);
                sums[bias(o)].add(*grad);
            }
            of_bias = Some(sums);
        }
        let results = [out, of_a, of_b].into_iter().chain(of_bias);
        results.map(|sums| bound.of(sums)).collect()
    })
}

/// Calls its argument with every product of a linear map: the output that it is added to, the place in the operand, and the
/// factor.
pub(crate) type Weighted = Box<dyn Fn(&mut dyn FnMut(usize, usize, f64))>;

/// A linear map of one operand.
pub(crate) fn linear(bound: Bound, products: Weighted) -> Reference {
    Box::new(move |operands, grad| {
        let x = &operands[0];
        let (mut out, mut of_x) = (
            vec![Sum::default(); grad.len()],
            vec![Sum::default(); x.len()],
        );
        products(&mut |o, i, factor| {
            out[o].add(x[i] * factor);
            of_x[i].add(grad[o] * factor);
        });
        vec![bound.of(out), bound.of(of_x)]
    })
}
