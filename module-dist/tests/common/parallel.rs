//! Divided layers and pipelines against training in one process.

use std::sync::Arc;

use module_dist::Comm;
use module_dist::parallel::{
    self, ColumnParallelLinear, Pipeline, RowParallelLinear, VocabParallelCrossEntropyLoss,
    VocabParallelEmbedding,
};
use module_nn::prelude::*;
use module_nn::with_default_dtype;

use super::equality::compare;
use super::nets::{BATCH, Net, Perceptron};

const WORDS: usize = 24;
const SIZE: usize = 16;
const HIDDEN: usize = 32;
const HEADS: usize = 4;
const LENGTH: usize = 6;

/// A block of a language model, whose layers are those of one process or divided ones: attention whose heads are divided,
/// and a feed-forward part.
#[derive(Module)]
struct Model<E: Module, C: Module, R: Module> {
    embedding: E,
    norm1: LayerNorm,
    query_key_value: [C; 3],
    out: R,
    norm2: LayerNorm,
    up: C,
    down: R,
    norm: LayerNorm,
}

type Whole = Model<Embedding, Linear, Linear>;
type Divided = Model<VocabParallelEmbedding, ColumnParallelLinear, RowParallelLinear>;

impl Whole {
    fn build() -> Result<Self> {
        fork_rng(7, || {
            Ok(Self {
                embedding: Embedding::new(WORDS, SIZE)?,
                norm1: LayerNorm::new(SIZE)?,
                query_key_value: [
                    Linear::new(SIZE, SIZE)?,
                    Linear::new(SIZE, SIZE)?,
                    Linear::new(SIZE, SIZE)?,
                ],
                out: Linear::new(SIZE, SIZE)?,
                norm2: LayerNorm::new(SIZE)?,
                up: Linear::new(SIZE, HIDDEN)?,
                down: Linear::new(HIDDEN, SIZE)?,
                norm: LayerNorm::new(SIZE)?,
            })
        })
    }

    fn divide(&self, comm: &Arc<dyn Comm>) -> Result<Divided> {
        let columns = |linear: &Linear| ColumnParallelLinear::from_linear(linear, comm.clone());
        let rows = |linear: &Linear| RowParallelLinear::from_linear(linear, comm.clone());
        let [query, key, value] = &self.query_key_value;
        let divided = Divided {
            embedding: VocabParallelEmbedding::from_embedding(&self.embedding, comm.clone())?,
            norm1: LayerNorm::new(SIZE)?,
            query_key_value: [columns(query)?, columns(key)?, columns(value)?],
            out: rows(&self.out)?,
            norm2: LayerNorm::new(SIZE)?,
            up: columns(&self.up)?,
            down: rows(&self.down)?,
            norm: LayerNorm::new(SIZE)?,
        };
        Ok(divided)
    }
}

impl<E: Forward<Output = Tensor>, C: Forward<Output = Tensor>, R: Forward<Output = Tensor>>
    Model<E, C, R>
{
    /// The hidden states of words, with `heads` of the heads on this rank.
    fn hidden(&self, words: &Tensor, heads: usize) -> Result<Tensor> {
        let x = self.embedding.call(words.clone())?;
        let normed = self.norm1.call(x.clone())?;
        let [batch, length, _] = x.dims()?;
        let split = |x: Tensor| {
            x.reshape([batch, length, heads, SIZE / HEADS])?
                .transpose(1, 2)
        };
        let [query, key, value] = &self.query_key_value;
        let query = split(query.call(normed.clone())?)?;
        let key = split(key.call(normed.clone())?)?;
        let value = split(value.call(normed)?)?;
        let scores = query.matmul(&key.transpose(2, 3)?)?.div(2.0)?.softmax(-1)?;
        let joined = scores.matmul(&value)?.transpose(1, 2)?;
        let joined = joined.reshape([batch, length, heads * SIZE / HEADS])?;
        let x = x.add(&self.out.call(joined)?)?;
        let hidden = self
            .up
            .call(self.norm2.call(x.clone())?)?
            .gelu(Default::default())?;
        self.norm.call(x.add(&self.down.call(hidden)?)?)
    }
}

fn batch(step: usize) -> Result<(Tensor, Tensor)> {
    let word = |i: usize| ((i * i * 7 + i * 3 + step * 5) % WORDS) as i64;
    let words = |offset: usize| {
        let words: Vec<i64> = (0..BATCH * LENGTH).map(|i| word(i + offset)).collect();
        Tensor::from(words).reshape([BATCH, LENGTH])
    };
    Ok((words(0)?, words(1)?))
}

/// Trains a language model with divided layers and tied weights, and compares each step with one process.
pub fn layers(comm: &Arc<dyn Comm>, dtype: DType, steps: usize, tolerance: f64) -> Result<()> {
    with_default_dtype(dtype, || {
        let whole = Whole::build()?;
        let model = whole.divide(comm)?;
        let loss = VocabParallelCrossEntropyLoss::new(comm.clone()).ignore_index(3);
        let whole_loss = CrossEntropyLossConfig::new().ignore_index(3).build()?;
        let config = SGDConfig::new(0.1).momentum(0.9);
        let mut optimizer = config.build(&model)?;
        for step in 0..steps {
            let (words, next) = batch(step)?;
            let _all = whole.load_state_dict(&parallel::state_dict(&model, &**comm)?)?;
            whole.zero_grad();
            model.zero_grad();
            let hidden = whole.hidden(&words, HEADS)?;
            let logits = hidden.linear(&whole.embedding.weight().tensor(), None)?;
            let logits = logits.reshape([BATCH * LENGTH, WORDS])?;
            let expected = whole_loss.call((logits, next.reshape([BATCH * LENGTH])?))?;
            expected.backward()?;
            let hidden = model.hidden(&words, HEADS / comm.size())?;
            let value = loss.call((model.embedding.logits(&hidden)?, next))?;
            compare(
                &format!("step {step}: the loss"),
                &value.detach(),
                &expected.detach(),
                tolerance,
            )?;
            value.backward()?;
            compare_parts(step, &model, &whole, comm, tolerance)?;
            optimizer.step(&model)?;
        }
        Ok(())
    })
}

