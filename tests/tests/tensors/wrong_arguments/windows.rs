//! Windows over one to three dimensions, and image resizing.

use module_core::{
    AdaptiveSize, AvgPoolOptions, ConvOptions, ConvTransposeOptions, InterpolateMode,
    InterpolateOptions, PadMode, Padding, PoolOptions, Resize, Tensor, UnfoldOptions,
};

use module_nn::functional::{self, LpPoolOptions, lp_pool};

use super::{Draw, fuzz};

impl Draw {
    /// Steps and windows, most of them small.
    fn steps<const N: usize>(&mut self) -> [usize; N] {
        let small = self.often();
        std::array::from_fn(|_| {
            if small {
                1 + self.below(3)
            } else {
                self.size()
            }
        })
    }

    fn paddings<const N: usize>(&mut self) -> [usize; N] {
        let small = self.often();
        std::array::from_fn(|_| if small { self.below(2) } else { self.size() })
    }

    /// An image with a batch or without, of about the right number of dimensions.
    fn volume<const N: usize>(&mut self, channels: usize) -> Tensor {
        if !self.often() {
            return self.maybe_huge();
        }
        let mut shape = vec![channels];
        if self.often() {
            shape.insert(0, self.below(3));
        }
        shape.extend((0..N).map(|_| 1 + self.below(6)));
        let dtype = self.dtype();
        self.of_shape(&shape, dtype)
    }

    fn kernels<const N: usize>(&mut self, lead: [usize; 2], x: &Tensor) -> Tensor {
        if !self.often() {
            return self.maybe_huge();
        }
        let mut shape = lead.to_vec();
        shape.extend((0..N).map(|_| 1 + self.below(3)));
        let dtype = if self.often() {
            x.dtype()
        } else {
            self.dtype()
        };
        self.of_shape(&shape, dtype)
    }

    fn groups(&mut self) -> usize {
        if self.often() {
            1 + self.below(2)
        } else {
            self.size()
        }
    }

    fn convolution<const N: usize>(&mut self, groups: usize) -> ConvOptions<N> {
        ConvOptions::new()
            .stride(self.steps())
            .padding(match self.below(4) {
                0 => Padding::Same,
                1 => Padding::Valid,
                _ => Padding::Size(self.paddings()),
            })
            .dilation(if self.often() { [1; N] } else { self.steps() })
            .groups(groups)
    }

    fn transposed<const N: usize>(&mut self, groups: usize) -> ConvTransposeOptions<N> {
        ConvTransposeOptions::new()
            .stride(self.steps())
            .padding(self.paddings())
            .output_padding(self.paddings())
            .groups(groups)
            .dilation(if self.often() { [1; N] } else { self.steps() })
    }

    fn pooling<const N: usize>(&mut self) -> PoolOptions<N> {
        PoolOptions::new(self.steps())
            .stride(self.steps())
            .padding(self.paddings())
            .dilation(if self.often() { [1; N] } else { self.steps() })
            .ceil_mode(self.often())
    }

    fn means<const N: usize>(&mut self) -> AvgPoolOptions<N> {
        AvgPoolOptions::new(self.steps())
            .stride(self.steps())
            .padding(self.paddings())
            .ceil_mode(self.often())
            .count_include_pad(self.often())
            .divisor_override((!self.often()).then(|| self.size()))
    }

    fn columns<const N: usize>(&mut self) -> UnfoldOptions<N> {
        UnfoldOptions::new(self.steps())
            .dilation(if self.often() { [1; N] } else { self.steps() })
            .padding(self.paddings())
            .stride(self.steps())
    }

    fn adaptive<const N: usize>(&mut self) -> AdaptiveSize<N> {
        let size = |draw: &mut Self| draw.often().then(|| draw.size());
        std::array::from_fn(|_| size(self)).into()
    }

