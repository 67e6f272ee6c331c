//! The gradient of each operation, compared with differences.

use super::*;

pub(super) fn check_all() {
    check_parts();
    activation::check_all();
    by_index::check_all();
    functions::check_all();
    check_unary("add", |x| x.add(1.5)?.square());
    check_unary("sub", |x| x.sub(1.5)?.square());
    check_unary("mul", |x| x.mul(1.5)?.square());
    check_unary("div", |x| x.div(1.5)?.square());
    check("add_scaled", &[&[2, 3], &[3]], |x| {
        x[0].add_scaled(&x[1], -0.5)?.square()
    });
    for input in [&[3, 2][..], &[2, 2, 2], &[2], &[0, 2]] {
        check("linear", &[input, &[3, 2], &[3]], |x| {
            x[0].linear(&x[1], Some(&x[2]))?.square()
        });
        check("linear", &[input, &[3, 2]], |x| {
            x[0].linear(&x[1], None)?.square()
        });
    }
    let packed = packed_matrix();
    for input in [&[3, 2][..], &[2, 2, 2], &[2], &[0, 2]] {
        check("packed_matmul", &[input, &[3]], |x| {
            x[0].linear(&packed, Some(&x[1]))?.square()
        });
        check("packed_matmul", &[input], |x| {
            x[0].matmul(&packed.t()?)?.square()
        });
    }
    check_unary("neg", Tensor::neg);
    check_unary("abs", Tensor::abs);
    check_unary("sign", Tensor::sign);
    check_unary("exp", Tensor::exp);
    check_unary("log", positive(Tensor::log));
    check_unary("sqrt", positive(Tensor::sqrt));
    check_unary("rsqrt", positive(Tensor::rsqrt));
    check_unary("reciprocal", Tensor::reciprocal);
    check_unary("log1p", positive(Tensor::log1p));
    check_unary("expm1", Tensor::expm1);
    check_unary("erf", Tensor::erf);
    check_unary("sin", Tensor::sin);
    check_unary("cos", Tensor::cos);
    // The numbers begin with an integer, at which there is a step.
    check_unary("floor", |x| x.add(0.03)?.floor());
    check_unary("ceil", |x| x.add(0.03)?.ceil());
    check_unary("round", |x| x.add(0.03)?.round());
    check_unary("square", Tensor::square);
    check_unary("clamp", |x| x.mul(x)?.clamp(0.5, 2.0));
    check_unary("clamp_min", |x| x.mul(x)?.clamp_min(0.5));
    check_unary("clamp_max", |x| x.mul(x)?.clamp_max(2.0));
    check_unary("gelu", |x| x.gelu(Approximate::None));
    check_unary("gelu", |x| x.gelu(Approximate::Tanh));
    check_unary("silu", Tensor::silu);
    check_unary("softplus", |x| x.softplus(1.5, 2.0));
    check_unary("leaky_relu", |x| x.leaky_relu(0.1));
    check_unary("elu", |x| x.elu(0.7));
    check_unary("relu", Tensor::relu);
    check_unary("relu", |x| x.relu()?.square());
    check_unary("sigmoid", Tensor::sigmoid);
    check_unary("tanh", Tensor::tanh);
    for exponent in [-1.0, 0.0, 1.0, 2.0, 3.0] {
        check_unary("pow", |x| x.pow(exponent));
    }
    check_unary("pow", positive(|x| x.pow(1.7)));
    check_unary("square", Tensor::square);
    check_unary("sum_squares", |x| x.sum_squares(..));
    check_unary("sum_squares", |x| x.sum_squares(0));
    check_unary("pow", positive(|x| x.pow(0.5)));
    check_unary("pow", positive(|x| x.pow(-0.5)));
    check_unary("with a number", |x| x.mul(2)?.add(1.5)?.sub(0.5)?.div(-3.0));
    check_unary("softmax", |x| x.softmax(-1));
    check_unary("log_softmax", |x| x.log_softmax(0));
    check_unary("alias", |x| x.reshape(x.shape()));
    check_unary("contiguous", Tensor::contiguous);
    check_unary("flatten", |x| x.flatten(0, -1));
    check_unary("unsqueeze", |x| x.unsqueeze(-1)?.unsqueeze(0));
    // The mask follows the order in memory, which the perturbed inputs do not share.
    check_unary("dropout", |x| fork_rng(5, || x.contiguous()?.dropout(0.4)));
    check_unary("dropout of all", |x| x.dropout(1.0));
    check_unary("where", |x| x.gt(0.3)?.where_(x, &x.mul(x)?));

    type Pair = (&'static [usize], &'static [usize]);
    let pairs: [Pair; 7] = [
        (&[3, 4], &[3, 4]),
        (&[3, 4], &[4]),
        (&[3, 1], &[1, 4]),
        (&[], &[3, 2]),
        (&[], &[]),
        (&[0, 4], &[1, 4]),
        (&[1], &[2, 0]),
    ];
    for (a, b) in pairs {
        check("add", &[a, b], |x| x[0].add(&x[1]));
        check("sub", &[a, b], |x| x[0].sub(&x[1]));
        check("mul", &[a, b], |x| x[0].mul(&x[1]));
        check("div", &[a, b], |x| x[0].div(&x[1]));
        check("maximum", &[a, b], |x| x[0].maximum(&x[1]));
        check("minimum", &[a, b], |x| x[0].minimum(&x[1]));
        let condition = numbers(a, 7).gt(0.0).unwrap();
        check("where", &[a, b], |x| condition.where_(&x[0], &x[1]));
    }

    for dims in [&[0_isize][..], &[1], &[-1], &[0, 2], &[0, 1, 2], &[]] {
        check("sum", &[&[2, 3, 4]], |x| x[0].sum(dims));
        check("sum", &[&[2, 3, 4]], |x| x[0].sum_keepdim(dims));
        check("mean", &[&[2, 3, 4]], |x| x[0].mean(dims));
        check("mean", &[&[2, 3, 4]], |x| x[0].mean_keepdim(dims));
        for f in [
            |x: &[Tensor], d: &[isize]| x[0].amax(d),
            |x: &[Tensor], d: &[isize]| x[0].amin(d),
            |x: &[Tensor], d: &[isize]| x[0].amax_keepdim(d),
            |x: &[Tensor], d: &[isize]| x[0].amin_keepdim(d),
        ] {
            // Expanded elements are equal, so the maximum has no slope there.
            check_layouts("extreme", &[numbers([2, 3, 4], 1)], &["expanded"], &|x| {
                f(x, dims)
            });
        }
    }
    check("var", &[&[2, 3, 4]], |x| x[0].var([0, 2], 1.0));
    check("var", &[&[3, 4]], |x| x[0].var_keepdim(.., 0.0));
    reductions();
    arrangements();
    data::moves();
    check("sum of nothing", &[&[0, 3]], |x| x[0].sum(0));
    check("extreme of nothing", &[&[0, 3]], |x| x[0].amax(1));
    check("sum_to", &[&[2, 3, 4]], |x| x[0].sum_to(&[3, 1].into()));

    for (a, b) in [
        (&[4][..], &[4][..]),
        (&[3, 4], &[4]),
        (&[4], &[4, 2]),
        (&[3, 4], &[4, 2]),
        (&[2, 3, 4], &[4, 2]),
        (&[3, 4], &[2, 4, 2]),
        (&[2, 1, 3, 4], &[3, 4, 2]),
        (&[0, 4], &[4, 2]),
        (&[3, 0], &[0, 2]),
        (&[0, 3, 4], &[4, 2]),
    ] {
        check("matmul", &[a, b], |x| x[0].matmul(&x[1]));
    }

    check("reshape", &[&[2, 6]], |x| x[0].reshape([3, -1]));
    check("reshape", &[&[2, 0]], |x| x[0].reshape([0, 5]));
    check("permute", &[&[2, 3, 4]], |x| x[0].permute([2, 0, 1]));
    check("transpose", &[&[2, 3, 4]], |x| x[0].transpose(0, -1));
    check("t", &[&[2, 3]], |x| x[0].t());
    check("narrow", &[&[3, 4]], |x| x[0].narrow(1, 1..3));
    check("narrow", &[&[3, 4]], |x| x[0].narrow(0, 3..3));
    check("squeeze", &[&[1, 3, 1]], |x| x[0].squeeze(..));
    check("expand", &[&[3, 1]], |x| x[0].expand([2, 3, 4]));
    check("expand", &[&[1, 3]], |x| x[0].expand([0, 3]));
    check("cat", &[&[2, 3], &[2, 1], &[2, 0]], |x| {
        Tensor::cat(&[&x[0], &x[1], &x[2]], 1)
    });
    check("stack", &[&[2, 3], &[2, 3]], |x| {
        Tensor::stack(&[&x[0], &x[1]], 1)
    });

    let index = Tensor::from([[0_i64, 2, 2], [1, 0, 1]]);
    check("gather", &[&[3, 4]], |x| x[0].gather(0, &index));
    check("scatter_add", &[&[3, 4], &[2, 3]], |x| {
        x[0].scatter_add(0, &index, &x[1])
    });
    let index = Tensor::from([2_i64, 0, 2]);
    check("index_select", &[&[2, 3]], |x| {
        x[0].index_select(-1, &index)
    });
    check("index_select", &[&[0, 3]], |x| x[0].index_select(1, &index));

    normalization::check_all();
    recurrent::check_all();
    convolutions();
    windows::check_all();
    for (shape, pool) in [
        (&[2, 2, 5, 4][..], Pool2dOptions::new([2, 2])),
        (
            &[1, 6, 5],
            Pool2dOptions::new([3, 2])
                .stride([1, 2])
                .padding([1, 1])
                .dilation([1, 2])
                .ceil_mode(true),
        ),
        (&[0, 2, 4, 4], Pool2dOptions::new([2, 2])),
    ] {
        check_layouts("max_pool2d", &[numbers(shape, 2)], &["expanded"], &|x| {
            x[0].max_pool2d(pool)
        });
    }
}

