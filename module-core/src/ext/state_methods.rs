//! The state of a module: state dicts, loading, and checkpoint files.

/// The methods of [`ModuleExt`](super::ModuleExt) for state dicts and checkpoints.
macro_rules! state_methods {
    () => {
        /// A snapshot of every parameter and persistent buffer under PyTorch's keys.
        ///
        /// Where another thread loads a state dict meanwhile, the snapshot is from before or from after,
        /// never a mixture; a hook before collecting ([`register_state_dict_pre_hook`]) may change the
        /// module, so that what comes after such a hook is read when its turn comes. An optimizer's
        /// step, a cast, a move or a reset in another thread sets one tensor after the other, and a
        /// snapshot beside it can hold some from before and some from after.
        ///
        /// [`register_state_dict_pre_hook`]: Self::register_state_dict_pre_hook
        ///
        /// # Errors
        ///
        /// Two tensors under one key, which `flatten` can bring about; a map with a key that is empty
        /// or contains `.`; a parameter that has no values yet; an error of a hook.
        fn state_dict(&self) -> Result<StateDict> {
            state::state_dict(self.as_module())
        }

        /// Loads a state dict that has this module's keys and shapes exactly; of a tied tensor it may lack
        /// all names but one.
        ///
        /// Values are cast to the dtype that they replace; gradients, modes and ties stay. A hook that fails
        /// or panics leaves the module as it was, too. All values change at once for a
        /// [`state_dict`](Self::state_dict) in another thread, but not for a call: one that runs
        /// meanwhile reads each tensor when it needs it.
        ///
        /// # Errors
        ///
        /// Missing or unexpected keys, other shapes, ties that the values break: all of them in one
        /// error, as PyTorch words it. The module is then as it was.
        fn load_state_dict(&self, state: &StateDict) -> Result<LoadReport> {
            self.load_state_dict_with(state, LoadOptions::new())
        }

        /// [`load_state_dict`](Self::load_state_dict) with options.
        ///
        /// # Errors
        ///
        /// As [`load_state_dict`](Self::load_state_dict), less what the options allow, and a state
        /// dict of which nothing fits.
        fn load_state_dict_with(
            &self,
            state: &StateDict,
            options: LoadOptions,
        ) -> Result<LoadReport> {
            state::load(self.as_module(), state, &options)
        }

        /// Puts other values in the place of the module's own until the guard is dropped: averaged ones for
        /// evaluation, say.
        ///
        /// `state` may lack keys, whose values stay. The guard gives the own values back as they were, also on
        /// the way out by an error or a panic, and whatever was done to the values meanwhile. Gradients, modes and ties
        /// stay. All threads see the values, and each change is one for a [`state_dict`](Self::state_dict) in another thread;
        /// [`functional_call`](crate::functional_call) shows other values to one thread only. Values are cast to the
        /// module's dtypes.
        ///
        /// # Errors
        ///
        /// Keys that the module lacks, other shapes, different values for a tied tensor, values that are swapped already:
        /// one [`ValueProblems`](crate::ValueProblems), and then nothing is changed.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, StateDict, Tensor};
        ///
        /// let model = [Parameter::new(Tensor::from(1.0_f32))?];
        /// let averaged = StateDict::from_iter([("0", Tensor::from(0.5_f32))]);
        /// {
        ///     let _swapped = model.swap_state_dict(&averaged)?;
        ///     assert_eq!(model[0].detach().item::<f32>()?, 0.5);
        /// }
        /// assert_eq!(model[0].detach().item::<f32>()?, 1.0);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn swap_state_dict(&self, state: &StateDict) -> Result<SwappedState<'_>> {
            SwappedState::new(self.as_module(), state)
        }

        /// The state dict in the form that [`load_state_dict_with`](Self::load_state_dict_with) reads with
        /// these options: weights transposed by the same rule, keys turned back by [`Remap::inverse`], and
        /// of a selection only what is selected.
        ///
        /// Values have the dtypes of the module.
        ///
        /// [`Remap::inverse`]: crate::Remap::inverse
        ///
        /// # Errors
        ///
        /// Those of [`state_dict`](Self::state_dict), rules that cannot be turned back, and a key that they
        /// would not bring back as it is.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{LoadOptions, ModuleExt, Parameter, Remap, StateDict, Tensor};
        ///
        /// let model = vec![Parameter::new(Tensor::from([[0.0_f32], [0.0]]))?];
        /// let foreign = StateDict::from_iter([("module.0", Tensor::from([[1.0_f32, 2.0]]))]);
        /// let options = LoadOptions::new().remap(Remap::new().prefix("module", "")).transpose("0");
        /// println!("{}", model.load_state_dict_with(&foreign, options.clone())?);
        /// assert!(model.state_dict_as(&options)?.equal(&foreign)?);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn state_dict_as(&self, options: &LoadOptions) -> Result<StateDict> {
            state::state_dict_as(self.as_module(), options)
        }

        /// Writes [`state_dict_as`](Self::state_dict_as) to a safetensors file, whole or not at all: the
        /// checkpoint that [`load_with`](Self::load_with) reads with these options.
        ///
        /// # Errors
        ///
        /// Those of [`state_dict_as`](Self::state_dict_as) and of writing the file.
        #[cfg(feature = "fs")]
        fn save_as(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<()> {
            self.state_dict_as(options)?.save(path)
        }

        /// Writes the state dict to a safetensors file, whole or not at all.
        ///
        /// # Errors
        ///
        /// Those of [`state_dict`](Self::state_dict) and of writing the file.
        #[cfg(feature = "fs")]
        fn save(&self, path: impl AsRef<Path>) -> Result<()> {
            self.state_dict()?.save(path)
        }

        /// [`save`](Self::save) on another thread, while training goes on: what is written is the state as
        /// it is now.
        ///
        /// # Errors
        ///
        /// Those of [`state_dict`](Self::state_dict); [`SaveHandle::join`] has those of writing the file.
        #[cfg(feature = "fs")]
        fn save_async(&self, path: impl AsRef<Path>) -> Result<SaveHandle> {
            Ok(self.state_dict()?.save_async(path))
        }

        /// Loads a checkpoint file that has this module's keys and shapes exactly.
        ///
        /// # Errors
        ///
        /// Those of reading the file and of [`load_state_dict`](Self::load_state_dict).
        #[cfg(feature = "fs")]
        fn load(&self, path: impl AsRef<Path>) -> Result<LoadReport> {
            self.load_with(path, LoadOptions::new())
        }

        /// [`load`](Self::load) with options.
        ///
        /// # Errors
        ///
        /// Those of reading the file and of [`load_state_dict_with`](Self::load_state_dict_with).
        #[cfg(feature = "fs")]
        fn load_with(&self, path: impl AsRef<Path>, options: LoadOptions) -> Result<LoadReport> {
            let mut read = ReadOptions::new();
            if let Some(entry) = &options.entry {
                read = read.entry(entry);
            }
            self.load_state_dict_with(&StateDict::load_with(path, &read)?, options)
        }
    };
}
pub(super) use state_methods;
