//! The names that a pickle may use: an allow-list. None of them is ever run; each stands for an operation that the reader
//! performs itself.

use crate::DType;
use crate::checkpoint::words::shorten;

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    OrderedDict,
    /// `_rebuild_tensor(storage, offset, size, stride)`, and `_rebuild_tensor_v2`, which has more
    /// arguments after these.
    Tensor,
    /// `_rebuild_tensor_v3`: the storage is untyped, and the dtype is the seventh argument.
    TypedTensor,
    /// `_rebuild_parameter(tensor, requires_grad, hooks)`, and with a state after these.
    Parameter,
    /// `_rebuild_from_type_v2(function, type, arguments, state)`: a tensor with attributes.
    FromType,
    /// `torch.Size(tuple)`.
    Size,
    /// A class of tensors.
    TensorClass,
    /// A class of storages; `None` for the untyped one.
    Storage(Option<Scalars>),
    DType(Scalars),
    /// A function that makes values without tensors.
    Maker(Kind),
}

/// The kind of a value that cannot be part of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    None,
    Bool(bool),
    /// An integer that fits no `i128`.
    Number,
    Bytes,
    Set,
    Complex,
    Counter,
    Device,
    MemoryFormat,
    Numpy,
}

impl Kind {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a boolean",
            Self::Number => "a number",
            Self::Bytes => "bytes",
            Self::Set => "a set",
            Self::Complex => "a complex number",
            Self::Counter => "a counter",
            Self::Device => "a device",
            Self::MemoryFormat => "a memory layout",
            Self::Numpy => "a NumPy scalar",
        }
    }
}

impl Global {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::DType(_) => "a dtype",
            Self::Storage(_) | Self::TensorClass => "a class",
            _ => "a function",
        }
    }
}

/// The type of a tensor's elements: an index into [`DTYPES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) struct Scalars(u8);

impl Scalars {
    /// PyTorch's name.
    pub(in crate::checkpoint) fn name(self) -> &'static str {
        DTYPES[usize::from(self.0)].0
    }

    /// The size of one element.
    pub(in crate::checkpoint) fn size(self) -> usize {
        DTYPES[usize::from(self.0)].2
    }

    /// Our dtype, if there is one.
    pub(in crate::checkpoint) fn dtype(self) -> Option<DType> {
        DType::ALL
            .into_iter()
            .find(|ours| ours.name() == self.name())
    }
}

/// PyTorch's dtypes: the name, the class of storages, the size in bytes.
static DTYPES: [(&str, &str, usize); 26] = [
    ("float32", "FloatStorage", 4),
    ("float64", "DoubleStorage", 8),
    ("float16", "HalfStorage", 2),
    ("bfloat16", "BFloat16Storage", 2),
    ("int64", "LongStorage", 8),
    ("int32", "IntStorage", 4),
    ("int16", "ShortStorage", 2),
    ("int8", "CharStorage", 1),
    ("uint8", "ByteStorage", 1),
    ("bool", "BoolStorage", 1),
    ("complex64", "ComplexFloatStorage", 8),
    ("complex128", "ComplexDoubleStorage", 16),
    ("quint8", "QUInt8Storage", 1),
    ("qint8", "QInt8Storage", 1),
    ("qint32", "QInt32Storage", 4),
    ("quint4x2", "QUInt4x2Storage", 1),
    ("quint2x4", "QUInt2x4Storage", 1),
    ("complex32", "", 4),
    ("uint16", "", 2),
    ("uint32", "", 4),
    ("uint64", "", 8),
    ("float8_e4m3fn", "", 1),
    ("float8_e4m3fnuz", "", 1),
    ("float8_e5m2", "", 1),
    ("float8_e5m2fnuz", "", 1),
    ("float8_e8m0fnu", "", 1),
];

/// The meaning of a name, if it is in the list.
///
/// Python 2 and the protocols before 3 call the module of built-in functions `__builtin__`.
pub(super) fn find(module: &str, name: &str) -> Option<Global> {
    match (module, name) {
        ("collections", "OrderedDict") => Some(Global::OrderedDict),
        ("collections", "Counter") => Some(Global::Maker(Kind::Counter)),
        ("builtins" | "__builtin__", "set" | "frozenset") => Some(Global::Maker(Kind::Set)),
        ("builtins" | "__builtin__", "bytearray" | "bytes") => Some(Global::Maker(Kind::Bytes)),
        ("builtins" | "__builtin__", "complex") => Some(Global::Maker(Kind::Complex)),
        ("_codecs", "encode") => Some(Global::Maker(Kind::Bytes)),
        ("numpy", "dtype") | ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => {
            Some(Global::Maker(Kind::Numpy))
        }
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Some(Global::Tensor),
        ("torch._utils", "_rebuild_tensor_v3") => Some(Global::TypedTensor),
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
            Some(Global::Parameter)
        }
        ("torch._tensor", "_rebuild_from_type_v2") => Some(Global::FromType),
        ("torch", "Tensor") | ("torch.nn.parameter", "Parameter" | "Buffer") => {
            Some(Global::TensorClass)
        }
        ("torch", "Size") => Some(Global::Size),
        ("torch", "device") => Some(Global::Maker(Kind::Device)),
        ("torch.serialization", "_get_layout") => Some(Global::Maker(Kind::MemoryFormat)),
        ("torch" | "torch.storage", "UntypedStorage" | "_UntypedStorage") => {
            Some(Global::Storage(None))
        }
        ("torch" | "torch.cuda", _) => of_dtype(module, name),
        _ => None,
    }
}