    fn interpolation(&mut self) -> InterpolateOptions {
        use InterpolateMode as Mode;
        let count = if self.often() { 1 } else { self.below(4) };
        InterpolateOptions {
            resize: if self.often() {
                Resize::Size((0..count).map(|_| self.size()).collect())
            } else {
                let factor = |draw: &mut Self| match draw.often() {
                    true => draw.below(30) as f64 / 10.0,
                    false => draw.number() * 1e17,
                };
                Resize::ScaleFactor((0..count).map(|_| factor(self)).collect())
            },
            mode: self.of(&[
                Mode::Nearest,
                Mode::NearestExact,
                Mode::Linear,
                Mode::Bilinear,
                Mode::Trilinear,
                Mode::Bicubic,
                Mode::Area,
            ]),
            align_corners: !self.often(),
            antialias: !self.often(),
        }
    }
}

#[test]
fn convolutions() {
    fuzz("conv1d", |d| {
        let groups = d.groups();
        let x = d.volume::<1>(2);
        let weight = d.kernels::<1>([2, 2 / groups.clamp(1, 2)], &x);
        x.conv1d(&weight, d.convolution(groups))
    });
    fuzz("conv3d", |d| {
        let groups = d.groups();
        let x = d.volume::<3>(2);
        let weight = d.kernels::<3>([2, 2 / groups.clamp(1, 2)], &x);
        x.conv3d(&weight, d.convolution(groups))
    });
    fuzz("conv_transpose1d", |d| {
        let x = d.volume::<1>(2);
        let weight = d.kernels::<1>([2, 1], &x);
        let groups = d.groups();
        x.conv_transpose1d(&weight, d.transposed(groups))
    });
    fuzz("conv_transpose2d", |d| {
        let x = d.volume::<2>(2);
        let weight = d.kernels::<2>([2, 2], &x);
        let groups = d.groups();
        x.conv_transpose2d(&weight, d.transposed(groups))
    });
    fuzz("conv_transpose3d", |d| {
        let x = d.volume::<3>(2);
        let weight = d.kernels::<3>([2, 1], &x);
        let groups = d.groups();
        x.conv_transpose3d(&weight, d.transposed(groups))
    });
    fuzz("im2col", |d| {
        let x = d.volume::<2>(2);
        x.im2col(d.columns::<2>())
    });
    fuzz("im2col of four dimensions", |d| {
        // Four are not supported; the answer is an error.
        let x = d.volume::<1>(2);
        match d.often() {
            true => x.im2col(d.columns::<1>()),
            false => x.im2col(d.columns::<4>()),
        }
    });
    fuzz("col2im", |d| {
        let options = d.columns::<2>();
        let size = d.steps();
        let windows: usize = (0..2)
            .map(|i| {
                let padded = size[i].saturating_add(options.padding[i].saturating_mul(2));
                let reach = options.dilation[i].saturating_mul(options.kernel_size[i].max(1) - 1);
                padded.saturating_sub(reach + usize::from(reach < usize::MAX))
                    / options.stride[i].max(1)
                    + 1
            })
            .fold(1, usize::saturating_mul);
        let rows = options.kernel_size[0].saturating_mul(options.kernel_size[1]);
        let x = d.of_shape(
            &[rows.clamp(1, 9), windows.min(50)],
            module_core::DType::F32,
        );
        x.col2im(size, options)
    });
}

