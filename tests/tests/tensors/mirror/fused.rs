//! The fused families on a second device.

use module_core::fused::{RecurrentOp, RecurrentOptions, recurrent};
use module_mirror::{Family, Mirror, mirror};
use module_nn::functional::{Reduction, ctc_loss};
use module_nn::prelude::*;
use module_nn::{AttentionOptions, BackwardOptions, CrossEntropyOptions, GridSampleOptions};

/// A forward and a backward pass through each fused family: results, then gradients.
///
/// The gradients are computed by kernels, or by formulas, which do not use the data that the kernels saved.
fn through_families(device: &Device, dtype: DType, formulas: bool) -> Result<Vec<Tensor>> {
    let drawn = |shape: &[usize]| {
        let x = Tensor::randn(shape, (DType::F32, device))?.to_dtype(dtype)?;
        x.with_grad()
    };
    fork_rng(5, || {
        let (x, channels, last) = (drawn(&[2, 6, 4])?, drawn(&[6])?, drawn(&[4])?);
        let (weight, bias) = (Some(&channels), Some(&channels));
        let (mean, var) = (channels.detach(), channels.detach().abs()?);
        let (normal, of_mean, of_var) = x.batch_norm_train(weight, bias, 1e-5)?;
        let target = Tensor::from([[0_i64, 5, 2, 1], [3, 3, 4, 0]]).to_device(device)?;
        let options = CrossEntropyOptions::new().weight(&var).label_smoothing(0.1);
        let labels = Tensor::from([1_i64, 2, 3, 1, 2, 3]).to_device(device)?;
        let unreduced = CTCLossConfig::new().reduction(Reduction::None);
        let mut outputs = vec![
            x.layer_norm([4], Some(&last), Some(&last), 1e-5)?,
            x.batch_norm(&mean, &var, weight, bias, 1e-5)?,
            normal,
            of_mean,
            of_var,
            x.cross_entropy(&target, options)?,
            x.logsumexp(1)?,
            ctc_loss(&x, &labels, [2, 1, 2, 2, 0, 1], [1; 6], &unreduced)?,
            x.scaled_dot_product_attention(&x, &x, AttentionOptions::default())?,
        ];
        let (image, grid) = (drawn(&[1, 3, 4, 5])?, drawn(&[1, 2, 3, 2])?);
        outputs.push(image.grid_sample(&grid, GridSampleOptions::default())?);
        let mut inputs = vec![x, channels, last, image, grid];
        let steps = [&[5, 16][..], &[3, 2], &[3, 4], &[16, 2], &[2, 4]];
        let steps = steps.map(drawn).into_iter().collect::<Result<Vec<_>>>()?;
        let options = RecurrentOptions::new(RecurrentOp::Lstm, &steps[3], &[3, 2])
            .bias_hh(None)
            .weight_hr(&steps[4])
            .reverse(false);
        let states = recurrent(&steps[0], &steps[1], Some(&steps[2]), &options)?;
        outputs.extend([states.output, states.hidden]);
        outputs.extend(states.cell);
        inputs.extend(steps);
        for output in outputs.iter().filter(|output| output.requires_grad()) {
            let weights = Tensor::arange(0, output.numel() as i64, DType::F32)?.sin()?;
            let weights = weights.reshape(output.shape())?.to_dtype(output.dtype())?;
            let weights = weights.to_device(device)?;
            let options = BackwardOptions::new()
                .retain_graph(true)
                .create_graph(formulas);
            output.backward_with(&weights, options)?;
        }
        let grads = inputs.iter().filter_map(Tensor::grad);
        outputs.extend(grads.collect::<Vec<_>>());
        let host = outputs.iter().map(|x| x.to_device(&Device::cpu()));
        host.collect()
    })
}

/// A device receives the tensors unchanged and widens them itself; and it alone reads the data that it saved, which on a
/// mirror has a different form than on the CPU.
#[test]
fn fused_kernels_are_given_half_precision_and_their_own_memory() -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let device = mirror(&[])?;
        let same = |formulas: bool| {
            let here = through_families(&Device::cpu(), dtype, formulas)?;
            let there = through_families(&device, dtype, formulas)?;
            assert_eq!(here.len(), there.len());
            for (i, (a, b)) in here.iter().zip(&there).enumerate() {
                assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()), "{i}");
                let [a, b] = [a, b].map(|x| x.to_dtype(DType::F64)?.to_vec::<f64>());
                assert_eq!(a?, b?, "{i} of {dtype}");
            }
            Ok::<_, Error>(())
        };
        same(false)?;
        let given = device.backend_as::<Mirror>().unwrap().take_given();
        let fused = [
            Family::Softmax,
            Family::Norm,
            Family::CrossEntropy,
            Family::GridSample,
            Family::Ctc,
            Family::Attention,
            Family::Recurrent,
        ];
        for family in fused {
            // Forward and backward.
            let of = given.iter().filter(|(own, _)| *own == family);
            assert!(of.clone().count() >= 2, "{family:?}");
            assert!(
                of.clone().all(|(_, own)| *own == dtype),
                "{family:?} of {dtype}"
            );
        }
        same(true)?;
    }
    Ok(())
}
