//! Layers made from existing parameters: nothing is drawn for them.

use module_core::{Error, Maybe, Parameter, Result, Shape};

/// A parameter with the shape that the layer's arguments require.
pub(super) fn part(
    layer: &'static str,
    name: &'static str,
    part: Parameter,
    shape: impl Into<Shape>,
) -> Result<Parameter> {
    let (given, shape): (Shape, Shape) = (part.shape(), shape.into());
    if given == shape {
        return Ok(part);
    }
    let problem = format!("must have the shape {shape}");
    Err(Error::argument(layer, name, given, problem))
}

/// A parameter that must be present exactly if the layer's arguments require it.
pub(super) fn optional_part(
    layer: &'static str,
    name: &'static str,
    wanted: bool,
    given: Maybe<Parameter>,
    shape: impl Into<Shape>,
) -> Result<Maybe<Parameter>> {
    match (given, wanted) {
        (Maybe::Present(given), true) => Ok(part(layer, name, given, shape)?.into()),
        (Maybe::Absent, false) => Ok(Maybe::Absent),
        (Maybe::Present(given), false) => {
            let problem = "is given, but the arguments of the layer say that it has none";
            Err(Error::argument(layer, name, given.shape(), problem))
        }
        (Maybe::Absent, true) => {
            let problem = "is missing, but the arguments of the layer say that it has one";
            Err(Error::argument(layer, name, "absent", problem))
        }
    }
}

/// The sizes of a weight of `N` dimensions.
pub(super) fn sizes<const N: usize>(layer: &'static str, weight: &Parameter) -> Result<[usize; N]> {
    let shape = weight.shape();
    <[usize; N]>::try_from(&*shape).map_err(|_| {
        let problem = format!("must have {N} dimension(s)");
        Error::argument(layer, "weight", &shape, problem)
    })
}

/// A second handle to a weight, which replaces one of the same shape.
pub(super) fn tie(own: &mut Parameter, other: &Parameter) -> Result<()> {
    crate::functional::check_shape("tie_weight", &other.detach(), &own.shape())?;
    *own = other.share();
    Ok(())
}
