use super::check::Check;
use super::checks::{CHECKS, CHECKS_OF_EVALUATION};
use super::engine;
use super::kind::{FindingKind, Severity};
use super::options::{AuditOptions, AuditThresholds, Exception};
use super::report::AuditReport;
use crate::optim::Optimizer;
use crate::{Error, LoadReport, Module, Result, Select, Tensor, Tensors};

/// Watches the first training steps and reports the causes of silent failures: parts that no gradient reaches,
/// modules in the wrong mode, gradients that were not zeroed, optimizers that miss a part, and more ([`FindingKind`]).
///
/// The steps are those of your own loop, unchanged: forward pass, loss, backward pass, optimizer step. They train the
/// model, and an audit changes none of their results. It watches through hooks, which exist only during
/// [`run`](Self::run); a step that is not audited costs nothing more. Activations and gradients of the audited steps
/// are kept until the report is made.
///
/// The output of the model is also differentiated with respect to its input, to see which input elements it depends on: in
/// an audited step, hooks on gradients run once or twice more.
///
/// The audit observes the calls (`call`, not `forward`) of modules on this thread, the losses that functions of a
/// prediction and a target compute ([`watch_losses`](crate::watch_losses)), the backward passes, and the parameters and
/// buffers of the model before and after each step.
///
/// # Example
///
/// A network that computes the result of its child but does not use it:
///
/// ```
/// use module_nn::audit::{Audit, FindingKind, Severity};
/// use module_nn::functional;
/// use module_nn::prelude::*;
///
/// #[derive(Module)]
/// struct Net {
///     hidden: Linear,
///     head: Linear,
/// }
///
/// impl Forward for Net {
///     type Output = Tensor;
///
///     fn forward(&self, x: Tensor) -> Result<Tensor> {
///         let _hidden = self.hidden.call(x.clone())?.relu()?;
///         self.head.call(x)
///     }
/// }
///
/// let net = Net { hidden: Linear::new(4, 4)?, head: Linear::new(4, 2)? };
/// let mut optimizer = SGD::new(&net, 0.1)?;
/// let (x, y) = (Tensor::randn([8, 4], DType::F32)?, Tensor::randn([8, 2], DType::F32)?);
/// let report = Audit::new(&net).run(|_step| {
///     net.zero_grad();
///     let loss = functional::mse_loss(&net.call(x.clone())?, &y, Default::default())?;
///     loss.backward()?;
///     optimizer.step(&net)?;
///     Ok(loss)
/// })?;
/// let finding = &report.findings()[0];
/// assert_eq!(finding.kind, FindingKind::UnreachedParameter);
/// assert_eq!((finding.path.as_str(), finding.severity), ("hidden", Severity::Error));
/// assert!(finding.message.contains("called, result unused"));
/// assert!(report.deny(Severity::Error).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "an audit does nothing before `run`"]
pub struct Audit<'m> {
    model: Model<'m>,
    options: AuditOptions,
}

#[derive(Clone, Copy)]
struct Model<'m>(&'m dyn Module);

impl std::fmt::Debug for Model<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.kind())
    }
}

impl<'m> Audit<'m> {
    /// An audit of two steps.
    pub fn new(model: &'m (impl Module + ?Sized)) -> Self {
        let options = AuditOptions::default();
        Self {
            model: Model(model.as_module()),
            options,
        }
    }

