//! Normalizations of rows, channels, groups and batches, with the gradients of weight and bias.

use module_nn::{Result, Tensor};

use super::case::{Case, draw, draw_positive};
use super::tape::{Var, formula};

const EPS: f64 = 1e-5;

/// Which elements of `[batch, channels, inner]` share statistics.
#[derive(Clone, Copy, Debug)]
enum Over {
    /// Those of an element of the batch.
    Layer,
    /// The same, divided by the root mean square.
    Rms,
    /// Those of a group of channels of an element of the batch.
    Groups(usize),
    /// Those of a channel.
    Batch,
    /// The same, with statistics that are given.
    Given,
}

fn case(over: Over, [batch, channels, inner]: [usize; 3]) -> Case {
    let group = move |i: usize| match over {
        Over::Layer | Over::Rms => i / (channels * inner),
        Over::Groups(groups) => i / (channels / groups * inner),
        Over::Batch | Over::Given => i / inner % channels,
    };
    // A layer has a weight for each element, the others have one for each channel.
    let (features, feature): (usize, Box<dyn Fn(usize) -> usize>) = match over {
        Over::Layer | Over::Rms => (channels * inner, Box::new(move |i| i % (channels * inner))),
        Over::Groups(_) | Over::Batch | Over::Given => {
            (channels, Box::new(move |i| i / inner % channels))
        }
    };
    let numel = batch * channels * inner;
    let count = group(numel - 1) + 1;
    let groups = match over {
        Over::Batch | Over::Given => channels,
        _ => count,
    };
    let size = numel / groups;
    let centered = !matches!(over, Over::Rms);
    let [mean, var] = [draw(&[channels], 4), draw_positive(&[channels], 5)];
    let given: Option<[Vec<f32>; 2]> = match over {
        Over::Given => Some([&mean, &var].map(|x| x.to_vec().unwrap())),
        _ => None,
    };
    // The mean is subtracted in two steps, then come the scale, the weight and the bias, with a rounding each and one of
    // the scale itself; the gradient counts as many, and its two sums.
    let reference = formula(
        16.0,
        size.max(numel / features),
        Box::new(move |tape, operands| {
            let (x, weight) = (&operands[0], &operands[1]);
            let share = tape.number((size as f64).recip());
            let eps = tape.number(EPS);
            let mut members = vec![Vec::new(); groups];
            (0..numel).for_each(|i| members[group(i)].push(i));
            let mut out: Vec<Option<Var<'_>>> = vec![None; numel];
            for (own, members) in members.iter().enumerate() {
                let mut distances: Vec<_> = members.iter().map(|&i| x[i]).collect();
                let given = given.as_ref().map(|given| {
                    let number = |x: &Vec<f32>| tape.number(f64::from(x[own]));
                    given.each_ref().map(number)
                });
                if centered {
                    let mean = given.map(|[mean, _]| mean);
                    let mean = mean.unwrap_or_else(|| tape.sum(distances.iter().copied()) * share);
                    distances.iter_mut().for_each(|x| *x = *x - mean);
                }
                let var = given.map(|[_, var]| var);
                let squares = || tape.dot(distances.iter().map(|&d| (d, d))) * share;
                let scale = (var.unwrap_or_else(squares) + eps).rsqrt();
                for (&i, &distance) in members.iter().zip(&distances) {
                    let scaled = distance * scale * weight[feature(i)];
                    out[i] = Some(match operands.get(2) {
                        Some(bias) => scaled + bias[feature(i)],
                        None => scaled,
                    });
                }
            }
            out.into_iter().flatten().collect()
        }),
    );
    let mut operands = vec![draw(&[batch, channels, inner], 1), draw(&[features], 2)];
    if centered {
        operands.push(draw(&[features], 3));
    }
    let normalized = channels * inner;
    let operation = move |x: &[Tensor]| -> Result<Tensor> {
        match over {
            Over::Layer | Over::Rms => {
                let rows = x[0].reshape([batch, normalized])?;
                let out = match over {
                    Over::Layer => rows.layer_norm([normalized], Some(&x[1]), Some(&x[2]), EPS)?,
                    _ => rows.rms_norm([normalized], Some(&x[1]), Some(EPS))?,
                };
                out.reshape([batch, channels, inner])
            }
            Over::Groups(groups) => x[0].group_norm(groups, Some(&x[1]), Some(&x[2]), EPS),
            Over::Batch => Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), EPS)?.0),
            Over::Given => x[0].batch_norm(&mean, &var, Some(&x[1]), Some(&x[2]), EPS),
        }
    };
    let name = format!("{over:?} {:?}", [batch, channels, inner]);
    Case::new(name, operands, operation, reference)
}

pub(crate) fn cases() -> Vec<Case> {
    // Around vectors, the 32 elements that give the first estimate of a mean, blocks of 64 rows and of 1,024 elements.
    let rows = [
        [3, 2, 1],
        [5, 17, 1],
        [7, 31, 1],
        [63, 33, 1],
        [65, 130, 1],
        [129, 1023, 1],
        [3, 1025, 1],
    ];
    let rows = rows
        .iter()
        .flat_map(|&shape| [case(Over::Layer, shape), case(Over::Rms, shape)]);
    let groups = [
        (1, [2, 6, 5]),
        (3, [4, 9, 16]),
        (17, [2, 17, 33]),
        (4, [3, 32, 257]),
        (2, [2, 4, 1031]),
    ];
    let groups = groups
        .iter()
        .map(|&(count, shape)| case(Over::Groups(count), shape));
    // Also planes around the 512 elements up to which they are copied together, and columns around tiles of 256.
    let batches = [
        [2, 1, 3],
        [9, 5, 7],
        [65, 33, 16],
        [130, 3, 9],
        [5, 2, 512],
        [3, 2, 513],
        [4, 16, 4099],
        [63, 17, 1],
        [65, 257, 1],
        [517, 255, 1],
    ];
    let batches = batches.iter();
    let batches = batches.flat_map(|&shape| [case(Over::Batch, shape), case(Over::Given, shape)]);
    rows.chain(groups).chain(batches).collect()
}
