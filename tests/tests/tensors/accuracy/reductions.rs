//! Sums, moments, products, norms and greatest elements of lanes.

use module_nn::Tensor;

use super::case::{Case, Element, draw, draw_positive, tensor};
use super::function::spread;
use super::lanes::Lanes;
use super::tape::formula_of_lanes;
use super::terms::{Bound, Weighted, linear};

/// Around vectors of 16, blocks of 1,024 elements, tiles of 64 rows and 128 columns, and stretches of 65,536 that threads
/// add up.
const SHAPES: [[usize; 3]; 12] = [
    [3, 1, 2],
    [1, 15, 1],
    [7, 17, 1],
    [2, 1023, 1],
    [3, 1025, 1],
    [1, 131_073, 1],
    [1, 65, 127],
    [2, 63, 129],
    [5, 9, 33],
    [1, 1031, 257],
    [1025, 129, 1],
    [1, 2, 1025],
];

fn weighted(lanes: Lanes, factor: f64) -> Weighted {
    Box::new(move |visit| {
        for lane in 0..lanes.count() {
            lanes
                .places(lane)
                .for_each(|place| visit(lane, place, factor));
        }
    })
}

/// The sum of the squares of the distances from the mean, divided by one less than their number.
fn variance(lanes: Lanes) -> Case {
    // Three roundings come before each square, one after the sum, and as many in the gradient; both the mean and the
    // squares are sums.
    let reference = formula_of_lanes(
        8.0,
        4 * lanes.size,
        lanes,
        Box::new(|tape, x| {
            let count = x.len() as f64;
            let mean = tape.sum(x.iter().copied()) * tape.number(count.recip());
            let distances: Vec<_> = x.iter().map(|&x| x - mean).collect();
            let squares = tape.dot(distances.iter().map(|&d| (d, d)));
            vec![squares * tape.number((count - 1.0).recip())]
        }),
    );
    let operands = vec![draw(&lanes.shape(), 1)];
    let name = format!("var {:?}", lanes.shape());
    Case::new(name, operands, |x| x[0].var(1, 1.0), reference)
}

/// The root of the sum of squares.
fn norm(lanes: Lanes) -> Case {
    let reference = formula_of_lanes(
        6.0,
        lanes.size,
        lanes,
        Box::new(|tape, x| {
            let sum = tape.dot(x.iter().map(|&x| (x, x)));
            vec![sum * sum.rsqrt()]
        }),
    );
    let operands = vec![draw(&lanes.shape(), 2)];
    let name = format!("norm {:?}", lanes.shape());
    Case::new(name, operands, |x| x[0].norm(2.0, 1), reference)
}

/// Products of numbers near 1: a rounding for each factor, which add up like those of a sum, and those of the gradient
/// `g y / x`.
fn product(lanes: Lanes) -> Case {
    let values = spread([0.5, 1.5], lanes.numel());
    let values = values.iter().map(|x| x.abs().max(0.5)).collect();
    let bound = 2.0 + (lanes.size as f64).sqrt();
    Case::new(
        format!("prod {:?}", lanes.shape()),
        vec![tensor(values, &lanes.shape())],
        |x| x[0].prod(1),
        Box::new(move |operands, grad| {
            let x = &operands[0];
            let (mut out, mut slopes) = (Vec::new(), vec![Element::sum(0.0, 0.0, 0.0); x.len()]);
            for (lane, grad) in grad.iter().enumerate() {
                let product: f64 = lanes.places(lane).map(|place| x[place]).product();
                out.push(Element::sum(product, product.abs(), bound));
                for place in lanes.places(lane) {
                    let slope = grad * product / x[place];
                    slopes[place] = Element::sum(slope, slope.abs(), bound);
                }
            }
            vec![out, slopes]
        }),
    )
}

/// The greatest element, which is one of them, and takes the whole gradient.
fn greatest(lanes: Lanes) -> Case {
    let x = draw(&lanes.shape(), 3);
    let values = x.to_vec::<f32>().unwrap();
    let of_lane = |lane: usize| {
        let places = lanes.places(lane);
        places
            .max_by(|&a, &b| values[a].total_cmp(&values[b]))
            .unwrap()
    };
    let places: Vec<_> = (0..lanes.count()).map(of_lane).collect();
    let copies: Weighted = Box::new(move |visit| {
        for (lane, &place) in places.iter().enumerate() {
            visit(lane, place, 1.0);
        }
    });
    let reference = linear(Bound::Sums(0.0), copies);
    let name = format!("amax {:?}", lanes.shape());
    Case::new(name, vec![x], |x| x[0].amax(1), reference)
}

/// The sums of all elements up to each.
fn running(lanes: Lanes) -> Case {
    let sums: Weighted = Box::new(move |visit| {
        for lane in 0..lanes.count() {
            for (end, out) in lanes.places(lane).enumerate() {
                let before = lanes.places(lane).take(end + 1);
                before.for_each(|place| visit(out, place, 1.0));
            }
        }
    });
    let reference = linear(Bound::Sums(0.0), sums);
    let name = format!("cumsum {:?}", lanes.shape());
    let operands = vec![draw(&lanes.shape(), 4)];
    Case::new(name, operands, |x| x[0].cumsum(1), reference)
}

/// The products of all elements up to each.
fn running_product(lanes: Lanes) -> Case {
    let values = spread([0.5, 1.5], lanes.numel());
    let values = values.iter().map(|x| x.abs().max(0.5)).collect();
    // A rounding for each factor, which add up like those of a sum; a product, a sum and a quotient in the gradient.
    let reference = formula_of_lanes(
        4.0,
        4 * lanes.size,
        lanes,
        Box::new(|tape, x| {
            let mut product = tape.number(1.0);
            let next = x.iter().map(|&x| {
                product = product * x;
                product
            });
            next.collect()
        }),
    );
    let operands = vec![tensor(values, &lanes.shape())];
    let name = format!("cumprod {:?}", lanes.shape());
    Case::new(name, operands, |x| x[0].cumprod(1), reference)
}

type Reduce = fn(&[Tensor]) -> module_nn::Result<Tensor>;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let sum: Reduce = |x| x[0].sum(1);
    let mean: Reduce = |x| x[0].mean(1);
    for lanes in SHAPES.map(Lanes::new) {
        let shape = lanes.shape();
        // A mean multiplies the sum with a rounded number, or divides it.
        let share = (lanes.size as f64).recip();
        for (name, operation, factor, more) in [("sum", sum, 1.0, 0.0), ("mean", mean, share, 1.0)]
        {
            for positive in [false, true] {
                let x = if positive {
                    draw_positive(&shape, 5)
                } else {
                    draw(&shape, 6)
                };
                let kind = if positive { ", all positive" } else { "" };
                let reference = linear(Bound::Sums(more), weighted(lanes, factor));
                let name = format!("{name}{kind} {shape:?}");
                cases.push(Case::new(name, vec![x], operation, reference));
            }
        }
        cases.push(greatest(lanes));
        cases.push(norm(lanes));
        if lanes.size > 1 {
            cases.push(variance(lanes));
        }
        if lanes.size < 300 {
            cases.push(product(lanes));
            cases.extend([running(lanes), running_product(lanes)]);
        }
    }
    // All elements, of which there are more than a million.
    let all = Lanes::new([1, (1 << 20) + 13, 1]);
    let operands = vec![draw_positive(&all.shape(), 7)];
    let reference = linear(Bound::Sums(0.0), weighted(all, 1.0));
    let name = format!("sum of all {:?}", all.shape());
    cases.push(Case::new(name, operands, |x| x[0].sum(..), reference));
    cases
}
