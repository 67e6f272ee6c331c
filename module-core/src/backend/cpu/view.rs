//! ndarray views of operands, and the loops over them.

use ndarray::{ArrayViewD, ArrayViewMutD, IxDyn, ShapeBuilder, Zip};

use super::{CpuStorage, Element, Operand, Storage, elements, room};
use crate::{Error, Result};

/// An ndarray view of an operand.
pub(super) fn view<T: Element>(x: &Operand) -> Result<ArrayViewD<'_, T>> {
    if x.layout.shape().contains(&0) {
        // Strides and offset mean nothing without elements, and may point outside.
        return ArrayViewD::from_shape(IxDyn(x.layout.shape()), &[])
            .map_err(|error| layout_error(x, &error));
    }
    let data = elements::<T>(x)?
        .get(x.layout.offset()..)
        .unwrap_or_default();
    ArrayViewD::from_shape(
        IxDyn(x.layout.shape()).strides(IxDyn(x.layout.strides())),
        data,
    )
    .map_err(|error| layout_error(x, &error))
}

/// The elements of an operand as one slice, if they lie in row-major order.
pub(super) fn slice<T: Element>(x: &Operand) -> Result<Option<&[T]>> {
    if x.layout.shape().contains(&0) {
        return Ok(Some(&[]));
    }
    if !x.layout.is_contiguous() {
        return Ok(None);
    }
    let start = x.layout.offset();
    Ok(elements::<T>(x)?.get(start..start + x.layout.shape().numel()))
}

/// A layout that leaves its storage breaks the invariant of `Layout`; it is reported, not read.
fn layout_error(x: &Operand, error: &ndarray::ShapeError) -> Error {
    Error::argument(
        "cpu kernel",
        "layout",
        format_args!("{:?}", x.layout),
        error.to_string(),
    )
}

fn output<'a, T>(x: &Operand, values: &'a mut [T]) -> Result<ArrayViewMutD<'a, T>> {
    ArrayViewMutD::from_shape(IxDyn(x.layout.shape()), values)
        .map_err(|error| layout_error(x, &error))
}

/// The elements in row-major order.
pub(super) fn to_vec<T: Element>(x: &Operand) -> Result<Vec<T>> {
    room::<T>(x.layout.shape().numel())?;
    if let Some(values) = slice(x)? {
        return Ok(values.to_vec());
    }
    let mut values = vec![T::default(); x.layout.shape().numel()];
    output(x, &mut values)?.assign(&view(x)?);
    Ok(values)
}

/// The elements in row-major order, copied only if they lie otherwise.
pub(super) fn to_cow<T: Element>(x: &Operand) -> Result<std::borrow::Cow<'_, [T]>> {
    Ok(match slice(x)? {
        Some(values) => values.into(),
        None => to_vec(x)?.into(),
    })
}

/// `f` of each element, in row-major order.
pub(super) fn map1<T: Element, U: Element>(x: &Operand, f: impl Fn(T) -> U) -> Result<Vec<U>> {
    room::<U>(x.layout.shape().numel())?;
    if let Some(values) = slice(x)? {
        return Ok(values.iter().map(|&v| f(v)).collect());
    }
    let mut values = vec![U::default(); x.layout.shape().numel()];
    Zip::from(output(x, &mut values)?)
        .and(view(x)?)
        .for_each(|out, &v| *out = f(v));
    Ok(values)
}

/// `f` of each pair of elements, in row-major order.
pub(super) fn map2<A: Element, B: Element, U: Element>(
    a: &Operand,
    b: &Operand,
    f: impl Fn(A, B) -> U,
) -> Result<Vec<U>> {
    room::<U>(a.layout.shape().numel())?;
    match (slice(a)?, slice(b)?) {
        (Some(a), Some(b)) => return Ok(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()),
        (Some(a), None) if let Some(b) = single(b)? => {
            return Ok(a.iter().map(|&a| f(a, b)).collect());
        }
        (None, Some(b)) if let Some(a) = single(a)? => {
            return Ok(b.iter().map(|&b| f(a, b)).collect());
        }
        _ => {}
    }
    let mut values = vec![U::default(); a.layout.shape().numel()];
    Zip::from(output(a, &mut values)?)
        .and(view(a)?)
        .and(view(b)?)
        .for_each(|out, &a, &b| *out = f(a, b));
    Ok(values)
}

/// The one element that a stretched operand repeats.
fn single<T: Element>(x: &Operand) -> Result<Option<T>> {
    let repeats = x.layout.strides().iter().all(|&stride| stride == 0);
    Ok(if repeats {
        elements(x)?.get(x.layout.offset()).copied()
    } else {
        None
    })
}

/// `f` of each element, written over the operand's memory if nobody else shares it.
pub(super) fn update1<T: Element>(mut x: Operand, f: impl Fn(T) -> T) -> Result<Storage> {
    if let Some(values) = whole_mut(&mut x) {
        values.iter_mut().for_each(|v| *v = f(*v));
        return Ok(x.storage);
    }
    Ok(CpuStorage::wrap(map1(&x, f)?))
}

/// `f` of each pair, written over the first operand's memory if nobody else shares it.
pub(super) fn update2<T: Element>(
    mut a: Operand,
    b: &Operand,
    f: impl Fn(T, T) -> T,
) -> Result<Storage> {
    if let (Some(b), Some(a_values)) = (slice(b)?, whole_mut(&mut a)) {
        a_values.iter_mut().zip(b).for_each(|(a, &b)| *a = f(*a, b));
        return Ok(a.storage);
    }
    Ok(CpuStorage::wrap(map2(&a, b, f)?))
}

/// The memory of an operand that is all of its storage, in order, and not shared.
fn whole_mut<T: Element>(x: &mut Operand) -> Option<&mut Vec<T>> {
    if !x.layout.is_contiguous() || x.layout.offset() != 0 {
        return None;
    }
    let CpuStorage(data) = x.storage.downcast_mut()?;
    T::host_mut(data).filter(|values| values.len() == x.layout.shape().numel())
}
