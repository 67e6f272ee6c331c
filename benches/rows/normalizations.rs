//! Normalizations and softmax.

use module_nn::Tensor;

use super::row::Rows;

pub(crate) fn add(rows: &mut Rows) {
    rows.both(
        "layer_norm [128, 768]",
        &[&[128, 768], &[768], &[768]],
        |x| x[0].layer_norm([768], Some(&x[1]), Some(&x[2]), 1e-5),
    );
    rows.both(
        "layer_norm [12544, 96]",
        &[&[12544, 96], &[96], &[96]],
        |x| x[0].layer_norm([96], Some(&x[1]), Some(&x[2]), 1e-5),
    );
    rows.both("rms_norm [256, 1024]", &[&[256, 1024], &[1024]], |x| {
        x[0].rms_norm([1024], Some(&x[1]), Some(1e-6))
    });
    let image: &[usize] = &[8, 64, 32, 32];
    rows.both(
        "group_norm [8, 64, 32, 32], 8 groups",
        &[image, &[64], &[64]],
        |x| x[0].group_norm(8, Some(&x[1]), Some(&x[2]), 1e-5),
    );
    rows.both("batch_norm [8, 64, 32, 32]", &[image, &[64], &[64]], |x| {
        Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), 1e-5)?.0)
    });
    rows.both(
        "batch_norm [1024, 256]",
        &[&[1024, 256], &[256], &[256]],
        |x| Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), 1e-5)?.0),
    );
    rows.both(
        "batch_norm in evaluation [8, 64, 32, 32]",
        &[image, &[64], &[64]],
        |x| {
            let (mean, var) = (Tensor::zeros([64], ())?, Tensor::ones([64], ())?);
            x[0].batch_norm(&mean, &var, Some(&x[1]), Some(&x[2]), 1e-5)
        },
    );
    rows.both("softmax [12, 128, 128]", &[&[12, 128, 128]], |x| {
        x[0].softmax(-1)
    });
    rows.both(
        "softmax [8, 256, 128], dimension 1",
        &[&[8, 256, 128]],
        |x| x[0].softmax(1),
    );
    rows.both("log_softmax [256, 1024]", &[&[256, 1024]], |x| {
        x[0].log_softmax(-1)
    });
    rows.both(
        "log_softmax [8, 256, 128], dimension 1",
        &[&[8, 256, 128]],
        |x| x[0].log_softmax(1),
    );
    rows.both("logsumexp [256, 1024]", &[&[256, 1024]], |x| {
        x[0].logsumexp(-1)
    });
}
