//! The state of a module: state dicts, loading, and checkpoint files.

/// The methods of [`ModuleExt`](super::ModuleExt) for state dicts and checkpoints.
macro_rules! state_methods {
    () => {
        /// A snapshot of every parameter and persistent buffer under PyTorch's keys.
        ///
        /// If another thread loads a state dict meanwhile, the snapshot is entirely from before or from after. A pre-hook
        /// ([`register_state_dict_pre_hook`]) may change the module, so values after such a hook are read one at a time. An
        /// optimizer step, a cast, a move or a reset in another thread sets one tensor after another, and a concurrent
        /// snapshot can hold some values from before and some from after.
        ///
        /// [`register_state_dict_pre_hook`]: Self::register_state_dict_pre_hook
        ///
        /// # Errors
        ///
        /// Two tensors with the same key, which `flatten` can cause; a map with a key that is empty or contains `.`; a
        /// parameter that has no values yet; an error of a hook.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// assert_eq!(net.state_dict()?.keys().collect::<Vec<_>>(), ["0"]);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn state_dict(&self) -> Result<StateDict> {
            state::state_dict(self.as_module())
        }

        /// Loads a state dict that has exactly this module's keys and shapes; of a tied tensor it may lack all names but
        /// one.
        ///
        /// Values are cast to the dtype that they replace; gradients, modes and ties stay. A hook that fails or panics
        /// leaves the module unchanged, too. A [`state_dict`](Self::state_dict) in another thread sees all values change at
        /// once, but a concurrent call does not: it reads each tensor when it needs it.
        ///
        /// # Errors
        ///
        /// Missing or unexpected keys, other shapes, ties that the values break: all of them in one error, in PyTorch's
        /// words. The module is then unchanged.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, StateDict, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let state = StateDict::from_iter([("0", Tensor::from([3.0_f32, 4.0]))]);
        /// println!("{}", net.load_state_dict(&state)?);
        /// assert_eq!(net[0].tensor().to_vec::<f32>()?, [3.0, 4.0]);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn load_state_dict(&self, state: &StateDict) -> Result<LoadReport> {
            self.load_state_dict_with(state, LoadOptions::new())
        }

        /// [`load_state_dict`](Self::load_state_dict) with options.
        ///
        /// # Errors
        ///
        /// Those of [`load_state_dict`](Self::load_state_dict), except what the options allow, and a state dict of which
        /// nothing fits.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{LoadOptions, ModuleExt, Parameter, Remap, StateDict, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let state = StateDict::from_iter([("module.0", Tensor::from([3.0_f32, 4.0]))]);
        /// let options = LoadOptions::new().remap(Remap::strip_wrappers());
        /// println!("{}", net.load_state_dict_with(&state, options)?);
        /// assert_eq!(net[0].tensor().to_vec::<f32>()?, [3.0, 4.0]);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn load_state_dict_with(
            &self,
            state: &StateDict,
            options: LoadOptions,
        ) -> Result<LoadReport> {
            state::load(self.as_module(), state, &options)
        }

        /// Replaces the module's values until the guard is dropped, for example by averaged ones for evaluation.
        ///
        /// `state` may lack keys, whose values stay. The guard restores the original values, also on an error or a panic,
        /// and regardless of what was done to the values meanwhile. Gradients, modes and ties stay. All threads see the
        /// values, and a [`state_dict`](Self::state_dict) in another thread sees each swap at once;
        /// [`functional_call`](crate::functional_call) shows other values to one thread only. Values are cast to the
        /// module's dtypes.
        ///
        /// # Errors
        ///
        /// Keys that the module lacks, other shapes, different values for a tied tensor, values that are already swapped:
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

        /// The state dict in the form that [`load_state_dict_with`](Self::load_state_dict_with) reads with these options:
        /// weights transposed by the same rule, keys mapped back by [`Remap::inverse`], and only the selected keys if there
        /// is a selection.
        ///
        /// Values have the dtypes of the module.
        ///
        /// [`Remap::inverse`]: crate::Remap::inverse
        ///
        /// # Errors
        ///
        /// Those of [`state_dict`](Self::state_dict), rules that cannot be inverted, and a key that they would not map back
        /// to itself.
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

        /// Writes [`state_dict_as`](Self::state_dict_as) to a safetensors file, completely or not at all: the checkpoint
        /// that [`load_with`](Self::load_with) reads with these options.
        ///
        /// # Errors
        ///
        /// Those of [`state_dict_as`](Self::state_dict_as) and of writing the file.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{LoadOptions, ModuleExt, Parameter, Remap, StateDict, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let file = std::env::temp_dir().join("module-core-doc-save-as.safetensors");
        /// net.save_as(&file, &LoadOptions::new().remap(Remap::new().prefix("model", "")))?;
        /// assert!(StateDict::load(&file)?.contains_key("model.0"));
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[cfg(feature = "fs")]
        fn save_as(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<()> {
            self.state_dict_as(options)?.save(path)
        }

        /// Writes the state dict to a safetensors file, completely or not at all.
        ///
        /// # Errors
        ///
        /// Those of [`state_dict`](Self::state_dict) and of writing the file.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let file = std::env::temp_dir().join("module-core-doc-save.safetensors");
        /// net.save(&file)?;
        /// assert!(net.load(&file)?.not_loaded.is_empty());
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[cfg(feature = "fs")]
        fn save(&self, path: impl AsRef<Path>) -> Result<()> {
            self.state_dict()?.save(path)
        }

        /// [`save`](Self::save) on another thread, while training continues. It writes the current state.
        ///
        /// # Errors
        ///
        /// Those of [`state_dict`](Self::state_dict); [`SaveHandle::join`] has those of writing the file.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let file = std::env::temp_dir().join("module-core-doc-save-async.safetensors");
        /// let saving = net.save_async(&file)?;
        /// // Training goes on here.
        /// saving.join()?;
        /// assert!(file.exists());
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[cfg(feature = "fs")]
        fn save_async(&self, path: impl AsRef<Path>) -> Result<SaveHandle> {
            Ok(self.state_dict()?.save_async(path))
        }

        /// Loads a checkpoint file that has exactly this module's keys and shapes.
        ///
        /// # Errors
        ///
        /// Those of reading the file and of [`load_state_dict`](Self::load_state_dict).
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let file = std::env::temp_dir().join("module-core-doc-load.safetensors");
        /// net.save(&file)?;
        /// net[0].set(Tensor::from([0.0_f32, 0.0]))?;
        /// println!("{}", net.load(&file)?);
        /// assert_eq!(net[0].tensor().to_vec::<f32>()?, [1.0, 2.0]);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[cfg(feature = "fs")]
        fn load(&self, path: impl AsRef<Path>) -> Result<LoadReport> {
            self.load_with(path, LoadOptions::new())
        }

        /// [`load`](Self::load) with options.
        ///
        /// # Errors
        ///
        /// Those of reading the file and of [`load_state_dict_with`](Self::load_state_dict_with).
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{LoadOptions, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let file = std::env::temp_dir().join("module-core-doc-load-with.safetensors");
        /// net.save(&file)?;
        /// let part = LoadOptions::new().select("0");
        /// assert!(net.load_with(&file, part)?.not_loaded.is_empty());
        /// # Ok::<(), module_core::Error>(())
        /// ```
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
