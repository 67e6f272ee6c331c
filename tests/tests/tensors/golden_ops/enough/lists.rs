//! What counts as enough, and what is excepted.

/// The minimum number of recorded variants of an operation.
pub(super) const ENOUGH: usize = 4;

/// Operations that are also recorded under other names, and why.
pub(super) const RECORDED_AS: &[(&str, &[&str], &str)] = &[
    (
        "adaptive_avg_pool",
        &[
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
        ],
        EACH,
    ),
    (
        "adaptive_max_pool",
        &[
            "adaptive_max_pool1d",
            "adaptive_max_pool2d",
            "adaptive_max_pool3d",
        ],
        EACH,
    ),
    (
        "adaptive_max_pool1d_with_indices",
        &["adaptive_max_pool1d"],
        PLACES,
    ),
    (
        "adaptive_max_pool2d_with_indices",
        &["adaptive_max_pool2d"],
        PLACES,
    ),
    (
        "adaptive_max_pool3d_with_indices",
        &["adaptive_max_pool3d"],
        PLACES,
    ),
    (
        "adaptive_max_pool_with_indices",
        &[
            "adaptive_max_pool1d",
            "adaptive_max_pool2d",
            "adaptive_max_pool3d",
        ],
        EACH,
    ),
    (
        "avg_pool",
        &["avg_pool1d", "avg_pool2d", "avg_pool3d"],
        EACH,
    ),
    (
        "batch_norm_train",
        &["batch_norm", "batch_norm_mean", "batch_norm_var"],
        "a case of `batch_norm` without statistics is one of training",
    ),
    ("chunk_array", &["chunk"], ARRAY),
    ("split_array", &["split_with_sizes"], ARRAY),
    ("unbind_array", &["unbind"], ARRAY),
    ("conv", &["conv1d", "conv2d", "conv3d"], EACH),
    (
        "conv_transpose",
        &["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"],
        EACH,
    ),
    (
        "fractional_max_pool",
        &["fractional_max_pool2d", "fractional_max_pool3d"],
        "PyTorch has a function for each number of dimensions",
    ),
    (
        "i",
        &["index", "index_tensor"],
        "an index has no name in PyTorch",
    ),
    (
        "max_pool",
        &["max_pool1d", "max_pool2d", "max_pool3d"],
        EACH,
    ),
    ("max_pool1d_with_indices", &["max_pool1d"], PLACES),
    ("max_pool2d_with_indices", &["max_pool2d"], PLACES),
    ("max_pool3d_with_indices", &["max_pool3d"], PLACES),
    (
        "max_pool_with_indices",
        &["max_pool1d", "max_pool2d", "max_pool3d"],
        EACH,
    ),
    (
        "max_unpool",
        &["max_unpool1d", "max_unpool2d", "max_unpool3d"],
        "PyTorch has a function for each number of dimensions",
    ),
    (
        "pow",
        &["pow_of", "pow_whole"],
        "the exponent is a number, a tensor or a whole number",
    ),
    (
        "where_",
        &["where", "where_else", "where_then", "where_numbers"],
        "`where` is a word of Rust, and numbers stand on either side",
    ),
];

pub(super) const COMPLEX: &str =
    "complex numbers are recorded with the dtypes that are only stored";

pub(super) const EACH: &str = "those of one to three dimensions call it";

pub(super) const ARRAY: &str = "an array of the same views";

pub(super) const PLACES: &str = "the places are recorded with the values";

/// The suffixes of methods that are an operation with one of PyTorch's arguments set, and that argument: the requirements
/// of the operation apply, and a call with the argument set must be recorded.
pub(super) const FORMS: &[(&str, &str, bool)] = &[
    ("_keepdim", "keepdim", true),
    ("_descending", "descending", true),
    ("_smallest", "largest", false),
    ("_with_replacement", "replacement", true),
    ("_accumulate", "accumulate", true),
    ("_exclude_self", "include_self", false),
    ("_right", "right", true),
    ("_with", "right", true),
    ("_align_corners", "align_corners", true),
];

/// Operations with nothing to record, and why.
pub(super) const NOTHING: &[(&str, &str)] = &[
    ("to_device", "PyTorch on one device has no answer"),
    (
        "to_integers",
        "it is `to_dtype` for those dtypes that the operations take as indices",
    ),
    ("view_as_complex", COMPLEX),
    ("view_as_real", COMPLEX),
];

/// Requirements that some operations cannot meet, separated by spaces, and why.
pub(super) const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("affine_grid", EMPTY, "PyTorch refuses an empty batch"),
    ("floor_divide", GRADIENT, "PyTorch has none"),
    ("quantile nanquantile", EMPTY, "it is refused"),
    ("bincount", GRADIENT, "PyTorch has none"),
    ("unique unique_consecutive", GRADIENT, "PyTorch has none"),
    (
        "multinomial",
        SPECIAL,
        "weights that are not finite are refused",
    ),
    ("one_hot", F32, INTEGERS),
    ("one_hot", F64, INTEGERS),
    ("one_hot", SPECIAL, INTEGERS),
    (
        "bincount cat cdist chunk chunk_array split_array unbind_array diag diag_embed diagonal diff dot embedding glu linear matmul narrow outer pad \
         repeat_interleave roll searchsorted select slice split split_with_sizes take_along_dim tril triu \
         unbind unflatten",
        SCALAR,
        "PyTorch needs a dimension",
    ),
    (
        "adaptive_avg_pool adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d \
         adaptive_max_pool adaptive_max_pool1d adaptive_max_pool1d_with_indices \
         adaptive_max_pool2d adaptive_max_pool2d_with_indices adaptive_max_pool3d \
         adaptive_max_pool3d_with_indices adaptive_max_pool_with_indices affine_grid avg_pool \
         avg_pool1d \
         avg_pool2d avg_pool3d batch_norm batch_norm_train col2im conv conv1d \
         conv2d conv3d conv_transpose conv_transpose1d conv_transpose2d conv_transpose3d \
         cross_entropy feature_alpha_dropout feature_dropout fractional_max_pool \
         grid_sample group_norm im2col instance_norm instance_norm_train interpolate layer_norm max_pool max_pool1d max_pool1d_with_indices max_pool2d \
         max_pool2d_with_indices max_pool3d max_pool3d_with_indices max_pool_with_indices \
         max_unpool multinomial nll_loss rms_norm \
         scaled_dot_product_attention",
        SCALAR,
        "some dimensions are channels, places, features or steps",
    ),
];

pub(super) const INTEGERS: &str = "it takes integers";

pub(super) const LAYOUT: &str = "input that is not contiguous";

pub(super) const F32: &str = "case in f32";

pub(super) const F64: &str = "case in f64";

pub(super) const GRADIENT: &str = "gradient";

pub(super) const SPECIAL: &str = "NaN or infinity";

pub(super) const EMPTY: &str = "input without elements";

pub(super) const SCALAR: &str = "input without dimensions";

pub(super) const CALL: &str = "call in these tests";
