//! Code that layers over one to three spatial dimensions share.

use module_core::{AutocastPolicy, Error, Result, Tensor};

/// The name of a layer over `N` spatial dimensions, one to three; other numbers do not compile.
pub(super) const fn of_dims<const N: usize>(names: [&'static str; 3]) -> &'static str {
    assert!(0 < N && N < 4, "there are one to three spatial dimensions");
    names[N - 1]
}

/// The sizes of an input with `N` spatial dimensions, as errors name them.
pub(super) const fn sizes<const N: usize>() -> &'static str {
    of_dims::<N>(["length", "height, width", "depth, height, width"])
}

/// Refuses anything but `[batch, channels, size…]`, with or without the batch.
pub(super) fn check_images<const N: usize>(op: &'static str, input: &Tensor) -> Result<()> {
    match input.rank().checked_sub(N) {
        Some(1 | 2) => Ok(()),
        _ => Err(images_error::<N>(op, input, "channels")),
    }
}

/// [`check_images`] with this number of channels.
pub(super) fn check_channels<const N: usize>(
    op: &'static str,
    input: &Tensor,
    channels: usize,
) -> Result<()> {
    let lead = input.rank().checked_sub(N);
    if matches!(lead, Some(1 | 2)) && input.size(-1 - (N as isize))? == channels {
        return Ok(());
    }
    Err(images_error::<N>(op, input, &channels.to_string()))
}

fn images_error<const N: usize>(op: &'static str, input: &Tensor, channels: &str) -> Error {
    let sizes = sizes::<N>();
    let expected = format!("[batch, {channels}, {sizes}] or [{channels}, {sizes}]");
    input.shape().error(op, expected)
}

/// Adds a value for each channel to an output.
pub(super) fn add_bias<const N: usize>(output: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let Some(bias) = bias else {
        return Ok(output);
    };
    let column: Vec<isize> = [-1].into_iter().chain([1; N]).collect();
    let add = |bias: &Tensor| output.add(&bias.reshape(column.as_slice())?);
    // Inside `autocast` it is cast like the weight.
    let policy = AutocastPolicy::LowerPrecision;
    policy
        .apply([bias], [], |[bias], []| add(bias))
        .unwrap_or_else(|| add(bias))
}