/// A dtype, or the class of its storages.
fn of_dtype(module: &str, name: &str) -> Option<Global> {
    let find = |matches: &dyn Fn(&(&str, &str, usize)) -> bool| {
        let place = DTYPES.iter().position(matches)?;
        u8::try_from(place).ok().map(Scalars)
    };
    let dtype = find(&|(dtype, ..)| module == "torch" && *dtype == name);
    let storage = find(&|(_, storage, _)| !name.is_empty() && *storage == name);
    dtype
        .map(Global::DType)
        .or(storage.map(|scalars| Global::Storage(Some(scalars))))
}

/// PyTorch's storage class for one of our dtypes; `Some(None)` if there is no class, `None` if PyTorch does not have the
/// dtype.
pub(super) fn storage_class(dtype: DType) -> Option<Option<&'static str>> {
    let mut dtypes = DTYPES.iter();
    let (_, class, _) = dtypes.find(|(name, ..)| *name == dtype.name())?;
    Some((!class.is_empty()).then_some(*class))
}

/// Unsupported tensors, by the function of `torch._utils` that makes them, with what to save instead.
static TENSORS: [(&str, &str, &str); 8] = [
    (
        "_rebuild_sparse_tensor",
        "a sparse tensor",
        "`tensor.to_dense()`",
    ),
    (
        "_rebuild_sparse_csr_tensor",
        "a sparse tensor",
        "`tensor.to_dense()`",
    ),
    (
        "_rebuild_qtensor",
        "a quantized tensor",
        "`tensor.dequantize()`",
    ),
    (
        "_rebuild_nested_tensor",
        "a nested tensor",
        "its parts, `tensor.unbind()`",
    ),
    (
        "_rebuild_meta_tensor_no_storage",
        "a tensor of the device `meta`, which has no elements",
        "the tensor once it has some",
    ),
    (
        "_rebuild_wrapper_subclass",
        "a tensor without elements of its own, of a subclass",
        "the tensors that it wraps",
    ),
    (
        "_rebuild_device_tensor_from_numpy",
        "a tensor of another device",
        "`tensor.cpu()`",
    ),
    (
        "_rebuild_device_tensor_from_cpu_tensor",
        "a tensor of another device",
        "`tensor.cpu()`",
    ),
];

/// The result of a name outside the list.
pub(super) fn describe(module: &str, name: &str) -> String {
    let known = tensor(module, name);
    let (module, name) = (shorten(module), shorten(name));
    match known {
        Some((what, _)) => format!("{what} (`{module}.{name}`)"),
        None => format!("an object of `{module}.{name}`"),
    }
}

/// A suggestion for what to save instead of an unsupported tensor.
pub(super) fn suggest_instead(module: &str, name: &str) -> Option<String> {
    let (_, instead) = tensor(module, name)?;
    Some(format!("which is not supported; save {instead} instead"))
}

fn tensor(module: &str, name: &str) -> Option<(&'static str, &'static str)> {
    let mut tensors = TENSORS.iter().filter(|_| module == "torch._utils");
    let (_, what, instead) = tensors.find(|(maker, ..)| *maker == name)?;
    Some((what, instead))
}

/// Why a checkpoint with this name is refused, unless everything needed is elsewhere; and whether that says what to do.
pub(super) fn explain_refusal(module: &str, name: &str) -> (String, bool) {
    if let Some(instead) = suggest_instead(module, name) {
        let what = describe(module, name);
        return (format!("the checkpoint holds {what}, {instead}"), true);
    }
    let whole = module.starts_with("torch.nn.modules") || module.starts_with("torch.jit");
    let (module, name) = (shorten(module), shorten(name));
    if whole {
        let refused = format!(
            "the checkpoint holds a whole module (`{module}.{name}`), whose code would have to be \
             run; save `model.state_dict()` instead"
        );
        return (refused, true);
    }
    let refused = format!(
        "the checkpoint asks to run `{module}.{name}`; only tensors are read, nothing is executed"
    );
    (refused, false)
}
