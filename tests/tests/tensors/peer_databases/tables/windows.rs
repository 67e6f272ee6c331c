//! Convolutions, pooling, padding and image resizing.

use super::arguments::{Call, Op, Outputs, Stop, both, not_ours};
use module_core::{
    AdaptiveSize, AvgPoolOptions, ConvOptions, ConvTransposeOptions, InterpolateMode,
    InterpolateOptions, PadMode, Padding, PoolOptions, Resize, Scalar, Tensor, UnfoldOptions,
};
use module_nn::functional;
use serde_json::Value;

pub(crate) const OPS: &[Op] = &[
    ("nn.functional.conv1d", |c| conv::<1>(c)),
    ("nn.functional.conv2d", |c| conv::<2>(c)),
    ("nn.functional.conv3d", |c| conv::<3>(c)),
    ("nn.functional.conv_transpose1d", |c| conv_transpose::<1>(c)),
    ("nn.functional.conv_transpose2d", |c| conv_transpose::<2>(c)),
    ("nn.functional.conv_transpose3d", |c| conv_transpose::<3>(c)),
    ("nn.functional.max_pool1d", |c| max_pool::<1>(c)),
    ("nn.functional.max_pool2d", |c| max_pool::<2>(c)),
    ("nn.functional.max_pool3d", |c| max_pool::<3>(c)),
    ("nn.functional.avg_pool1d", |c| avg_pool::<1>(c)),
    ("nn.functional.avg_pool2d", |c| avg_pool::<2>(c)),
    ("nn.functional.avg_pool3d", |c| avg_pool::<3>(c)),
    ("nn.functional.adaptive_avg_pool1d", |c| {
        Ok(vec![c.x()?.adaptive_avg_pool(adaptive::<1>(c)?)?])
    }),
    ("nn.functional.adaptive_avg_pool2d", |c| {
        Ok(vec![c.x()?.adaptive_avg_pool(adaptive::<2>(c)?)?])
    }),
    ("nn.functional.adaptive_avg_pool3d", |c| {
        Ok(vec![c.x()?.adaptive_avg_pool(adaptive::<3>(c)?)?])
    }),
    ("nn.functional.adaptive_max_pool1d", |c| {
        adaptive_max::<1>(c)
    }),
    ("nn.functional.adaptive_max_pool2d", |c| {
        adaptive_max::<2>(c)
    }),
    ("nn.functional.adaptive_max_pool3d", |c| {
        adaptive_max::<3>(c)
    }),
    (
        "nn.functional.max_unpool1d nn.functional.max_unpool1d.grad",
        |c| unpool::<1>(c),
    ),
    (
        "nn.functional.max_unpool2d nn.functional.max_unpool2d.grad",
        |c| unpool::<2>(c),
    ),
    (
        "nn.functional.max_unpool3d nn.functional.max_unpool3d.grad",
        |c| unpool::<3>(c),
    ),
    ("nn.functional.fractional_max_pool2d", |c| {
        fractional::<2>(c)
    }),
    ("nn.functional.fractional_max_pool3d", |c| {
        fractional::<3>(c)
    }),
    ("nn.functional.unfold", |c| {
        let options = UnfoldOptions::<2>::new(c.sizes(1, "kernel_size")?.unwrap_or([1; 2]))
            .dilation(c.sizes(2, "dilation")?.unwrap_or([1; 2]))
            .padding(c.sizes(3, "padding")?.unwrap_or([0; 2]))
            .stride(c.sizes(4, "stride")?.unwrap_or([1; 2]));
        Ok(vec![c.x()?.im2col(options)?])
    }),
    (
        "nn.functional.pad.constant nn.functional.pad.reflect nn.functional.pad.replicate nn.functional.pad.replicate_negative nn.functional.pad.circular",
        |c| {
            let pad: Vec<isize> = c.need(1, "pad")?;
            let value = match c.has(3, "value") {
                true => c.scalar(3, "value")?,
                false => Scalar::Int(0),
            };
            let mode = match c.value(2, "mode").as_str() {
                Some("reflect") => PadMode::Reflect,
                Some("replicate") => PadMode::Replicate,
                Some("circular") => PadMode::Circular,
                _ => PadMode::Constant(value),
            };
            c.map(|x| x.pad(pad, mode))
        },
    ),
    (
        "nn.functional.interpolate.nearest nn.functional.interpolate.nearest-exact nn.functional.interpolate.linear nn.functional.interpolate.bilinear nn.functional.interpolate.bicubic nn.functional.interpolate.trilinear nn.functional.interpolate.area",
        |c| {
            c.ignore("recompute_scale_factor", &[false.into()])?;
            let align = c.get(4, "align_corners")?.unwrap_or(false);
            let mode = c.or(3, "mode", InterpolateMode::Nearest)?;
            resized(c, mode, align)
        },
    ),
    ("nn.functional.upsample_bilinear", |c| {
        resized(c, InterpolateMode::Bilinear, true)
    }),
    ("nn.functional.upsample_nearest", |c| {
        resized(c, InterpolateMode::Nearest, false)
    }),
    ("nn.functional.grid_sample", |c| {
        let mode = match c.value(2, "mode").as_str() {
            Some("nearest") => functional::GridSampleMode::Nearest,
            Some("bicubic") => functional::GridSampleMode::Bicubic,
            _ => functional::GridSampleMode::Bilinear,
        };
        let padding = match c.value(3, "padding_mode").as_str() {
            Some("border") => functional::GridPaddingMode::Border,
            Some("reflection") => functional::GridPaddingMode::Reflection,
            _ => functional::GridPaddingMode::Zeros,
        };
        let align = c.or(4, "align_corners", false)?;
        let options = functional::GridSampleOptions::new()
            .mode(mode)
            .padding_mode(padding)
            .align_corners(align);
        Ok(vec![functional::grid_sample(c.x()?, c.y()?, options)?])
    }),
    ("nn.functional.pixel_shuffle", |c| {
        let out = functional::pixel_shuffle(c.x()?, c.need(1, "upscale_factor")?)?;
        Ok(vec![out])
    }),
    ("nn.functional.pixel_unshuffle", |c| {
        let out = functional::pixel_unshuffle(c.x()?, c.need(1, "downscale_factor")?)?;
        Ok(vec![out])
    }),
    ("nn.functional.channel_shuffle", |c| {
        Ok(vec![functional::channel_shuffle(
            c.x()?,
            c.need(1, "groups")?,
        )?])
    }),
];