fn arrangements() {
    check("flip", &[&[2, 3, 4]], |x| x[0].flip([0, -1]));
    check("flip", &[&[2, 0]], |x| x[0].flip(..));
    check("roll", &[&[3, 4]], |x| x[0].roll(5, 0)?.roll(-1, 1));
    check("roll", &[&[3, 1, 4]], |x| x[0].roll([2, 1, -1], ..));
    check("tril", &[&[2, 3, 4]], |x| x[0].tril(1));
    check("triu", &[&[3, 2]], |x| x[0].triu(-1));
    check("split", &[&[5, 2]], |x| {
        let parts = x[0].split(2, 0)?;
        parts[0]
            .mul(&parts[1])?
            .sum_to(parts[2].shape())?
            .mul(&parts[2])
    });
    check("chunk", &[&[2, 5]], |x| {
        let parts = x[0].chunk(2, 1)?;
        parts[0].narrow(1, 0..2)?.mul(&parts[1])
    });
    check("dot", &[&[4], &[4]], |x| x[0].dot(&x[1]));
    check("outer", &[&[3], &[4]], |x| x[0].outer(&x[1]));
    let index = Tensor::from([2_i64, 0, 2]);
    check("index_add", &[&[2, 3], &[2, 3]], |x| {
        x[0].index_add(1, &index, &x[1])
    });
}

