use super::{Field, Module};

/// The types that a list, an array, a tuple or a map of a module may hold: modules or parameters, so that a list of
/// numbers is not a module.
///
/// # Example
///
/// ```
/// use module_core::{Identity, Module, ModuleExt};
///
/// #[derive(Module)]
/// struct Stack {
///     layers: Vec<Identity>,
/// }
///
/// let stack = Stack { layers: vec![Identity::new(), Identity::new()] };
/// assert!(stack.tree().to_string().contains("ModuleList"));
/// ```
///
/// ```
/// use module_core::module::Member;
/// use module_core::{Identity, Parameter};
///
/// /// The name that a list of these prints.
/// fn list_of<T: Member>() -> &'static str {
///     T::LIST
/// }
///
/// assert_eq!((list_of::<Identity>(), list_of::<Parameter>()), ("ModuleList", "ParameterList"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a list of modules",
    label = "neither a module nor a parameter",
    note = "lists, arrays, tuples and maps in a module hold modules or parameters; an absent element is `Identity` or an enum that derives `Module`"
)]
pub trait Member: Field + Send + Sync {
    /// The name of a list of these, as in PyTorch.
    const LIST: &'static str = "ModuleList";
    /// The name of a map of these, as in PyTorch.
    const DICT: &'static str = "ModuleDict";
}

#[diagnostic::do_not_recommend]
impl<M: Module> Member for M {}
#[diagnostic::do_not_recommend]
impl Member for crate::Parameter {
    const LIST: &'static str = "ParameterList";
    const DICT: &'static str = "ParameterDict";
}
