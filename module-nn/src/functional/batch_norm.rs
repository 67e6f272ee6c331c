use module_core::{ErrorKind, Result, Tensor};

/// Every dimension but that of the channels.
fn reduced(input: &Tensor) -> Vec<usize> {
    (0..input.rank()).filter(|&dim| dim != 1).collect()
}

/// The mean and the biased variance of each channel, `[channels]`.
///
/// # Errors
///
/// Fewer than two values per channel, which have no variance.
pub(crate) fn batch_statistics(input: &Tensor) -> Result<(Tensor, Tensor)> {
    let dims = reduced(input);
    let count: usize = dims.iter().map(|&dim| input.shape()[dim]).product();
    if count < 2 {
        let expected = "more than one value per channel in training".to_owned();
        let got = input.shape().clone();
        return Err(ErrorKind::Shape {
            op: "batch_norm",
            expected,
            got,
        }
        .into());
    }
    let mean = input.mean(dims.as_slice(), true)?;
    let distance = input.sub(&mean)?;
    let var = distance.mul(&distance)?.mean(dims.as_slice(), false)?;
    Ok((mean.reshape([-1])?, var))
}

/// `(x - mean) / √(var + eps) · weight + bias` with one value per channel.
pub(crate) fn normalise_channels(
    input: &Tensor,
    mean: &Tensor,
    var: &Tensor,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let column: Vec<isize> = (0..input.rank())
        .map(|dim| if dim == 1 { -1 } else { 1 })
        .collect();
    let mut scale = var.add(eps)?.rsqrt()?;
    if let Some(weight) = weight {
        scale = scale.mul(weight)?;
    }
    let centred = input.sub(&mean.reshape(&column)?)?;
    let output = centred.mul(&scale.reshape(&column)?)?;
    match bias {
        Some(bias) => output.add(&bias.reshape(&column)?),
        None => Ok(output),
    }
}