    /// Watches this many steps; at least one. If parts are trained in turn, use as many steps as it takes for each to have
    /// its turn.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::Audit;
    /// use module_nn::prelude::*;
    ///
    /// let model = [Linear::new(4, 4)?, Linear::new(4, 2)?];
    /// let mut numbers = Vec::new();
    /// let _report = Audit::new(&model).steps(3).run(|number| Ok(numbers.push(number)))?;
    /// assert_eq!(numbers, [0, 1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn steps(mut self, steps: usize) -> Self {
        self.options.steps = steps;
        self
    }

    /// Declares that gradients are accumulated over several steps on purpose, so that a step may find one.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::{Audit, FindingKind};
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(4, 2)?;
    /// let mut optimizer = SGD::new(&model, 0.1)?;
    /// // An optimizer that makes a step after every fourth backward pass.
    /// let mut step = |number: usize| {
    ///     let loss = model.call(Tensor::randn([8, 4], DType::F32)?)?.square()?.mean(..)?;
    ///     loss.backward()?;
    ///     if number % 4 == 3 {
    ///         optimizer.step(&model)?;
    ///         model.zero_grad();
    ///     }
    ///     Ok(loss)
    /// };
    /// let report = Audit::new(&model).run(&mut step)?;
    /// assert_eq!(report.findings()[0].kind, FindingKind::NothingMoved);
    /// assert!(Audit::new(&model).gradient_accumulation().run(step)?.is_clean());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn gradient_accumulation(mut self) -> Self {
        self.options.accumulates = true;
        self
    }

    /// Declares the batch dimension of the model's input and output, by index: 1 for a model whose first dimension is time.
    ///
    /// Without it, the batch is the first dimension, or the second one of a three-dimensional input along which rows are
    /// independent. For a model that returns a vector for each element and mixes the wrong one of the two, nothing but this
    /// declaration distinguishes it from a model whose first dimension is time.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::{Audit, FindingKind};
    /// use module_nn::prelude::*;
    ///
    /// // The first dimension is the time, as is PyTorch's default, and the batch is given first.
    /// let model = LSTM::new(4, 2)?;
    /// let mut optimizer = SGD::new(&model, 0.1)?;
    /// let mut step = || {
    ///     model.zero_grad();
    ///     let (states, _) = model.call(Tensor::randn([8, 5, 4], DType::F32)?)?;
    ///     let loss = states.square()?.mean(..)?;
    ///     loss.backward()?;
    ///     optimizer.step(&model)?;
    ///     Ok(loss)
    /// };
    /// let report = Audit::new(&model).batch_dim(0).run(|_| step())?;
    /// assert_eq!(report.findings()[0].kind, FindingKind::BatchLeak);
    /// assert!(Audit::new(&model).batch_dim(1).run(|_| step())?.is_clean());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn batch_dim(mut self, dim: usize) -> Self {
        self.options.batch_dim = Some(dim);
        self
    }

    /// Changes the thresholds beyond which numbers become findings.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::Audit;
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(4, 2)?;
    /// let audit = Audit::new(&model).thresholds(|bounds| bounds.dead_units = 0.9);
    /// # let _ = audit;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn thresholds(mut self, change: impl FnOnce(&mut AuditThresholds)) -> Self {
        change(&mut self.options.thresholds);
        self
    }

    /// Declares an optimizer, whose current learning rates explain why nothing moves. It may be called for several
    /// optimizers, and is optional: movement is observed anyway.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::Audit;
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(4, 2)?;
    /// let mut optimizer = SGD::new(&model, 0.0)?;
    /// let report = Audit::new(&model).optimizer(&optimizer).run(|_| {
    ///     model.zero_grad();
    ///     let loss = model.call(Tensor::randn([8, 4], DType::F32)?)?.square()?.mean(..)?;
    ///     loss.backward()?;
    ///     optimizer.step(&model)?;
    ///     Ok(loss)
    /// })?;
    /// assert_eq!(report.findings()[0].cause, "the learning rate is 0");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn optimizer(mut self, optimizer: &dyn Optimizer) -> Self {
        self.options.learning_rates.extend(optimizer.group_lrs());
        self
    }

    /// Declares a load before the training: values that should have been loaded but were not are reported.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::{Audit, FindingKind};
    /// use module_nn::prelude::*;
    ///
    /// let model = [Linear::new(2, 1)?, Linear::new(2, 1)?];
    /// let mut state = model.state_dict()?;
    /// state.remove("1.bias");
    /// let loaded = model.load_state_dict_with(&state, LoadOptions::new().strict(false))?;
    /// let report = Audit::new(&model).loaded(&loaded).evaluate(|| Ok(()))?;
    /// assert_eq!(report.findings()[0].kind, FindingKind::FreshAfterLoad);
    /// assert_eq!(report.findings()[0].path, "1");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn loaded(mut self, report: &LoadReport) -> Self {
        let keys = report.not_loaded.iter().cloned();
        self.options.not_loaded.extend(keys);
        self
    }

    /// Declares that findings of a kind are intended at the paths that `select` covers. The report lists them with the
    /// reason, and also exceptions without a finding.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::{Audit, FindingKind};
    /// use module_nn::prelude::*;
    ///
    /// manual_seed(0); // Some initial weights are so small that a step changes them by more than their norm.
    /// let model = [Linear::new(2, 1)?, Linear::new(2, 1)?];
    /// let mut optimizer = SGD::new(&model, 0.1)?;
    /// let reason = "the second head is trained later";
    /// let audit = Audit::new(&model).allow(FindingKind::UnreachedParameter, "1", reason);
    /// let report = audit.run(|_| {
    ///     model.zero_grad();
    ///     let loss = model[0].call(Tensor::from([[1.0_f32, 2.0]]))?.square()?.mean(..)?;
    ///     loss.backward()?;
    ///     optimizer.step(&model)?;
    ///     Ok(loss)
    /// })?;
    /// assert!(report.is_clean());
    /// assert_eq!(report.allowed()[0].reason, reason);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn allow(
        mut self,
        kind: FindingKind,
        select: impl Into<Select>,
        reason: impl Into<String>,
    ) -> Self {
        self.options.exceptions.push(Exception {
            kind,
            select: select.into(),
            reason: reason.into(),
        });
        self
    }

    /// Runs `step` for each watched step, with the number of the step, and reports.
    ///
    /// `step` returns its loss, or several as a tuple or vector; it may also return `()`, because backward passes are
    /// observed.
    ///
    /// # Errors
    ///
    /// Those of `step`; zero steps, a malformed selection or an exception without a reason. Findings are not errors: see
    /// [`AuditReport::deny`].
    pub fn run<L: Tensors>(&self, mut step: impl FnMut(usize) -> Result<L>) -> Result<AuditReport> {
        self.run_each(CHECKS, &self.options, &mut |number| {
            let losses = step(number)?;
            let mut tensors = Vec::new();
            losses.for_each(&mut |loss| tensors.push(loss.clone()));
            Ok(tensors)
        })
    }

    /// Runs an evaluation of the model and reports modules that it calls in training mode, and values that should have been
    /// [loaded](Self::loaded) but were not.
    ///
    /// # Errors
    ///
    /// Those of `evaluation`, and as [`run`](Self::run).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::audit::{Audit, FindingKind};
    /// use module_nn::prelude::*;
    ///
    /// let model = Sequential::new().push(Linear::new(4, 4)?).push(Dropout::new(0.5)?);
    /// let x = Tensor::randn([8, 4], DType::F32)?;
    /// let evaluate = || no_grad(|| model.call(x.clone())).map(drop);
    /// let report = Audit::new(&model).evaluate(evaluate)?;
    /// assert_eq!(report.findings()[0].kind, FindingKind::TrainModeEvaluation);
    /// assert_eq!(report.findings()[0].path, "1");
    /// model.eval();
    /// assert!(Audit::new(&model).evaluate(evaluate)?.is_clean());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn evaluate(&self, evaluation: impl FnOnce() -> Result<()>) -> Result<AuditReport> {
        let mut options = self.options.clone();
        options.steps = 1;
        let mut evaluation = Some(evaluation);
        self.run_each(CHECKS_OF_EVALUATION, &options, &mut |_| {
            evaluation
                .take()
                .map_or(Ok(()), |evaluation| evaluation())?;
            Ok(Vec::new())
        })
    }

    /// [`run`](Self::run) that returns findings at least as severe as `severity` as an error.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run) and [`AuditReport::deny`].
    pub fn deny<L: Tensors>(
        &self,
        severity: Severity,
        step: impl FnMut(usize) -> Result<L>,
    ) -> Result<AuditReport> {
        let report = self.run(step)?;
        report.deny(severity)?;
        Ok(report)
    }

    fn run_each(
        &self,
        checks: &[&dyn Check],
        options: &AuditOptions,
        step: &mut dyn FnMut(usize) -> Result<Vec<Tensor>>,
    ) -> Result<AuditReport> {
        if options.steps == 0 {
            let problem = "must be at least 1, or nothing is watched";
            return Err(Error::argument("audit", "steps", 0, problem));
        }
        for exception in &options.exceptions {
            exception.select.check()?;
            if exception.reason.trim().is_empty() {
                let problem = "must be given with a reason, which the report shows";
                return Err(Error::argument("audit", "allow", exception.kind, problem));
            }
        }
        let record = engine::watch(self.model.0, options.clone(), step)?;
        Ok(crate::no_grad(|| AuditReport::of(&record, checks)))
    }
}