/// Compares the gradients of parts with the parts of the gradients: both are given to models, whose state dicts are joined
/// and compared.
fn compare_parts(
    step: usize,
    model: &Divided,
    whole: &Whole,
    comm: &Arc<dyn Comm>,
    tolerance: f64,
) -> Result<()> {
    let holder = Whole::build()?.divide(comm)?;
    for (holder, parameter) in holder.parameters().zip(model.parameters()) {
        let missing = || Error::custom(format!("step {step}: a parameter has no gradient"));
        holder.set(parameter.grad().ok_or_else(missing)?)?;
    }
    let joined = parallel::state_dict(&holder, &**comm)?;
    for (path, parameter) in whole.named_parameters() {
        let (Some(found), Some(expected)) = (joined.get(&path), parameter.grad()) else {
            return Err(Error::custom(format!(
                "step {step}: `{path}` has no gradient"
            )));
        };
        compare(
            &format!("step {step}: the gradient of `{path}`"),
            found,
            &expected,
            tolerance,
        )?;
    }
    Ok(())
}

/// Layers of the digits network, as a `Sequential`.
fn digits_layers() -> Result<Sequential> {
    fork_rng(1, || {
        let net = Sequential::new()
            .push(Flatten::new())
            .push(Linear::new(64, 32)?)
            .push(Tanh::new());
        let net = net.push(Linear::new(32, 24)?).push(Tanh::new());
        net.push(Linear::new(24, 16)?)
            .push(Tanh::new())
            .push_named("head", Linear::new(16, 10)?)
    })
}

/// A language model whose first and last layers share their weight.
fn tied_layers() -> Result<Sequential> {
    fork_rng(3, || {
        let embedding = Embedding::new(WORDS, SIZE)?;
        let mut head = LinearConfig::new(SIZE, WORDS).bias(false).build()?;
        head.tie_weight(embedding.weight())?;
        let layer = || {
            let config = TransformerEncoderLayerConfig::new(SIZE, HEADS).dim_feedforward(HIDDEN);
            config.dropout(0.0).batch_first(true).build()
        };
        let net = Sequential::new()
            .push(embedding)
            .push(layer()?)
            .push(layer()?);
        Ok(net.push(LayerNorm::new(SIZE)?).push(head))
    })
}

/// Trains a pipeline, and compares each step with one process.
pub fn pipeline(comm: &Arc<dyn Comm>, dtype: DType, steps: usize, tolerance: f64) -> Result<()> {
    let digits = |step: usize| Perceptron::batch(step);
    train(comm, dtype, steps, tolerance, digits_layers, digits)?;
    train(comm, dtype, steps, tolerance, tied_layers, batch)
}

fn mean_loss(output: Tensor, target: Tensor) -> Result<Tensor> {
    let classes = output.size(-1)?;
    let logits = output.reshape([output.numel() / classes, classes])?;
    let target = target.reshape([target.numel()])?;
    CrossEntropyLoss::new().call((logits, target))
}

fn train(
    comm: &Arc<dyn Comm>,
    dtype: DType,
    steps: usize,
    tolerance: f64,
    build: impl Fn() -> Result<Sequential>,
    batch: impl Fn(usize) -> Result<(Tensor, Tensor)>,
) -> Result<()> {
    with_default_dtype(dtype, || {
        let whole = build()?;
        for micro_batches in [1, 4, 8] {
            let pipeline = Pipeline::new(build()?, comm.clone(), micro_batches)?;
            let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(pipeline.layers())?;
            for step in 0..steps {
                let (inputs, targets) = batch(step)?;
                let _all = whole.load_state_dict(&pipeline.state_dict()?)?;
                whole.zero_grad();
                let expected = mean_loss(whole.call(inputs.clone())?, targets.clone())?;
                expected.backward()?;
                pipeline.layers().zero_grad();
                let loss = pipeline.forward_backward(&inputs, &targets, mean_loss)?;
                let what = format!("step {step} with {micro_batches} micro-batches");
                compare(&what, &loss, &expected.detach(), tolerance)?;
                let every_path = Walk::new().remove_duplicate(false);
                for (path, parameter) in pipeline.layers().named_parameters_with(every_path) {
                    let reference = whole.get_parameter(&path)?.grad();
                    let (Some(found), Some(expected)) = (parameter.grad(), reference) else {
                        return Err(Error::custom(format!("{what}: `{path}` has no gradient")));
                    };
                    compare(
                        &format!("{what}: the gradient of `{path}`"),
                        &found,
                        &expected,
                        tolerance,
                    )?;
                }
                optimizer.step(pipeline.layers())?;
            }
            let (inputs, _) = batch(steps)?;
            let _all = whole.load_state_dict(&pipeline.state_dict()?)?;
            let expected = no_grad(|| whole.call(inputs.clone()))?;
            compare(
                "the output",
                &pipeline.forward(&inputs)?,
                &expected,
                tolerance,
            )?;
        }
        Ok(())
    })
}
