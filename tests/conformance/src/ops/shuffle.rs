//! Channel and pixel shuffles, unpooling, negative padding, infinity norms.

use crate::golden::{Case, Tolerance};
use module_core::{PadMode, Result, Tensor};

use module_nn::functional::{self, LpPoolOptions, lp_pool};

use super::ints;

fn norm<const N: usize>(x: &Tensor, case: &Case) -> Result<Tensor> {
    let p = case.args["norm_type"].as_str().unwrap().parse().unwrap();
    let options = LpPoolOptions::new([2; N]).stride([1; N]);
    lp_pool(x, p, options)
}

pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Result<Vec<Tensor>>, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let factor = || usize::try_from(args["factor"].as_u64().unwrap()).unwrap();
    let size = |d: usize| usize::try_from(args["output_size"][d].as_u64().unwrap()).unwrap();
    let (output, tolerance) = match case.op.as_str() {
        "pixel_shuffle" => (functional::pixel_shuffle(x, factor()), Tolerance::EXACT),
        "pixel_unshuffle" => (functional::pixel_unshuffle(x, factor()), Tolerance::EXACT),
        "channel_shuffle" => (functional::channel_shuffle(x, factor()), Tolerance::EXACT),
        "max_unpool1d" => (x.max_unpool(&inputs[1], [size(0)]), Tolerance::EXACT),
        "max_unpool2d" => (x.max_unpool(&inputs[1], [0, 1].map(size)), Tolerance::EXACT),
        "max_unpool3d" => (
            x.max_unpool(&inputs[1], [0, 1, 2].map(size)),
            Tolerance::EXACT,
        ),
        "pad" => {
            let mode = match args["mode"].as_str().unwrap() {
                "reflect" => PadMode::Reflect,
                "replicate" => PadMode::Replicate,
                _ => PadMode::Circular,
            };
            (x.pad(ints(&args["pad"]), mode), Tolerance::EXACT)
        }
        "lp_pool1d" => (norm::<1>(x, case), Tolerance::CONTRACTION),
        "lp_pool2d" => (norm::<2>(x, case), Tolerance::CONTRACTION),
        "lp_pool3d" => (norm::<3>(x, case), Tolerance::CONTRACTION),
        _ => return None,
    };
    Some((output.map(|output| vec![output]), tolerance))
}