fn reductions() {
    check_unary("masked_fill", |x| x.masked_fill(&x.gt(0.3)?, 1.5));
    check_unary("masked_select", |x| x.masked_select(&x.gt(-5.0)?));
    check_unary("cumsum", |x| x.cumsum(-1));
    check_unary("prod", |x| x.prod(..));
    check_unary("norm", |x| x.norm_keepdim(2.0, ..));
    check_unary("logsumexp", |x| x.logsumexp(0));
    check_unary("any", |x| x.mul(&x.any(..)?.to_dtype(DType::F64)?));
    let special = Tensor::from([
        [0.0, 1.5, -2.0, 0.5],
        [0.0, 0.0, 3.0, -1.0],
        [1.0, 2.0, 0.7, 1.1],
    ]);
    for dims in [&[0_isize][..], &[-1], &[0, 1]] {
        let zeros = [special.clone()];
        check_layouts("prod of zeros", &zeros, &["expanded"], &|x| {
            x[0].prod_keepdim(dims)
        });
        check("prod", &[&[2, 3, 2]], |x| x[0].prod(dims));
        check("logsumexp", &[&[2, 3, 2]], |x| x[0].logsumexp_keepdim(dims));
        for p in [-1.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0] {
            check("norm", &[&[2, 3, 2]], |x| x[0].norm(p, dims));
        }
        for p in [f64::NEG_INFINITY, f64::INFINITY] {
            // Elements of one size share the extreme, which has a kink there.
            check_layouts("norm", &[numbers([2, 3], 1)], &["expanded"], &|x| {
                x[0].norm(p, dims)
            });
        }
    }
    for dim in [0, 1, -1] {
        check("cumsum", &[&[2, 3, 4]], |x| x[0].cumsum(dim));
        let x = [numbers([2, 3, 4], 1)];
        check_layouts("max", &x, &["expanded"], &|x| Ok(x[0].max(dim)?.0));
        check_layouts("min", &x, &["expanded"], &|x| Ok(x[0].min_keepdim(dim)?.0));
        check_layouts("std", &x, &["expanded"], &|x| x[0].std(dim, 1.0));
    }
    let x = [numbers([3, 3], 1)];
    check_layouts("max of all", &x, &["expanded"], &|x| x[0].max(..));
    check_layouts("min of all", &x, &["expanded"], &|x| x[0].min(..));
    check_layouts("median of all", &x, &["expanded"], &|x| x[0].median(..));
    check("std", &[&[3, 4]], |x| x[0].std_keepdim(.., 0.0));
}

fn convolutions() {
    let plain = Conv2dOptions::default();
    let cases = [
        (&[2, 2, 4, 5][..], &[3, 2, 2, 3][..], plain),
        (&[2, 4, 3], &[2, 2, 2, 2], plain),
        (
            &[1, 4, 5, 4],
            &[2, 2, 3, 2],
            plain.stride([2, 1]).padding([1, 2]).groups(2),
        ),
        (
            &[1, 1, 5, 6],
            &[1, 1, 2, 3],
            plain.padding(Padding::Same).dilation([1, 2]),
        ),
        (&[0, 2, 4, 4], &[3, 2, 2, 2], plain),
        (&[1, 2, 3, 3], &[0, 2, 2, 2], plain),
    ];
    for (input, weight, options) in cases {
        check("conv2d", &[input, weight], |x| x[0].conv2d(&x[1], options));
    }
}

fn check_parts() {
    let product = |parts: Vec<Tensor>| {
        let (last, others) = parts.split_last().unwrap();
        others
            .iter()
            .try_fold(last.clone(), |product, part| product.mul(part))
    };
    check("split", &[&[4, 2]], |x| product(x[0].split(2, 0)?));
    check("split_with_sizes", &[&[2, 4]], |x| {
        product(x[0].split_with_sizes([2, 2], 1)?)
    });
    check("unbind", &[&[2, 3]], |x| product(x[0].unbind(1)?));
}
