//! The state of training: modes, freezing, gradients, dtype and device.

/// The methods of [`ModuleExt`](super::ModuleExt) that change modes, gradients, dtype and device.
macro_rules! mode_methods {
    () => {
        /// Puts the whole tree into training mode.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Module, ModuleExt, Training};
        ///
        /// #[derive(Module)]
        /// struct Noise {
        ///     training: Training,
        /// }
        ///
        /// let noise = Noise { training: Training::new() };
        /// noise.eval();
        /// noise.train();
        /// assert!(noise.is_training());
        /// ```
        fn train(&self) {
            self.set_training(true);
        }

        /// Puts the whole tree into evaluation mode.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Module, ModuleExt, Training};
        ///
        /// #[derive(Module)]
        /// struct Noise {
        ///     training: Training,
        /// }
        ///
        /// let noise = Noise { training: Training::new() };
        /// noise.eval();
        /// assert!(!noise.is_training());
        /// ```
        fn eval(&self) {
            self.set_training(false);
        }

        /// Puts the whole tree into training or evaluation mode.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Module, ModuleExt, Training};
        ///
        /// #[derive(Module)]
        /// struct Noise {
        ///     training: Training,
        /// }
        ///
        /// let noise = Noise { training: Training::new() };
        /// noise.set_training(false);
        /// assert!(!noise.is_training());
        /// ```
        fn set_training(&self, training: bool) {
            convert::set_training(self.as_module(), training);
        }

        /// Whether any part of the tree is in training mode.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Module, ModuleExt, Training};
        ///
        /// #[derive(Module)]
        /// struct Noise {
        ///     training: Training,
        /// }
        ///
        /// let noise = Noise { training: Training::new() };
        /// assert!(noise.is_training());
        /// ```
        fn is_training(&self) -> bool {
            walk::flags(self.as_module()).iter().any(is_training)
        }

        /// Pauses or resumes the training of every parameter: PyTorch's `requires_grad_`.
        ///
        /// Gradients and optimizer states stay, and training resumes with them ([`Parameter::set_requires_grad`]). To stop
        /// training parameters for good, [freeze](Self::freeze) them.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.set_requires_grad(false);
        /// assert_eq!(net.num_trainable(), 0);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn set_requires_grad(&self, requires_grad: bool) {
            convert::set_requires_grad(self.as_module(), requires_grad);
        }

        /// Freezes the selected parameters and statistics, and returns the paths: parameters are no longer trained and lose
        /// their gradients ([`Parameter::freeze`]), and running statistics stop in modules whose buffers are all selected, so
        /// that a frozen batch normalization behaves as in evaluation.
        ///
        /// [`train`](Self::train) does not undo it. An optimizer drops the state that it keeps of a frozen parameter, such as
        /// momentum; [`set_requires_grad`](Self::set_requires_grad) pauses training and keeps it. A tied tensor is frozen if
        /// any of its names is selected.
        ///
        /// # Errors
        ///
        /// An invalid pattern, a selection that matches nothing; then nothing is frozen.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::module::ConstantInit;
        /// use module_core::{ModuleExt, Parameter};
        ///
        /// let weights = [1, 2, 3].map(|size| Parameter::with_init(size, ConstantInit(0.0)));
        /// let [a, b, c] = weights;
        /// let model = vec![a?, b?, c?];
        /// assert_eq!(model.freeze(["0", "1"])?, ["0", "1"]);
        /// assert_eq!(model.num_trainable(), 3);
        /// model.unfreeze("1")?;
        /// assert_eq!(model.num_trainable(), 5);
        /// assert!(model.freeze("head").is_err());
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn freeze(&self, select: impl Into<Select>) -> Result<Vec<String>> {
            freeze::set_frozen(self.as_module(), &select.into(), true, true)
        }

        /// [`freeze`](Self::freeze) for parameters only: running statistics keep being updated.
        ///
        /// # Errors
        ///
        /// Those of [`freeze`](Self::freeze).
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// assert_eq!(net.freeze_parameters("0")?, ["0"]);
        /// assert_eq!(net.num_trainable(), 1);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn freeze_parameters(&self, select: impl Into<Select>) -> Result<Vec<String>> {
            freeze::set_frozen(self.as_module(), &select.into(), true, false)
        }

        /// Unfreezes the selected parameters and statistics, and returns the paths.
        ///
        /// # Errors
        ///
        /// Those of [`freeze`](Self::freeze).
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.freeze(["0", "1"])?;
        /// net.unfreeze("0")?;
        /// assert_eq!(net.num_trainable(), 2);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn unfreeze(&self, select: impl Into<Select>) -> Result<Vec<String>> {
            freeze::set_frozen(self.as_module(), &select.into(), false, true)
        }

        /// Drops every gradient.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net[0].tensor().sum(..)?.backward()?;
        /// net.zero_grad();
        /// assert!(net[0].grad().is_none());
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn zero_grad(&self) {
            convert::zero_grad(self.as_module());
        }

        /// Casts floating-point parameters, gradients and buffers; other tensors, such as counters, stay, and so do
        /// [`keep_dtype`](Buffer::keep_dtype) buffers.
        ///
        /// # Errors
        ///
        /// A dtype that is not floating-point, not enough memory.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{DType, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.to_dtype(DType::BF16)?;
        /// assert_eq!(net[0].dtype(), DType::BF16);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn to_dtype(&self, dtype: DType) -> Result<()> {
            convert::to_dtype(self.as_module(), dtype)
        }

        /// Moves parameters, gradients and buffers.
        ///
        /// # Errors
        ///
        /// Not enough memory.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Device, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.to_device(&Device::cpu())?;
        /// assert_eq!(net[0].device(), Device::cpu());
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn to_device(&self, device: &Device) -> Result<()> {
            convert::to_device(self.as_module(), device)
        }

        /// Casts to `F32`, as [`to_dtype`](Self::to_dtype).
        ///
        /// # Errors
        ///
        /// Not enough memory.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{DType, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.float()?;
        /// assert_eq!(net[0].dtype(), DType::F32);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn float(&self) -> Result<()> {
            self.to_dtype(DType::F32)
        }

        /// Casts to `F64`, as [`to_dtype`](Self::to_dtype).
        ///
        /// # Errors
        ///
        /// Not enough memory.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{DType, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.double()?;
        /// assert_eq!(net[0].dtype(), DType::F64);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn double(&self) -> Result<()> {
            self.to_dtype(DType::F64)
        }

        /// Casts to `F16`, as [`to_dtype`](Self::to_dtype).
        ///
        /// # Errors
        ///
        /// Not enough memory.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{DType, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.half()?;
        /// assert_eq!(net[0].dtype(), DType::F16);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn half(&self) -> Result<()> {
            self.to_dtype(DType::F16)
        }

        /// Casts to `BF16`, as [`to_dtype`](Self::to_dtype).
        ///
        /// # Errors
        ///
        /// Not enough memory.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{DType, ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net.bfloat16()?;
        /// assert_eq!(net[0].dtype(), DType::BF16);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn bfloat16(&self) -> Result<()> {
            self.to_dtype(DType::BF16)
        }

        /// The number of elements of all parameters, tied ones counted once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// assert_eq!(net.num_parameters(), 3);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn num_parameters(&self) -> usize {
            walk::numel(self.as_module(), |_| true)
        }

        /// The number of elements of the trainable parameters, tied ones counted once.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?, Parameter::new(Tensor::from([3.0_f32]))?];
        /// net[0].set_requires_grad(false);
        /// assert_eq!(net.num_trainable(), 1);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn num_trainable(&self) -> usize {
            walk::numel(self.as_module(), Parameter::requires_grad)
        }
    };
}
pub(super) use mode_methods;
