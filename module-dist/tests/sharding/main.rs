//! Sharded training equals training in one process, in every stage and with any number of ranks.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod checkpoints;
mod misuse;
mod prefetch;

use common::nets::{BATCH, Language, Net, Perceptron, Residual};
use common::sharding::{STAGES, check, own_part, same_bits, train, whole_grads};
use module_dist::LocalComm;
use module_dist::sharding::{Sharded, ShardingStage};
use module_nn::prelude::*;
use module_nn::with_default_dtype;

const STEPS: usize = 50;

fn compare<N: Net>() -> Result<()> {
    for stage in STAGES {
        for size in [1, 2, 4] {
            for (dtype, tolerance) in [(DType::F32, 1e-6), (DType::F64, 1e-12)] {
                LocalComm::run(size, |comm| {
                    check::<N>(&comm, stage, dtype, STEPS, tolerance)
                })?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_perceptron() -> Result<()> {
    compare::<Perceptron>()
}

#[test]
fn a_transformer_with_tied_weights() -> Result<()> {
    compare::<Language>()
}

/// Its batch normalization sees a rank's part of the batch, so that only the stages are compared with one another: they
/// reduce the same gradients in the same order, and have the same bits.
#[test]
fn all_stages_have_the_same_bits() -> Result<()> {
    for size in [1, 2, 3] {
        let mut ends = Vec::new();
        for stage in STAGES {
            let end = LocalComm::run(size, |comm| {
                let model = Residual::build()?;
                let sharded = Sharded::new(&model, comm.clone(), stage)?;
                let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
                train::<Residual>(&sharded, &model, &mut optimizer, &*comm, 0..5)?;
                let mut state = sharded.state_dict()?;
                if comm.rank() > 0 {
                    // Those of the running statistics differ.
                    state = state.filter("**.{weight,bias}")?;
                }
                Ok((
                    state,
                    sharded.optimizer_state(&optimizer)?.tensors().clone(),
                ))
            })?;
            ends.push(end);
        }
        for end in &ends[1..] {
            for (rank, ((model, optimizer), first)) in end.iter().zip(&ends[0]).enumerate() {
                same_bits(&format!("rank {rank}"), model, &first.0)?;
                same_bits(&format!("rank {rank}"), optimizer, &first.1)?;
            }
        }
    }
    Ok(())
}

#[test]
fn several_backward_passes_add_up() -> Result<()> {
    for stage in STAGES {
        LocalComm::run(2, |comm| {
            with_default_dtype(DType::F64, || {
                let (model, whole) = (Language::build()?, Language::build()?);
                let sharded = Sharded::new(&model, comm.clone(), stage)?;
                for step in 0..3 {
                    let (inputs, targets) = Language::batch(step)?;
                    whole.loss(&inputs, &targets)?.backward()?;
                    let (own_inputs, own_targets) =
                        (own_part(&inputs, &*comm)?, own_part(&targets, &*comm)?);
                    sharded.backward(&model.loss(&own_inputs, &own_targets)?)?;
                }
                let grads = whole_grads(&sharded, &model, &*comm)?;
                for ((path, found), expected) in grads.into_iter().zip(whole.parameters()) {
                    let (found, expected) = (found.unwrap(), expected.grad().unwrap());
                    common::equality::compare(&path, &found, &expected, 1e-12)?;
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

#[derive(Module)]
struct Branches {
    first: Linear,
    second: Linear,
    never: Linear,
}

#[test]
fn a_parameter_without_a_gradient_on_some_or_all_ranks() -> Result<()> {
    for stage in STAGES {
        LocalComm::run(2, |comm| {
            let model = fork_rng(1, || {
                Ok::<_, Error>(Branches {
                    first: Linear::new(2, 2)?,
                    second: Linear::new(2, 2)?,
                    never: Linear::new(2, 2)?,
                })
            })?;
            // The branches of the ranks gather different units.
            let sharded = match stage {
                ShardingStage::Parameters => Sharded::with_units(&model, comm.clone(), stage, "")?,
                _ => Sharded::new(&model, comm.clone(), stage)?,
            };
            let mut optimizer = AdamW::new(sharded.shards(), 0.1)?;
            let before = sharded.state_dict()?;
            for _ in 0..3 {
                // Only `first` and `second` are used, each on one rank.
                let loss = BranchCall {
                    model: &model,
                    first: comm.rank() == 0,
                }
                .loss()?;
                sharded.backward(&loss)?;
                let grads = whole_grads(&sharded, &model, &*comm)?;
                for (path, grad) in &grads {
                    assert_eq!(grad.is_some(), !path.starts_with("never"), "{path}");
                }
                sharded.step(&mut optimizer)?;
                sharded.zero_grad();
            }
            let after = sharded.state_dict()?;
            for key in ["never.weight", "never.bias"] {
                let bits = |state: &StateDict| state.get(key).unwrap().to_vec::<f32>();
                assert_eq!(bits(&after)?, bits(&before)?);
            }
            for key in ["first.weight", "second.weight"] {
                let bits = |state: &StateDict| state.get(key).unwrap().to_vec::<f32>();
                assert_ne!(bits(&after)?, bits(&before)?);
            }
            Ok(())
        })?;
    }
    Ok(())
}

struct BranchCall<'a> {
    model: &'a Branches,
    first: bool,
}

impl BranchCall<'_> {
    fn loss(&self) -> Result<Tensor> {
        self.model
            .call((Tensor::ones([1, 2], DType::F32)?, self.first))?
            .sum(..)
    }
}

impl Forward<(Tensor, bool)> for Branches {
    type Output = Tensor;

    fn forward(&self, (x, first): (Tensor, bool)) -> Result<Tensor> {
        match first {
            true => self.first.call(x),
            false => self.second.call(x),
        }
    }
}

#[test]
fn a_module_that_is_called_twice_and_a_frozen_one() -> Result<()> {
    for stage in STAGES {
        LocalComm::run(2, |comm| {
            with_default_dtype(DType::F64, || {
                let build = || {
                    let model = fork_rng(1, || {
                        Ok::<_, Error>([Linear::new(4, 4)?, Linear::new(4, 4)?, Linear::new(4, 1)?])
                    })?;
                    model[1].freeze("**")?;
                    Ok::<_, Error>(model)
                };
                let (model, whole) = (build()?, build()?);
                let sharded = Sharded::new(&model, comm.clone(), stage)?;
                let run = |net: &[Linear; 3], x: &Tensor| {
                    let x = net[0].call(x.clone())?.tanh()?;
                    let x = net[0].call(net[1].call(x)?.tanh()?)?.tanh()?;
                    net[2].call(net[1].call(x)?)?.mean(..)
                };
                let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(sharded.shards())?;
                let mut reference = SGDConfig::new(0.1).momentum(0.9).build(&whole)?;
                for step in 0..5 {
                    let x = fork_rng(step, || Tensor::randn([BATCH, 4], DType::F64))?;
                    run(&whole, &x)?.backward()?;
                    sharded.backward(&run(&model, &own_part(&x, &*comm)?)?)?;
                    reference.step(&whole)?;
                    sharded.step(&mut optimizer)?;
                    reference.zero_grad(&whole);
                    sharded.zero_grad();
                    let (found, expected) = (sharded.state_dict()?, whole.state_dict()?);
                    for ((key, found), (_, expected)) in found.iter().zip(&expected) {
                        common::equality::compare(key, found, expected, 1e-12)?;
                    }
                }
                Ok(())
            })
        })?;
    }
    Ok(())
}

#[test]
fn clipping_by_the_norm_of_all_parts() -> Result<()> {
    for stage in STAGES {
        LocalComm::run(3, |comm| {
            with_default_dtype(DType::F64, || {
                let (model, whole) = (Language::build()?, Language::build()?);
                let sharded = Sharded::new(&model, comm.clone(), stage)?;
                let (inputs, targets) = Language::batch(0)?;
                whole.loss(&inputs, &targets)?.backward()?;
                sharded.backward(&model.loss(&inputs, &targets)?)?;
                let expected = clip_grad_norm(&whole, 0.01)?;
                let norm = sharded.clip_grad_norm(0.01)?;
                assert!(
                    (norm - expected).abs() <= 1e-12 * expected,
                    "{norm} {expected}"
                );
                let grads = whole_grads(&sharded, &model, &*comm)?;
                for ((path, found), expected) in grads.into_iter().zip(whole.parameters()) {
                    let (found, expected) = (found.unwrap(), expected.grad().unwrap());
                    common::equality::compare(&path, &found, &expected, 1e-13)?;
                }
                assert!(sharded.clip_grad_norm(-1.0).is_err());
                Ok(())
            })
        })?;
    }
    Ok(())
}

#[test]
fn parameters_have_values_only_inside_of_their_units() -> Result<()> {
    LocalComm::run(2, |comm| {
        let model = Language::build()?;
        let expected = model.state_dict()?;
        let sharded = Sharded::new(&model, comm.clone(), ShardingStage::Parameters)?;
        let units: Vec<&str> = sharded.units().collect();
        let layers = ["self_attn", "linear1", "linear2", "norm1", "norm2"];
        let layers = layers.map(|layer| format!("layer.{layer}"));
        let units_of = ["embedding"]
            .into_iter()
            .chain(layers.iter().map(String::as_str));
        assert_eq!(units, units_of.chain(["head"]).collect::<Vec<_>>());
        assert!(model.parameters().all(|parameter| !parameter.has_values()));
        let error = model
            .get_parameter("layer.norm1.weight")?
            .detach()
            .add(1.0)
            .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Released { .. }));
        // The keys, shapes and dtypes stay.
        let shapes = model
            .named_parameters()
            .map(|(path, it)| (path, it.shape()));
        let expected_shapes = Language::build()?;
        let expected_shapes = expected_shapes
            .named_parameters()
            .map(|(path, it)| (path, it.shape()));
        assert!(shapes.eq(expected_shapes));
        let (inputs, targets) = Language::batch(0)?;
        let loss = no_grad(|| model.loss(&inputs, &targets))?;
        assert!(loss.item::<f32>()? > 0.0);
        assert!(model.parameters().all(|parameter| !parameter.has_values()));
        let loss = model.loss(&inputs, &targets)?;
        assert!(model.parameters().all(|parameter| !parameter.has_values()));
        sharded.backward(&loss)?;
        assert!(model.parameters().all(|parameter| !parameter.has_values()));
        assert!(
            model
                .parameters()
                .all(|parameter| parameter.grad().is_none())
        );
        same_bits("the state", &sharded.state_dict()?, &expected)?;
        assert_eq!(sharded.state_dict_on(1)?.is_some(), comm.rank() == 1);
        sharded.unshard()?;
        same_bits("the model", &model.state_dict()?, &expected)
    })?;
    Ok(())
}
