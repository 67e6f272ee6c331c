use std::any::TypeId;
use std::fmt;

/// The position of an error: the innermost module whose `call` it left, and its path so far, relative to the outermost one.
///
/// Nothing is recorded unless there is an error: each `call` that an error leaves looks for the previous one among its own
/// descendants.
///
/// # Example
///
/// ```
/// use std::any::TypeId;
///
/// use module_tensor::error::Trace;
///
/// // An error leaves a `Linear`, then the block that holds it as `fc`, then the network.
/// let anchor = |address| (TypeId::of::<()>(), address);
/// let mut trace = Trace::new("Linear", anchor(1));
/// trace.extend("fc", anchor(2));
/// trace.extend("layers.0", anchor(3));
/// assert_eq!((trace.path(), trace.kind(), trace.anchor()), ("layers.0.fc", "Linear", anchor(3)));
/// assert_eq!(trace.to_string(), "layers.0.fc (Linear)");
/// trace.leave_unregistered(anchor(4));
/// assert_eq!(trace.to_string(), "layers.0.fc (Linear, not registered in its caller)");
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    kind: &'static str,
    path: String,
    registered: bool,
    /// The type and the address of the module that `path` starts from.
    anchor: (TypeId, usize),
}

impl Trace {
    /// An error left this module's `call` first.
    pub fn new(kind: &'static str, anchor: (TypeId, usize)) -> Self {
        Self {
            kind,
            path: String::new(),
            registered: true,
            anchor,
        }
    }

    /// The path of the module; empty for the outermost one.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The type of the module.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The type and the address of the module that the path starts from.
    pub fn anchor(&self) -> (TypeId, usize) {
        self.anchor
    }

    /// The error also left `anchor`, which holds the previous anchor under `prefix`.
    pub fn extend(&mut self, prefix: &str, anchor: (TypeId, usize)) {
        if !prefix.is_empty() {
            let separator = if self.path.is_empty() { "" } else { "." };
            self.path = format!("{prefix}{separator}{}", self.path);
        }
        self.anchor = anchor;
    }

    /// The error also left `anchor`, which does not register the previous anchor.
    pub fn leave_unregistered(&mut self, anchor: (TypeId, usize)) {
        self.registered = false;
        self.anchor = anchor;
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            path,
            registered,
            ..
        } = self;
        let unregistered = if *registered {
            ""
        } else {
            ", not registered in its caller"
        };
        if path.is_empty() {
            write!(f, "{kind}{unregistered}")
        } else {
            write!(f, "{} ({kind}{unregistered})", super::quote(path))
        }
    }
}
