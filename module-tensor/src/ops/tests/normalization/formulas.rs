//! Kernels compared with the formulas that stand in for them.

use super::*;

#[test]
fn kernels_and_formulas_give_the_same_gradients() {
    let eps = 1e-5;
    // More rows than are summed at a time, and rows longer than a block.
    for (rows, width) in [(150, 5), (3, 1100), (1, 33)] {
        agree(&[&[rows, width], &[width], &[width]], |x| {
            x[0].layer_norm([width], Some(&x[1]), Some(&x[2]), eps)
        });
        agree(&[&[rows, width], &[width]], |x| {
            x[0].rms_norm([width], Some(&x[1]), None)
        });
    }
    agree(&[&[70, 6], &[6], &[6]], |x| {
        x[0].group_norm(3, Some(&x[1]), Some(&x[2]), eps)
    });
    agree(&[&[3, 6, 40], &[6], &[6]], |x| {
        x[0].group_norm(2, Some(&x[1]), Some(&x[2]), eps)
    });
    for shape in [&[150, 3][..], &[5, 3, 37], &[2, 3, 1200]] {
        agree(&[shape, &[3], &[3]], |x| {
            Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), eps)?.0)
        });
        let (mean, var) = (numbers([3], 1), numbers([3], 2).abs().unwrap());
        agree(&[shape, &[3], &[3]], |x| {
            x[0].batch_norm(&mean, &var, Some(&x[1]), Some(&x[2]), eps)
        });
    }
    for is_causal in [false, true] {
        let options = AttentionOptions::new().is_causal(is_causal);
        agree(&[&[2, 130, 5], &[2, 100, 5], &[2, 100, 3]], |x| {
            x[0].scaled_dot_product_attention(&x[1], &x[2], options)
        });
    }
    for shape in [&[150, 7][..], &[3, 7, 200]] {
        let count = shape.iter().product::<usize>() / 7;
        let classes = (0..count as i64)
            .map(|i| if i % 5 == 4 { -1 } else { i % 7 })
            .collect();
        let kept: Shape = shape.iter().copied().filter(|&size| size != 7).collect();
        let target = Tensor::from_vec::<i64>(classes, kept).unwrap();
        let weight = numbers([7], 3).abs().unwrap();
        for label_smoothing in [0.0, 0.1] {
            let options = CrossEntropyOptions::new()
                .weight(&weight)
                .ignore_index(-1)
                .label_smoothing(label_smoothing);
            agree(&[shape], |x| x[0].cross_entropy(&target, options));
        }
    }
    for shape in [&[3, 1100][..], &[1100, 3], &[2, 5, 300]] {
        for dim in 0..2 {
            agree(&[shape], |x| x[0].softmax(dim));
            agree(&[shape], |x| x[0].log_softmax(dim));
            agree(&[shape], |x| x[0].logsumexp(dim));
        }
    }
}

#[test]
fn what_stands_in_for_a_kernel_gives_the_same() {
    let (x, weight) = (numbers([4, 6, 3], 0), numbers([6], 1));
    let geometry = |over, groups: usize| backend::NormGeometry {
        batch: 4,
        groups,
        channels: 6 / groups,
        inner: 3,
        over,
        centered: true,
        eps: 1e-5,
        with_statistics: over != backend::NormOver::Given,
        compute: DType::F64,
    };
    let same = |geometry, statistics: Option<[Tensor; 2]>| {
        let given = statistics.as_ref().map(|[mean, var]| [mean, var]);
        let norm = normalize::Norm {
            name: "test",
            x: &x,
            weight: Some(&weight),
            bias: Some(&weight),
            statistics: given,
            geometry,
        };
        let (kernel, composed) = (norm.run().unwrap(), norm.compose().unwrap());
        close(&kernel.output, &composed.output, 1e-13);
        let statistics = kernel.statistics.iter().flatten();
        let composed = composed.statistics.iter().flatten();
        assert_eq!(statistics.clone().count(), composed.clone().count());
        statistics
            .zip(composed)
            .for_each(|(a, b)| close(a, b, 1e-13));
    };
    same(geometry(backend::NormOver::Row, 2), None);
    same(geometry(backend::NormOver::Batch, 6), None);
    let given = [numbers([6], 2), numbers([6], 3).abs().unwrap()];
    same(geometry(backend::NormOver::Given, 6), Some(given));
}

#[test]
fn what_stands_in_for_attention_and_losses_gives_the_same() {
    let [q, k, v] = [[4, 70, 5], [4, 40, 5], [4, 40, 3]].map(|shape| numbers(shape, shape[1]));
    let mask = numbers([70, 40], 3);
    let attend = |attn_mask: Option<&Tensor>, is_causal| {
        let options = AttentionOptions::new()
            .attn_mask(attn_mask)
            .is_causal(is_causal);
        q.scaled_dot_product_attention(&k, &v, options).unwrap()
    };
    // A mask with a gradient uses the composed operations.
    close(
        &attend(Some(&mask), false),
        &attend(Some(&mask.with_grad().unwrap()), false),
        1e-13,
    );
    let below = Tensor::ones([70, 40], DType::U8).unwrap();
    let below = below.tril(0).unwrap().to_dtype(DType::Bool).unwrap();
    let hidden = mask.zeros_like().unwrap();
    let not_below = below.logical_not().unwrap();
    let hidden = hidden.masked_fill(&not_below, f64::NEG_INFINITY).unwrap();
    close(
        &attend(None, true),
        &attend(Some(&hidden.with_grad().unwrap()), false),
        1e-13,
    );
    let x = numbers([50, 7], 1);
    let target = Tensor::from_vec((0..50).map(|i| i % 7).collect::<Vec<i64>>(), [50]).unwrap();
    let weight = numbers([7], 2).abs().unwrap();
    let loss = |weight: &Tensor, label_smoothing| {
        let weight = Some(weight);
        let options = CrossEntropyOptions::new()
            .weight(weight)
            .label_smoothing(label_smoothing);
        x.cross_entropy(&target, options).unwrap()
    };
    for smoothing in [0.0, 0.2] {
        let tracked = weight.with_grad().unwrap();
        close(&loss(&weight, smoothing), &loss(&tracked, smoothing), 1e-13);
    }
    let x = x.unsqueeze(0).unwrap();
    let kernel = x.logsumexp_keepdim(1).unwrap();
    close(&kernel, &norm::log_of_sum(&x).unwrap(), 1e-13);
}
