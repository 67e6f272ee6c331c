//! The parts of a module: walks, and access by path.

/// The methods of [`ModuleExt`](super::ModuleExt) that walk through modules, parameters and buffers.
macro_rules! walk_methods {
    () => {
        /// The direct children, each once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// assert_eq!(net.children().map(|child| child.kind()).collect::<Vec<_>>(), ["Identity", "Sequential"]);
        /// ```
        fn children(&self) -> impl Iterator<Item = &dyn Module> {
            walk::children(self.as_module()).into_iter().map(second)
        }

        /// The direct children with their names, each once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// assert_eq!(net.named_children().map(|(name, _)| name).collect::<Vec<_>>(), ["0", "1"]);
        /// ```
        fn named_children(&self) -> impl Iterator<Item = (String, &dyn Module)> {
            walk::children(self.as_module()).into_iter()
        }

        /// This module and all its descendants, each once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// assert_eq!(net.modules().count(), 4);
        /// ```
        fn modules(&self) -> impl Iterator<Item = &dyn Module> {
            self.named_modules().map(second)
        }

        /// This module, under the empty name, and all its descendants with their paths, each once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// assert_eq!(net.named_modules().map(|(path, _)| path).collect::<Vec<_>>(), ["", "0", "1", "1.0"]);
        /// ```
        fn named_modules(&self) -> impl Iterator<Item = (String, &dyn Module)> {
            self.named_modules_with(Walk::new())
        }

        /// [`named_modules`](Self::named_modules) with another walk.
        ///
        /// # Example
        ///
        /// ```
        /// use std::sync::Arc;
        ///
        /// use module_core::{Identity, ModuleExt, Walk};
        ///
        /// let shared = Arc::new(Identity::new());
        /// let net = vec![Arc::clone(&shared), shared];
        /// assert_eq!(net.named_modules().count(), 2);
        /// assert_eq!(net.named_modules_with(Walk::new().remove_duplicate(false)).count(), 3);
        /// ```
        fn named_modules_with(&self, walk: Walk) -> impl Iterator<Item = (String, &dyn Module)> {
            walk::modules(self.as_module(), &walk).into_iter()
        }

        /// The parameters of the tree, each once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// assert_eq!(net.parameters().map(Parameter::numel).sum::<usize>(), 3);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn parameters(&self) -> impl Iterator<Item = &Parameter> {
            self.named_parameters().map(second)
        }

        /// The parameters of the tree with their paths, each under its first one.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// assert_eq!(net.named_parameters().map(|(path, _)| path).collect::<Vec<_>>(), ["0", "1"]);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn named_parameters(&self) -> impl Iterator<Item = (String, &Parameter)> {
            self.named_parameters_with(Walk::new())
        }

        /// [`named_parameters`](Self::named_parameters) with another walk.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor, Walk};
        ///
        /// let weight = Parameter::new(Tensor::from([1.0_f32]))?;
        /// let tied = vec![weight.share(), weight];
        /// assert_eq!(tied.named_parameters().count(), 1);
        /// assert_eq!(tied.named_parameters_with(Walk::new().remove_duplicate(false)).count(), 2);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn named_parameters_with(&self, walk: Walk) -> impl Iterator<Item = (String, &Parameter)> {
            walk::parameters(self.as_module(), &walk).into_iter()
        }

        /// The buffers of the tree, each once, persistent or not.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Buffer, Module, ModuleExt, Tensor};
        ///
        /// #[derive(Module)]
        /// struct Mean {
        ///     mean: Buffer,
        /// }
        ///
        /// let net = vec![Mean { mean: Buffer::new(Tensor::from(0.5_f32)) }];
        /// assert_eq!(net.buffers().count(), 1);
        /// ```
        fn buffers(&self) -> impl Iterator<Item = &Buffer> {
            self.named_buffers().map(second)
        }

        /// The buffers of the tree with their paths, each under its first one.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Buffer, Module, ModuleExt, Tensor};
        ///
        /// #[derive(Module)]
        /// struct Mean {
        ///     mean: Buffer,
        /// }
        ///
        /// let net = vec![Mean { mean: Buffer::new(Tensor::from(0.5_f32)) }];
        /// assert_eq!(net.named_buffers().next().unwrap().0, "0.mean");
        /// ```
        fn named_buffers(&self) -> impl Iterator<Item = (String, &Buffer)> {
            self.named_buffers_with(Walk::new())
        }

        /// [`named_buffers`](Self::named_buffers) with another walk.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Buffer, Module, ModuleExt, Tensor, Walk};
        ///
        /// #[derive(Module)]
        /// struct Mean {
        ///     mean: Buffer,
        /// }
        ///
        /// let net = vec![Mean { mean: Buffer::new(Tensor::from(0.5_f32)) }];
        /// assert_eq!(net.named_buffers_with(Walk::new().prefix("model")).next().unwrap().0, "model.0.mean");
        /// ```
        fn named_buffers_with(&self, walk: Walk) -> impl Iterator<Item = (String, &Buffer)> {
            walk::buffers(self.as_module(), &walk).into_iter()
        }

        /// The module at a dotted path; the empty path is this module.
        ///
        /// # Errors
        ///
        /// A step that is not a member, with the nearest name, or not a module.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// assert_eq!(net.get_submodule("1.0")?.kind(), "Identity");
        /// assert!(net.get_submodule("2").is_err());
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn get_submodule(&self, path: &str) -> Result<&dyn Module> {
            path::submodule(self.as_module(), path)
        }

        /// [`get_submodule`](Self::get_submodule), mutably.
        ///
        /// # Errors
        ///
        /// Those of [`get_submodule`](Self::get_submodule), and a module behind a shared `Arc`.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let mut net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// assert_eq!(net.get_submodule_mut("1")?.kind(), "Sequential");
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn get_submodule_mut(&mut self, path: &str) -> Result<&mut dyn Module> {
            path::submodule_mut(self.as_module_mut(), path)
        }

        /// The parameter at a dotted path.
        ///
        /// # Errors
        ///
        /// A step that is not a member, with the nearest name, or a path to something else.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// assert_eq!(net.get_parameter("1")?.numel(), 1);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn get_parameter(&self, path: &str) -> Result<&Parameter> {
            path::parameter(self.as_module(), path)
        }

        /// The buffer at a dotted path.
        ///
        /// # Errors
        ///
        /// Those of [`get_parameter`](Self::get_parameter).
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Buffer, Module, ModuleExt, Tensor};
        ///
        /// #[derive(Module)]
        /// struct Mean {
        ///     mean: Buffer,
        /// }
        ///
        /// let net = vec![Mean { mean: Buffer::new(Tensor::from(0.5_f32)) }];
        /// assert_eq!(net.get_buffer("0.mean")?.tensor().item::<f32>()?, 0.5);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn get_buffer(&self, path: &str) -> Result<&Buffer> {
            path::buffer(self.as_module(), path)
        }

        /// Calls `f` with the path and each module, children first, then this one.
        ///
        /// # Errors
        ///
        /// A module behind a shared `Arc`, to which nobody has mutable access; then `f` is not called at all.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Identity, ModuleExt, Sequential};
        ///
        /// let mut net = Sequential::new().push(Identity::new()).push(Sequential::new().push(Identity::new()));
        /// let mut paths = Vec::new();
        /// net.apply(|path, _module| paths.push(path.to_owned()))?;
        /// assert_eq!(paths, ["0", "1.0", "1", ""]);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn apply(&mut self, mut f: impl FnMut(&str, &mut dyn Module)) -> Result<()> {
            path::apply(self.as_module_mut(), &mut f)
        }
    };
}
pub(super) use walk_methods;
