//! Initializers applied to the modules of a tree.

use std::any::Any;

use module_core::{Module, ModuleExt, Result};

/// Calls `f` with the path and each module of a tree, children first: PyTorch's
/// `model.apply(init_weights)`.
///
/// Parameters are changed through a shared reference, so a shared model can be initialized too.
///
/// # Errors
///
/// The first error of `f`.
///
/// # Example
///
/// ```
/// use std::any::Any;
///
/// use module_nn::init::{self, Orthogonal, zeros};
/// use module_nn::prelude::*;
///
/// let net = Sequential::new().push(Linear::new(4, 4)?).push(BatchNorm1d::new(4)?);
/// init::apply(&net, |_path, module| {
///     let module: &dyn Any = module;
///     if let Some(linear) = module.downcast_ref::<Linear>() {
///         linear.weight().initialize(Orthogonal::default())?;
///     }
///     Ok(())
/// })?;
/// # Ok::<(), Error>(())
/// ```
pub fn apply(
    root: &(impl Module + ?Sized),
    mut f: impl FnMut(&str, &dyn Module) -> Result<()>,
) -> Result<()> {
    visit(root.as_module(), "", &mut f)
}

fn visit(
    module: &dyn Module,
    path: &str,
    f: &mut dyn FnMut(&str, &dyn Module) -> Result<()>,
) -> Result<()> {
    for (name, child) in module.named_children() {
        let path = match path {
            "" => name,
            path => format!("{path}.{name}"),
        };
        visit(child, &path, f)?;
    }
    f(path, module)
}

/// Calls `f` with the path and each module of one type in a tree, children first.
///
/// # Errors
///
/// The first error of `f`.
///
/// # Example
///
/// ```
/// use module_nn::init::{self, Normal};
/// use module_nn::prelude::*;
///
/// let net = Sequential::new().push(Linear::new(4, 4)?);
/// let small = Normal { mean: 0.0, std: 0.02 };
/// init::each(&net, |_path, linear: &Linear| linear.weight().initialize(small))?;
/// # Ok::<(), Error>(())
/// ```
pub fn each<M: Module>(
    root: &(impl Module + ?Sized),
    mut f: impl FnMut(&str, &M) -> Result<()>,
) -> Result<()> {
    apply(root, |path, module| {
        let module: &dyn Any = module;
        module
            .downcast_ref::<M>()
            .map_or(Ok(()), |module| f(path, module))
    })
}
