use std::any::TypeId;
use std::fmt;

/// Where an error happened: the innermost module whose `call` it left, and its path from the
/// outermost one so far.
///
/// Nothing is recorded while all goes well: each `call` that an error leaves looks for the
/// previous one among its own descendants.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    kind: &'static str,
    path: String,
    registered: bool,
    /// The type and the address of the module that `path` starts from.
    anchor: (TypeId, usize),
}

impl Trace {
    pub(crate) fn new(kind: &'static str, anchor: (TypeId, usize)) -> Self {
        Self {
            kind,
            path: String::new(),
            registered: true,
            anchor,
        }
    }

    /// The path of the module; empty for the outermost one.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The type of the module.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) fn anchor(&self) -> (TypeId, usize) {
        self.anchor
    }

    /// The error also left `anchor`, which holds the previous anchor under `prefix`.
    pub(crate) fn extend(&mut self, prefix: &str, anchor: (TypeId, usize)) {
        if !prefix.is_empty() {
            let separator = if self.path.is_empty() { "" } else { "." };
            self.path = format!("{prefix}{separator}{}", self.path);
        }
        self.anchor = anchor;
    }

    /// The error also left `anchor`, which does not register the previous anchor.
    pub(crate) fn leave_unregistered(&mut self, anchor: (TypeId, usize)) {
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
