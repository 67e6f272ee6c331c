//! Exchanging optimizer states with PyTorch: `optimizer.state_dict()`, read and written.
//!
//! [`layouts`] describes what PyTorch's optimizers save; ours share all of its names. A state that is read is converted to
//! the one that ours would have saved and then loaded as such, so that it is checked in the same way.

mod layouts;
mod lbfgs;
mod options;
mod read;
mod values;
mod write;

#[cfg(feature = "fs")]
use std::path::Path;

#[cfg(feature = "fs")]
use module_core::ReadOptions;
use module_core::{RestoreReport, Result, Stateful, TorchObject};

use super::{Optimizer, RuleOptimizer, UpdateRule};
use layouts::{Layout, layout_of};
use options::torch_error;

impl<R: UpdateRule> RuleOptimizer<R> {
    /// PyTorch's `optimizer.state_dict()`, from which PyTorch's optimizer of this name can resume.
    ///
    /// Parameters are numbered by group: first the first group, which has the parameters that no group selects, then the
    /// second one, and so on; within a group the order is that of `named_parameters()`. Without groups, this is the order
    /// of `torch.optim.AdamW(model.parameters())`.
    ///
    /// The options `foreach`, `fused`, `capturable` and `differentiable` have PyTorch's defaults.
    ///
    /// # Errors
    ///
    /// An optimizer that PyTorch does not have, such as [`Lion`](super::Lion), and [`Muon`](super::Muon) with a group that
    /// uses AdamW, for which PyTorch needs two optimizers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::TorchObject;
    /// use module_nn::prelude::*;
    ///
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = AdamW::new(&model, 1e-3)?;
    /// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
    /// optimizer.step(&model)?;
    ///
    /// // What a training script of PyTorch saves.
    /// let saved = TorchObject::dict([
    ///     ("model", model.state_dict()?.into()),
    ///     ("optimizer", optimizer.torch_state_dict()?),
    ///     ("epoch", 3.into()),
    /// ]);
    /// let saved = TorchObject::from_bytes(saved.to_bytes()?)?;
    ///
    /// let mut resumed = AdamW::new(&model, 1e-2)?;
    /// let report = resumed.load_torch_state_dict(saved.get("optimizer").unwrap())?;
    /// assert_eq!(report.to_string(), "restored; lr was 0.01 and is 0.001");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn torch_state_dict(&self) -> Result<TorchObject> {
        write::state_dict(self, layout::<R>("torch_state_dict")?)
    }

    /// Restores a state of PyTorch's optimizer of this name, and reports which options it has changed.
    ///
    /// Positions are those of [`torch_state_dict`](Self::torch_state_dict) or, in a group of a script that passed PyTorch
    /// only the trainable parameters, those of the parameters that [are trained](module_core::Parameter::requires_grad). A
    /// state is cast to the dtype of its parameter, as in PyTorch. Parameters may lack a state.
    ///
    /// From the options of a group, `initial_lr` is restored for schedules; `foreach`, `fused`, `capturable` and
    /// `differentiable` change no result, and options that the optimizer does not know, such as the limits of a schedule,
    /// are ignored, as in PyTorch.
    ///
    /// # Errors
    ///
    /// A state of another optimizer, other groups, numbers or shapes of parameters, invalid options. Then nothing is
    /// changed.
    pub fn load_torch_state_dict(&mut self, state: &TorchObject) -> Result<RestoreReport> {
        let before = self.hyperparameters()?;
        let read = read::read(self, layout::<R>("load_torch")?, state)?;
        self.load_state(&read.snapshot)?;
        if !read.initial_lrs.is_empty() {
            let lrs = self.group_lrs().into_iter().enumerate();
            let lrs = lrs.map(|(number, lr)| read.initial_lrs.get(&number).copied().unwrap_or(lr));
            self.set_initial_lrs(&lrs.collect::<Vec<f64>>());
        }
        Ok(RestoreReport::new(&before, &read.snapshot))
    }

    /// Restores the state in a `torch.save(optimizer.state_dict(), path)` file, like
    /// [`load_torch_state_dict`](Self::load_torch_state_dict).
    ///
    /// # Errors
    ///
    /// The same, and a file that cannot be read or was not written by `torch.save`.
    #[cfg(feature = "fs")]
    pub fn load_torch(&mut self, path: impl AsRef<Path>) -> Result<RestoreReport> {
        self.load_torch_with(path, &ReadOptions::new())
    }

    /// [`load_torch`](Self::load_torch) with options: `ReadOptions::new().entry("optimizer")` for a file of
    /// `torch.save({"model": …, "optimizer": optimizer.state_dict(), …}, path)`.
    ///
    /// # Errors
    ///
    /// The same, and an entry that the file does not have.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::TorchObject;
    /// use module_nn::prelude::*;
    ///
    /// let path = std::env::temp_dir().join(format!("doc-torch-{}.pt", std::process::id()));
    /// let model = Linear::new(2, 1)?;
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model)?;
    /// TorchObject::dict([("optimizer", optimizer.torch_state_dict()?)]).save(&path)?;
    ///
    /// let error = optimizer.load_torch(&path).unwrap_err();
    /// assert!(error.to_string().contains("name the entry"));
    /// optimizer.load_torch_with(&path, &ReadOptions::new().entry("optimizer"))?;
    /// std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "fs")]
    pub fn load_torch_with(
        &mut self,
        path: impl AsRef<Path>,
        options: &ReadOptions,
    ) -> Result<RestoreReport> {
        self.load_torch_state_dict(&TorchObject::load_with(path, options)?)
    }

    /// Writes a file for PyTorch's `optimizer.load_state_dict(torch.load(path))`.
    ///
    /// # Errors
    ///
    /// Those of [`torch_state_dict`](Self::torch_state_dict), and a file that cannot be written; then the old one is
    /// unchanged.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let path = std::env::temp_dir().join(format!("doc-sgd-{}.pt", std::process::id()));
    /// let model = Linear::new(2, 1)?;
    /// SGDConfig::new(0.1).momentum(0.9).build(&model)?.save_torch(&path)?;
    /// let mut resumed = SGD::new(&model, 0.2)?;
    /// let report = resumed.load_torch(&path)?;
    /// assert_eq!(report.to_string(), "restored; lr was 0.2 and is 0.1, momentum was 0.0 and is 0.9");
    /// # std::fs::remove_file(path).unwrap();
    /// # Ok::<(), Error>(())
    /// ```
    #[cfg(feature = "fs")]
    pub fn save_torch(&self, path: impl AsRef<Path>) -> Result<()> {
        self.torch_state_dict()?.save(path)
    }
}

/// The state that PyTorch's optimizer of this name saves.
fn layout<R: UpdateRule>(op: &'static str) -> Result<&'static Layout> {
    let problem = || "PyTorch has no such optimizer; save it with `TrainingCheckpoint`".to_owned();
    layout_of(R::NAME).ok_or_else(|| torch_error::<R>(op, problem()))
}
