//! The reference modules of `golden/trees.py` as structs.

use std::sync::Arc;

use module_nn::IndexMap;
use module_nn::prelude::*;
use module_tests::digits::Digits;

/// The module with a name, or `None` if it cannot be written in Rust.
pub(crate) fn build(name: &str) -> Option<Result<Box<dyn Module>>> {
    fn boxed<M: Module>(model: Result<M>) -> Option<Result<Box<dyn Module>>> {
        Some(model.map(|model| Box::new(model) as Box<dyn Module>))
    }

    match name {
        "Mlp" => boxed(mlp()),
        "Tied" => boxed(tied()),
        "Shared" => boxed(shared()),
        "Nested" => boxed(nested()),
        "Buffers" => boxed(buffers()),
        "Parameters" => boxed(lists_of_parameters()),
        "Folded" => boxed(folded()),
        "Printed" => boxed(printed()),
        "Frozen" => boxed(frozen::build()),
        "Diamond" => boxed(diamond()),
        "Digits" => boxed(Digits::new(8, 0.1)),
        _ => None,
    }
}

/// Parameters in a list and in a map, one of them tied.
#[derive(Module)]
struct Parameters {
    list: Vec<Parameter>,
    dict: IndexMap<String, Parameter>,
    tied: Parameter,
}

fn lists_of_parameters() -> Result<Parameters> {
    let parameter = |shape: &[usize]| Parameter::new(zeros(shape)?);
    let list = vec![parameter(&[2])?, parameter(&[3, 1])?];
    // PyTorch sorts the keys of a plain dictionary.
    let dict = [("a", parameter(&[2, 2])?), ("b", parameter(&[1])?)];
    Ok(Parameters {
        tied: list[0].share(),
        list,
        dict: dict.map(|(key, p)| (key.to_owned(), p)).into(),
    })
}

fn zeros(shape: impl Into<Shape>) -> Result<Tensor> {
    Tensor::zeros(shape, DType::F32)
}

fn parameter(shape: impl Into<Shape>) -> Result<Parameter> {
    Parameter::new(zeros(shape)?)
}

fn without_bias(inputs: usize, outputs: usize) -> Result<Linear> {
    LinearConfig::new(inputs, outputs).bias(false).build()
}

#[derive(Module)]
struct Mlp {
    fc1: Linear,
    scale: Parameter,
    mean: Buffer,
    act: ReLU,
    cache: Buffer,
    fc2: Linear,
    shift: Parameter,
}

fn mlp() -> Result<Mlp> {
    Ok(Mlp {
        fc1: Linear::new(4, 3)?,
        scale: parameter(())?,
        mean: Buffer::new(zeros(4)?),
        act: ReLU::new(),
        cache: Buffer::non_persistent(zeros(2)?),
        fc2: without_bias(3, 2)?,
        shift: parameter(2)?,
    })
}

#[derive(Module)]
struct Tied {
    encoder: Linear,
    decoder: Linear,
    own: Parameter,
    again: Parameter,
    bias: Bias,
}

fn tied() -> Result<Tied> {
    let encoder = without_bias(3, 5)?;
    let mut decoder = Linear::new(3, 5)?;
    decoder.tie_weight(encoder.weight())?;
    let own = parameter(2)?;
    Ok(Tied {
        again: own.share(),
        own,
        bias: match decoder.bias().get() {
            Some(bias) => bias.share().into(),
            None => Bias::Absent,
        },
        encoder,
        decoder,
    })
}

#[derive(Module)]
struct Shared {
    first: Arc<Sequential>,
    second: Arc<Sequential>,
    list: Vec<Arc<dyn Layer>>,
}

fn shared() -> Result<Shared> {
    let linear = Arc::new(Linear::new(3, 3)?);
    let block = Sequential::new()
        .push(linear.clone())
        .push(BatchNorm1d::new(3)?);
    let block = Arc::new(block);
    Ok(Shared {
        first: block.clone(),
        second: block.clone(),
        list: vec![Arc::new(ReLU::new()), block, linear],
    })
}

/// A `Sequential` holds layers only, so that one with maps in it is a struct.
mod body {
    use super::*;

    #[derive(Module)]
    pub(super) struct Sequential {
        pub(super) table: IndexMap<String, Side>,
        pub(super) tail: module_nn::Sequential,
    }

    #[derive(Module)]
    pub(super) enum Side {
        Left((Linear, ReLU, Linear)),
        Right(Linear),
    }
}

#[derive(Module)]
struct Nested {
    body: body::Sequential,
    empty: Vec<Linear>,
    named: IndexMap<String, Box<dyn Layer>>,
}

fn nested() -> Result<Nested> {
    let left = (Linear::new(2, 2)?, ReLU::new(), Linear::new(2, 1)?);
    let one = Sequential::new().push(Linear::new(1, 1)?);
    let named: [(String, Box<dyn Layer>); 2] = [
        ("z".to_owned(), Box::new(Identity::new())),
        ("a".to_owned(), Box::new(one)),
    ];
    Ok(Nested {
        body: body::Sequential {
            table: IndexMap::from([
                ("left".to_owned(), body::Side::Left(left)),
                ("right".to_owned(), body::Side::Right(Linear::new(1, 2)?)),
            ]),
            tail: Sequential::new(),
        },
        empty: Vec::new(),
        named: IndexMap::from(named),
    })
}

/// PyTorch's reference registers buffers on an `Identity`, which here is a struct of that name.
mod inner {
    use super::*;