/// The result with what is added to each channel.
fn biased<const N: usize>(c: &Call<'_>, out: Tensor) -> Outputs {
    match c.maybe(2, "bias")? {
        None => Ok(vec![out]),
        Some(bias) => {
            let mut shape = vec![-1];
            shape.extend([1; N]);
            Ok(vec![out.add(&bias.reshape(shape)?)?])
        }
    }
}

fn conv<const N: usize>(c: &Call<'_>) -> Outputs {
    let padding = match c.value(4, "padding").as_str() {
        Some("same") => Padding::Same,
        Some("valid") => Padding::Valid,
        Some(other) => return not_ours(format!("padding = {other}")),
        None => Padding::Size(c.sizes(4, "padding")?.unwrap_or([0; N])),
    };
    let options = ConvOptions::<N>::new()
        .stride(c.sizes(3, "stride")?.unwrap_or([1; N]))
        .padding(padding)
        .dilation(c.sizes(5, "dilation")?.unwrap_or([1; N]))
        .groups(c.or(6, "groups", 1)?);
    let (x, weight) = (c.x()?, c.tensor(1, "weight")?);
    let out = x.conv(weight, options)?;
    biased::<N>(c, out)
}

fn conv_transpose<const N: usize>(c: &Call<'_>) -> Outputs {
    let options = ConvTransposeOptions::<N>::new()
        .stride(c.sizes(3, "stride")?.unwrap_or([1; N]))
        .padding(c.sizes(4, "padding")?.unwrap_or([0; N]))
        .output_padding(c.sizes(5, "output_padding")?.unwrap_or([0; N]))
        .groups(c.or(6, "groups", 1)?)
        .dilation(c.sizes(7, "dilation")?.unwrap_or([1; N]));
    let (x, weight) = (c.x()?, c.tensor(1, "weight")?);
    let out = x.conv_transpose(weight, options)?;
    biased::<N>(c, out)
}

fn kernel<const N: usize>(c: &Call<'_>) -> Result<[usize; N], Stop> {
    match c.sizes(1, "kernel_size")? {
        Some(kernel) => Ok(kernel),
        None => not_ours("no kernel_size"),
    }
}

fn max_pool<const N: usize>(c: &Call<'_>) -> Outputs {
    let kernel_size = kernel::<N>(c)?;
    let options = PoolOptions::new(kernel_size)
        .stride(c.sizes(2, "stride")?.unwrap_or(kernel_size))
        .padding(c.sizes(3, "padding")?.unwrap_or([0; N]))
        .dilation(c.sizes(4, "dilation")?.unwrap_or([1; N]))
        .ceil_mode(c.or(5, "ceil_mode", false)?);
    match c.or(6, "return_indices", false)? {
        true => Ok(both(c.x()?.max_pool_with_indices(options)?)),
        false => Ok(vec![c.x()?.max_pool(options)?]),
    }
}

