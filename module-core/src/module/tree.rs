use std::fmt::{self, Write as _};

use super::Module;
use super::walk::{MemberRef, Walk, members, parameters};
use crate::{DType, Tensor};

/// The module tree as PyTorch prints it; made by [`ModuleExt::tree`](crate::ModuleExt::tree).
///
/// A module without children is one line, `Name(extra)`; children are indented by two, and so is everything next to them.
/// In a `ModuleList`, equal neighbors are folded: `(0-2): 3 x Linear(…)`.
///
/// # Example
///
/// ```
/// use module_core::{Identity, ModuleExt, Sequential};
///
/// let net = Sequential::new().push(Identity::new());
/// assert_eq!(net.tree().to_string(), "Sequential(\n  (0): Identity()\n)");
/// ```
#[derive(Clone, Copy)]
pub struct Tree<'m> {
    module: &'m dyn Module,
    counts: bool,
}

impl<'m> Tree<'m> {
    pub(crate) fn new(module: &'m dyn Module) -> Self {
        Self {
            module,
            counts: false,
        }
    }

    /// Adds the number of parameters after each module that has any.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Identity, Module, ModuleExt, Parameter, Tensor};
    ///
    /// #[derive(Module)]
    /// struct Scale {
    ///     weight: Parameter,
    ///     act: Identity,
    /// }
    ///
    /// let weight = Parameter::new(Tensor::from([1.0_f32; 3]))?;
    /// let scale = Scale { weight, act: Identity::new() };
    /// let text = scale.tree().with_parameters().to_string();
    /// assert!(text.lines().next().is_some_and(|line| line.contains('3')), "{text}");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn with_parameters(self) -> Self {
        Self {
            counts: true,
            ..self
        }
    }

    fn text(self) -> Result<String, fmt::Error> {
        let Self { module, counts } = self;
        let mut text = format!("{}(", module.kind());
        let mut children = Vec::new();
        let extra = ExtraRepr(module).to_string();
        let mut own_lines: Vec<String> = extra.lines().map(str::to_owned).collect();
        for (name, member) in members(module) {
            match member {
                MemberRef::Module(child) => children.push((name, child)),
                MemberRef::Parameter(parameter) => {
                    let line = parameter_line(module.kind(), &parameter.detach());
                    own_lines.extend(line.map(|line| format!("  ({name}): {line}")));
                }
                MemberRef::Buffer(_) | MemberRef::Constant => {}
            }
        }
        let total: usize = match counts {
            true => parameters(module, &Walk::new())
                .iter()
                .map(|(_, p)| p.numel())
                .sum(),
            false => 0,
        };
        let count = if total > 0 {
            format!("  # {}", group_digits(total))
        } else {
            String::new()
        };
        if children.is_empty() && own_lines.len() <= 1 {
            write!(text, "{}){count}", own_lines.concat())?;
            return Ok(text);
        }
        writeln!(text, "{count}")?;
        for line in own_lines {
            writeln!(text, "  {line}")?;
        }
        let mut lines: Vec<(String, String, usize)> = Vec::new();
        for (name, child) in children {
            let body = Self {
                module: child,
                counts,
            }
            .text()?
            .replace('\n', "\n  ");
            match lines.last_mut() {
                Some((_, last, repeats)) if module.kind() == "ModuleList" && *last == body => {
                    *repeats += 1;
                }
                _ => lines.push((name, body, 1)),
            }
        }
        let mut index = 0;
        for (name, body, repeats) in lines {
            if repeats == 1 {
                writeln!(text, "  ({name}): {body}")?;
            } else {
                writeln!(
                    text,
                    "  ({index}-{}): {repeats} x {body}",
                    index + repeats - 1
                )?;
            }
            index += repeats;
        }
        text.push(')');
        Ok(text)
    }
}

/// PyTorch prints parameters only if they are in a parameter list or map, and names the dtype in two ways.
fn parameter_line(kind: &str, value: &Tensor) -> Option<String> {
    let dtype = match (kind, value.dtype()) {
        ("ParameterList", dtype) => dtype.name(),
        ("ParameterDict", DType::F64) => "DoubleTensor",
        ("ParameterDict", DType::F16) => "HalfTensor",
        ("ParameterDict", DType::BF16) => "BFloat16Tensor",
        ("ParameterDict", _) => "FloatTensor",
        _ => return None,
    };
    let sizes: Vec<String> = value.shape().iter().map(usize::to_string).collect();
    let size = sizes.join("x");
    Some(format!(
        "Parameter containing: [torch.{dtype} of size {size}]"
    ))
}

/// The text between the parentheses.
struct ExtraRepr<'m>(&'m dyn Module);

impl fmt::Display for ExtraRepr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.extra_repr(f)
    }
}

/// `12,345` parameters.
fn group_digits(total: usize) -> String {
    let digits = total.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + if total == 1 {
        " parameter"
    } else {
        " parameters"
    }
}

impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text()?)
    }
}