    #[derive(Module)]
    pub(super) struct Identity {
        pub(super) table: Buffer,
        pub(super) hidden: Buffer,
    }
}

#[derive(Module)]
struct Buffers {
    table: Buffer,
    scratch: Buffer,
    alias: Buffer,
    norm: BatchNorm2d,
    free: BatchNorm2d,
    bare: BatchNorm1d,
    inner: inner::Identity,
}

fn buffers() -> Result<Buffers> {
    let table = Buffer::new(Tensor::arange(0, 3, ())?);
    Ok(Buffers {
        scratch: Buffer::non_persistent(zeros(2)?),
        alias: table.share(),
        norm: BatchNorm2d::new(2)?,
        free: BatchNorm2dConfig::new(2).affine(false).build()?,
        bare: BatchNorm1dConfig::new(3)
            .track_running_stats(false)
            .build()?,
        inner: inner::Identity {
            table: table.share(),
            hidden: Buffer::non_persistent(zeros(1)?),
        },
        table,
    })
}

#[derive(Module)]
struct Folded {
    equal: Sequential,
    mixed: Vec<Box<dyn Layer>>,
    blocks: Vec<Sequential>,
    named: Sequential,
    one: [Dropout; 1],
}

fn folded() -> Result<Folded> {
    let four = || Linear::new(4, 4);
    let block = || Ok(Sequential::new().push(Linear::new(2, 2)?).push(ReLU::new()));
    let blocks: Result<Vec<Sequential>> = (0..2).map(|_| block()).collect();
    Ok(Folded {
        equal: Sequential::new().push(four()?).push(four()?).push(four()?),
        mixed: vec![
            Box::new(four()?),
            Box::new(ReLU::new()),
            Box::new(four()?),
            Box::new(four()?),
            Box::new(Linear::new(4, 2)?),
        ],
        blocks: blocks?,
        named: Sequential::new()
            .push_named("a", ReLU::new())?
            .push_named("b", ReLU::new())?,
        one: [Dropout::new(0.3)?],
    })
}

#[derive(Module)]
struct Printed {
    linear: Linear,
    conv: Conv2d,
    same: Conv2d,
    plain: Conv2d,
    norm: BatchNorm2d,
    norm1: BatchNorm1d,
    drop: Dropout,
    act: ReLU,
    pool: MaxPool2d,
    pool2: MaxPool2d,
    flat: Flatten,
    flat2: Flatten,
    id: Identity,
    loss: CrossEntropyLoss,
}

fn printed() -> Result<Printed> {
    let norm = BatchNorm2dConfig::new(4)
        .eps(1e-3)
        .momentum(None)
        .affine(false);
    let weight = Tensor::ones(3, DType::F32)?;
    Ok(Printed {
        linear: without_bias(3, 2)?,
        conv: Conv2dConfig::new(3, 6, [3, 2])
            .stride([2, 1])
            .padding(1)
            .dilation(2)
            .groups(3)
            .bias(false)
            .build()?,
        same: Conv2dConfig::new(1, 1, 3)
            .padding(Padding::Same)
            .padding_mode(PaddingMode::Reflect)
            .build()?,
        plain: Conv2d::new(1, 1, 1)?,
        norm: norm.build()?,
        norm1: BatchNorm1dConfig::new(4)
            .track_running_stats(false)
            .build()?,
        drop: Dropout::new(0.5)?,
        act: ReLU::new(),
        pool: MaxPool2d::new(2)?,
        pool2: MaxPool2dConfig::new([3, 2])
            .stride(1)
            .padding([1, 0])
            .dilation(2)
            .ceil_mode(true)
            .build()?,
        flat: Flatten::new(),
        flat2: Flatten::range(0, 2),
        id: Identity::new(),
        loss: CrossEntropyLossConfig::new()
            .weight(weight)
            .label_smoothing(0.1)
            .build()?,
    })
}

/// PyTorch's reference has a bare `nn.Module`, which here is a struct of that name.
mod frozen {
    use module_nn::Module as ModuleOf;
    use module_nn::{Linear, Marker, ModuleExt, Parameter, Result};

    use super::parameter;

    #[derive(ModuleOf)]
    pub(super) struct Frozen {
        weight: Parameter,
        inner: Module,
        leaf: Leaf,
    }

    #[derive(ModuleOf)]
    struct Module {
        weight: Parameter,
        inner: Linear,
    }

    #[derive(ModuleOf)]
    struct Leaf {
        marker: Marker,
    }

    pub(super) fn build() -> Result<Frozen> {
        let inner = Module {
            weight: parameter(3)?,
            inner: Linear::new(2, 1)?,
        };
        inner.set_requires_grad(false);
        Ok(Frozen {
            weight: parameter(2)?,
            inner,
            leaf: Leaf {
                marker: Marker::new(),
            },
        })
    }
}

#[derive(Module)]
struct Tanh {
    marker: Marker,
}

impl Forward for Tanh {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.tanh()
    }
}

#[derive(Module)]
struct Diamond {
    left: Sequential,
    right: Sequential,
}

fn diamond() -> Result<Diamond> {
    let core = Arc::new(Linear::new(2, 2)?);
    let tanh = Tanh {
        marker: Marker::new(),
    };
    Ok(Diamond {
        left: Sequential::new().push(core.clone()).push(ReLU::new()),
        right: Sequential::new().push(tanh).push(core),
    })
}