fn avg_pool<const N: usize>(c: &Call<'_>) -> Outputs {
    let kernel_size = kernel::<N>(c)?;
    let options = AvgPoolOptions::new(kernel_size)
        .stride(c.sizes(2, "stride")?.unwrap_or(kernel_size))
        .padding(c.sizes(3, "padding")?.unwrap_or([0; N]))
        .ceil_mode(c.or(4, "ceil_mode", false)?)
        .count_include_pad(c.or(5, "count_include_pad", true)?)
        .divisor_override(c.get(6, "divisor_override")?);
    Ok(vec![c.x()?.avg_pool(options)?])
}

fn adaptive<const N: usize>(c: &Call<'_>) -> Result<AdaptiveSize<N>, Stop> {
    let sizes = c.value(1, "output_size");
    if sizes.to_string().contains('-') {
        return not_ours("a negative output_size");
    }
    let size = |value: &Value| value.as_u64().map(|size| size as usize);
    match sizes {
        Value::Array(list) if list.len() == N => {
            Ok(AdaptiveSize(std::array::from_fn(|i| size(&list[i]))))
        }
        Value::Array(list) if list.len() == 1 => Ok(AdaptiveSize([size(&list[0]); N])),
        Value::Number(_) => Ok(c.need::<usize>(1, "output_size")?.into()),
        other => not_ours(format!("output_size = {other}")),
    }
}

fn adaptive_max<const N: usize>(c: &Call<'_>) -> Outputs {
    let size = adaptive::<N>(c)?;
    match c.or(2, "return_indices", false)? {
        true => Ok(both(c.x()?.adaptive_max_pool_with_indices(size)?)),
        false => Ok(vec![c.x()?.adaptive_max_pool(size)?]),
    }
}

fn unpool<const N: usize>(c: &Call<'_>) -> Outputs {
    let (x, indices) = (c.x()?, c.tensor(1, "indices")?);
    let kernel_size = match c.sizes::<N>(2, "kernel_size")? {
        Some(kernel) => kernel,
        None => return not_ours("no kernel_size"),
    };
    let stride = c.sizes(3, "stride")?.unwrap_or(kernel_size);
    let padding = c.sizes(4, "padding")?.unwrap_or([0; N]);
    let output_size: [usize; N] = match c.get::<Vec<usize>>(5, "output_size")? {
        Some(size) if size.len() >= N => std::array::from_fn(|i| size[size.len() - N + i]),
        Some(_) => return not_ours("too short an output_size"),
        None => {
            let sizes: Vec<usize> = x.shape().iter().copied().collect();
            std::array::from_fn(|i| {
                let size = sizes[sizes.len() - N + i];
                (size - 1) * stride[i] + kernel_size[i] - 2 * padding[i]
            })
        }
    };
    Ok(vec![x.max_unpool(indices, output_size)?])
}

fn fractional<const N: usize>(c: &Call<'_>) -> Outputs {
    let x = c.x()?;
    let kernel_size = kernel::<N>(c)?;
    if x.rank() <= N {
        return not_ours("too few dimensions");
    }
    let sizes: Vec<usize> = x.shape().iter().copied().collect();
    let output_size = match c.sizes::<N>(2, "output_size")? {
        Some(size) => size,
        None => {
            let ratio: Vec<f64> = c.need(3, "output_ratio")?;
            std::array::from_fn(|i| (sizes[sizes.len() - N + i] as f64 * ratio[i]) as usize)
        }
    };
    let samples = match c.maybe(usize::MAX, "_random_samples")? {
        Some(samples) => samples.clone(),
        None => {
            let batch = if sizes.len() == N + 2 { sizes[0] } else { 1 };
            let channels = sizes[sizes.len() - N - 1];
            Tensor::rand([batch, channels, N], x.dtype())?
        }
    };
    let out = x.fractional_max_pool(kernel_size, output_size, &samples)?;
    match c.or(usize::MAX, "return_indices", false)? {
        true => Ok(both(out)),
        false => Ok(vec![out.0]),
    }
}

fn resized(c: &Call<'_>, mode: InterpolateMode, align_corners: bool) -> Outputs {
    let x = c.x()?;
    let dims = x.rank().saturating_sub(2);
    let resize = match (c.value(1, "size"), c.value(2, "scale_factor")) {
        (Value::Null, Value::Number(_)) => {
            Resize::ScaleFactor(vec![c.number(2, "scale_factor", 1.0)?; dims])
        }
        (Value::Null, _) => Resize::ScaleFactor(c.need(2, "scale_factor")?),
        (Value::Number(_), _) => Resize::Size(vec![c.need(1, "size")?; dims]),
        _ => Resize::Size(c.need(1, "size")?),
    };
    let antialias = c.or(usize::MAX, "antialias", false)?;
    let options = InterpolateOptions {
        resize,
        mode,
        align_corners,
        antialias,
    };
    Ok(vec![x.interpolate(&options)?])
}
