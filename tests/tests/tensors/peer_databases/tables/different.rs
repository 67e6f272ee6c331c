//! The differences between our operations and PyTorch's database, each with its reason.

/// The differences: names of operations, dtypes (`*` for all; empty for a refusal), a part of the difference's text, and
/// the reason.
pub(crate) type Different = (&'static str, &'static str, &'static str, &'static str);

const FLOATS: &str =
    "functions of floating-point numbers take no integers and booleans, which are cast first";
const NUMBERS: &str = "booleans are not numbers: they are cast first";
const TIES: &str = "of equal elements PyTorch takes any, ours the first";
const NUMBER: &str = "ours also takes a number";
const ARGUMENT: &str = "ours has no such argument";
const NO_GRADIENT: &str =
    "what is constant between its steps has no gradient, in PyTorch one of zeros";

pub(crate) const DIFFERENT: &[Different] = &[
    (
        "__rdiv__ acos acosh asin asinh atan atan2 atanh copysign cos cosh deg2rad digamma \
         div.no_rounding_mode erf erfinv exp exp2 expm1 lgamma log log10 log1p log2 logsumexp \
         polygamma.polygamma_n_0 polygamma.polygamma_n_1 polygamma.polygamma_n_2 \
         polygamma.polygamma_n_3 polygamma.polygamma_n_4 rad2deg reciprocal rsqrt sigmoid sin sinh \
         sqrt tan tanh true_divide xlogy",
        "i64 i32 u8 bool",
        "not available for",
        FLOATS,
    ),
    (
        "nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d \
         nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d \
         nn.functional.conv_transpose1d nn.functional.conv_transpose2d \
         nn.functional.cosine_embedding_loss nn.functional.hardtanh \
         nn.functional.interpolate.bicubic nn.functional.interpolate.bilinear \
         nn.functional.interpolate.nearest nn.functional.interpolate.nearest-exact \
         nn.functional.local_response_norm nn.functional.margin_ranking_loss \
         nn.functional.pairwise_distance nn.functional.poisson_nll_loss nn.functional.relu6 \
         nn.functional.softsign nn.functional.tanhshrink nn.functional.triplet_margin_loss \
         nn.functional.unfold nn.functional.upsample_bilinear nn.functional.upsample_nearest",
        "i64 i32 u8 bool",
        "not available for",
        FLOATS,
    ),
    (
        "index_add scatter_add sgn sign",
        "bool",
        "not available for bool",
        NUMBERS,
    ),
    (
        "gather",
        "*",
        "not available for uint8; it needs indices",
        "PyTorch does not look at the dtype of indices without elements",
    ),
    (
        "all any",
        "u8",
        "instead of uint8",
        "PyTorch answers in `uint8` of `uint8` alone, ours in `bool` of everything",
    ),
    ("kthvalue topk", "i64 i32 u8", "out/1: element", TIES),
    ("bernoulli", "*", "`bernoulli` has no gradient", NO_GRADIENT),
    (
        "div.floor_rounding",
        "*",
        "`floor_divide` has no gradient",
        NO_GRADIENT,
    ),
    (
        "cat",
        "*",
        "is out of range for shape [0]",
        "an empty vector beside matrices is a special case of PyTorch's past",
    ),
    (
        "max.binary maximum min.binary minimum",
        "",
        "it was accepted",
        NUMBER,
    ),
    (
        "masked_fill",
        "*",
        "value that is not a number",
        "ours takes numbers: `where_` takes tensors",
    ),
    ("nonzero", "*", "as_tuple", ARGUMENT),
    ("bucketize searchsorted", "*", "out_int32 = true", ARGUMENT),
    ("linalg.eigvalsh", "*", "UPLO", "the lower triangle is read"),
    (
        "nn.functional.interpolate.area nn.functional.interpolate.bicubic \
         nn.functional.interpolate.bilinear nn.functional.interpolate.linear \
         nn.functional.interpolate.nearest nn.functional.interpolate.nearest-exact \
         nn.functional.interpolate.trilinear",
        "*",
        "recompute_scale_factor",
        ARGUMENT,
    ),
    (
        "nn.functional.avg_pool2d nn.functional.avg_pool3d",
        "*",
        "divisor_override = -",
        "a divisor is a size",
    ),
    (
        "nn.functional.one_hot",
        "*",
        "num_classes = -1",
        "how many classes there are is always said",
    ),
    (
        "nn.functional.gaussian_nll_loss",
        "*",
        "a loss takes equal shapes",
        "a loss never broadcasts",
    ),
    (
        "nn.functional.binary_cross_entropy",
        "f64",
        "twice/0",
        "PyTorch adds 1e-12 to the probabilities of its second derivative",
    ),
    (
        "nn.functional.hardsigmoid",
        "f64",
        "gin/0",
        "PyTorch's sixth in f64 is that of f32",
    ),
    (
        "nn.functional.layer_norm",
        "f32",
        "gin/1: element 0 is 0e0",
        "of one element less its mean PyTorch keeps its rounding",
    ),
    (
        "sum_to_size",
        "i64 i32 u8 bool",
        "instead of int64",
        "the way back from a broadcast, which keeps the dtype",
    ),
    (
        "nn.functional.batch_norm",
        "*",
        "expected [batch, channels]",
        "a batch norm has channels",
    ),
];

/// Differences without a case in the sample.
pub(crate) const BEYOND_THE_SAMPLE: &[Different] = &[
    ("narrow", "*", "not ours: start", ARGUMENT),
    (
        "scatter",
        "*",
        "argument reduce",
        "`scatter_reduce` is an operation of its own",
    ),
    (
        "nn.functional.conv_transpose3d",
        "i64",
        "not available for",
        FLOATS,
    ),
    (
        "addbmm addmv arange baddbmm nn.functional.pad.constant scatter",
        "i64 i32 u8 bool",
        "floating-point number",
        "integers and booleans take no floating-point number beside them",
    ),
    ("add index_put", "bool", "not available for bool", NUMBERS),
    (
        "sort argsort",
        "u8 bool",
        "element",
        "PyTorch was not asked for a stable order, which ours is",
    ),
    (
        "clamp",
        "*",
        "dtypes",
        "dtypes are never mixed: one is cast first",
    ),
    (
        "nn.functional.ctc_loss",
        "*",
        "gin/0",
        "PyTorch's gradient is that of `log_softmax` and this loss as a whole",
    ),
    (
        "nn.functional.fractional_max_pool2d",
        "*",
        "must be in [0, 1)",
        "PyTorch does not look at the samples",
    ),
    (
        "nn.functional.grid_sample",
        "*",
        "mode = bicubic",
        "bicubic sampling serves images only",
    ),
    (
        "nn.functional.max_unpool3d",
        "",
        "it was accepted",
        "ours takes the size of the output in place of a stride",
    ),
];