#[test]
fn pooling() {
    fuzz("max_pool1d", |d| {
        let x = d.volume::<1>(2);
        x.max_pool1d(d.pooling())
    });
    fuzz("max_pool3d", |d| {
        let x = d.volume::<3>(2);
        let (values, places) = x.max_pool3d_with_indices(d.pooling())?;
        assert_eq!(values.shape(), places.shape());
        Ok(values)
    });
    fuzz("avg_pool1d", |d| {
        let x = d.volume::<1>(2);
        x.avg_pool1d(d.means())
    });
    fuzz("avg_pool2d", |d| {
        let x = d.volume::<2>(2);
        x.avg_pool2d(d.means())
    });
    fuzz("avg_pool3d", |d| {
        let x = d.volume::<3>(2);
        x.avg_pool3d(d.means())
    });
    fuzz("lp_pool2d", |d| {
        let x = d.volume::<2>(2);
        let options: LpPoolOptions<2> = LpPoolOptions::new(d.steps())
            .stride(d.steps())
            .ceil_mode(d.often());
        lp_pool(&x, d.number(), options)
    });
    fuzz("adaptive_avg_pool2d", |d| {
        let x = d.volume::<2>(2);
        x.adaptive_avg_pool2d(d.adaptive())
    });
    fuzz("adaptive_avg_pool3d", |d| {
        let x = d.volume::<3>(2);
        x.adaptive_avg_pool3d(d.adaptive())
    });
    fuzz("adaptive_max_pool1d", |d| {
        let x = d.volume::<1>(2);
        x.adaptive_max_pool1d(d.adaptive())
    });
    fuzz("adaptive_max_pool2d", |d| {
        let x = d.volume::<2>(2);
        x.adaptive_max_pool2d(d.adaptive())
    });
}

#[test]
fn other_sizes() {
    fuzz("interpolate", |d| {
        let x = match d.below(3) {
            0 => d.volume::<1>(2),
            1 => d.volume::<2>(2),
            _ => d.volume::<3>(2),
        };
        x.interpolate(&d.interpolation())
    });
}

#[test]
fn rearranged_positions() {
    fuzz("pixel_shuffle", |d| {
        let x = d.volume::<2>(4);
        let factor = d.steps::<1>()[0];
        functional::pixel_shuffle(&x, factor)
    });
    fuzz("pixel_unshuffle", |d| {
        let x = d.volume::<2>(2);
        let factor = d.steps::<1>()[0];
        functional::pixel_unshuffle(&x, factor)
    });
    fuzz("channel_shuffle", |d| {
        let x = d.volume::<1>(4);
        let groups = d.steps::<1>()[0];
        functional::channel_shuffle(&x, groups)
    });
    fuzz("max_unpool", |d| {
        let x = d.volume::<2>(2);
        let places = match d.often() {
            true => x.max_pool2d_with_indices(d.pooling())?.1,
            false => d.maybe_huge(),
        };
        let values = match d.often() {
            true => places.to_dtype(module_core::DType::F32)?,
            false => x,
        };
        values.max_unpool(&places, d.steps::<2>())
    });
    fuzz("fractional_max_pool", |d| {
        let x = d.volume::<2>(2);
        let batch = if x.rank() == 4 { x.size(0)? } else { 1 };
        let samples = match d.often() {
            true => Tensor::rand([batch, 2, 2], x.dtype())?,
            false => d.maybe_huge(),
        };
        Ok(x.fractional_max_pool::<2>(d.steps(), d.steps(), &samples)?
            .0)
    });
    fuzz("pooling over four dimensions", |d| {
        // Four are not supported; the answer is an error.
        if d.often() {
            return d.volume::<1>(2).max_pool(d.pooling::<1>());
        }
        let x = d.volume::<4>(2);
        match d.often() {
            true => x.max_pool(d.pooling::<4>()),
            false => x.adaptive_avg_pool(d.adaptive::<4>()),
        }
    });
    fuzz("lp_pool of any power", |d| {
        let x = d.volume::<1>(2);
        let options: LpPoolOptions<1> = LpPoolOptions::new(d.steps())
            .stride(d.steps())
            .ceil_mode(d.often());
        lp_pool(
            &x,
            d.of(&[f64::INFINITY, f64::NEG_INFINITY, 0.0, f64::NAN]),
            options,
        )
    });
    fuzz("pad with negative amounts", |d| {
        let x = d.volume::<1>(2);
        let amount = |d: &mut Draw| match d.often() {
            true => d.below(9) as isize - 4,
            false => d.size() as isize,
        };
        let amounts = [amount(d), amount(d)];
        let mode = d.of(&[PadMode::Reflect, PadMode::Replicate, PadMode::Circular]);
        x.pad(amounts, mode)
    });
}
