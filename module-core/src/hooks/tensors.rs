use indexmap::IndexMap;

use crate::Tensor;

/// A value whose tensors hooks can see: what `forward` takes and returns.
///
/// Tensors, tuples, arrays, vectors, options, boxes and maps of them have it; `#[derive(Tensors)]` writes it
/// for a struct or an enum. Both methods show the tensors in one order, `for_each_mut` without those that
/// are borrowed.
///
/// # Example
///
/// ```
/// use module_core::{Call, Forward, Marker, Module, ModuleExt, Result, Tensor, Tensors};
///
/// #[derive(Tensors)]
/// struct Batch {
///     rows: Tensor,
///     masks: Vec<Tensor>,
///     #[module(skip)]
///     source: std::path::PathBuf,
/// }
///
/// #[derive(Module)]
/// struct First(Marker);
///
/// impl Forward<Batch> for First {
///     type Output = Tensor;
///
///     fn forward(&self, batch: Batch) -> Result<Tensor> {
///         Ok(batch.rows)
///     }
/// }
///
/// let first = First(Marker::new());
/// let _hook = first.register_forward_hook(|call| assert_eq!(call.inputs().len(), 3));
/// let mask = Tensor::from([true, false]);
/// let masks = vec![mask.clone(), mask];
/// let rows = Tensor::from([1.0_f32, 2.0]);
/// first.call(Batch { rows, masks, source: "rows.csv".into() })?;
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{Tensor, hooks::Tensors};
///
/// let pair = (Tensor::from(1.0_f32), vec![Tensor::from(2.0_f32)]);
/// let mut count = 0;
/// pair.for_each(&mut |_| count += 1);
/// assert_eq!(count, 2);
/// ```
///
/// ```
/// use module_core::{Tensor, hooks::Tensors};
///
/// let mut pair = (Tensor::from(1.0_f32), Some(Tensor::from(2.0_f32)));
/// pair.for_each_mut(&mut |tensor| *tensor = tensor.neg().unwrap());
/// assert_eq!((pair.0.item::<f32>()?, pair.1.unwrap().item::<f32>()?), (-1.0, -2.0));
/// # Ok::<(), module_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed through `call`",
    label = "hooks cannot see the tensors in it",
    note = "use tensors, or tuples, arrays, vectors, options and maps of them, or write `#[derive(Tensors)]` on a type of your own",
    note = "in a type that derives it, `#[module(skip)]` leaves out a field without tensors"
)]
pub trait Tensors {
    /// Shows each tensor.
    fn for_each(&self, f: &mut dyn FnMut(&Tensor));

    /// Shows each tensor, to be replaced.
    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor));
}

impl Tensors for Tensor {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        f(self);
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        f(self);
    }
}

/// A borrowed tensor can be seen and not replaced.
impl Tensors for &Tensor {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        f(self);
    }

    fn for_each_mut(&mut self, _: &mut dyn FnMut(&mut Tensor)) {}
}

impl<T: Tensors + ?Sized> Tensors for Box<T> {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        (**self).for_each(f);
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        (**self).for_each_mut(f);
    }
}

macro_rules! tensors_by_iteration {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Tensors for $type {
            fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
                self.iter().for_each(|item| item.for_each(f));
            }

            fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
                self.iter_mut().for_each(|item| item.for_each_mut(f));
            }
        }
    )*};
}

tensors_by_iteration! {
    [T: Tensors] Vec<T>;
    [T: Tensors] Option<T>;
    [T: Tensors, const N: usize] [T; N];
}

impl<K, T: Tensors> Tensors for IndexMap<K, T> {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        self.values().for_each(|item| item.for_each(f));
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.values_mut().for_each(|item| item.for_each_mut(f));
    }
}

macro_rules! tensors_of_tuples {
    ($(($($name:ident $index:tt),*);)*) => {$(
        impl<$($name: Tensors),*> Tensors for ($($name,)*) {
            fn for_each(&self, _f: &mut dyn FnMut(&Tensor)) {
                $(self.$index.for_each(_f);)*
            }

            fn for_each_mut(&mut self, _f: &mut dyn FnMut(&mut Tensor)) {
                $(self.$index.for_each_mut(_f);)*
            }
        }
    )*};
}

tensors_of_tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

/// Values without tensors may stand beside them.
macro_rules! without_tensors {
    ($($type:ty),*) => {$(
        impl Tensors for $type {
            fn for_each(&self, _: &mut dyn FnMut(&Tensor)) {}

            fn for_each_mut(&mut self, _: &mut dyn FnMut(&mut Tensor)) {}
        }
    )*};
}

without_tensors!(bool, usize, i64, i32, f64, f32, String, &str);

/// The tensors of a value.
pub(super) fn tensors(value: &dyn Tensors) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    value.for_each(&mut |tensor| tensors.push(tensor.clone()));
    tensors
}
