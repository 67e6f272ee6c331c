//! Random numbers, and the members that a type should enumerate.

/// A splitmix generator, whose numbers do not depend on a library's version.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The members that a value registers in its owner.
#[derive(Clone)]
pub(crate) enum Shape {
    Parameter,
    Buffer { persistent: bool },
    Module(Tree),
    Nothing,
}

/// The members of a module in declaration order.
#[derive(Clone)]
pub(crate) struct Tree {
    pub(crate) kind: String,
    pub(crate) members: Vec<(String, Shape)>,
}

impl Tree {
    pub(crate) fn new(kind: &str, members: Vec<(String, Shape)>) -> Self {
        Self {
            kind: kind.to_owned(),
            members,
        }
    }

    pub(crate) fn numbered(kind: &str, shapes: impl IntoIterator<Item = Shape>) -> Shape {
        let members = shapes.into_iter().enumerate();
        let members = members.map(|(i, shape)| (i.to_string(), shape)).collect();
        Shape::Module(Self::new(kind, members))
    }

    pub(crate) fn size(&self) -> usize {
        let below = self.children().map(|(_, child)| child.size());
        self.members.len() + below.sum::<usize>() + 1
    }

    pub(crate) fn children(&self) -> impl Iterator<Item = (&str, &Self)> {
        self.members.iter().filter_map(|(key, shape)| match shape {
            Shape::Module(tree) => Some((key.as_str(), tree)),
            _ => None,
        })
    }

    pub(crate) fn own(&self, wanted: impl Fn(&Shape) -> bool) -> impl Iterator<Item = &str> {
        let wanted = self.members.iter().filter(move |member| wanted(&member.1));
        wanted.map(|(key, _)| key.as_str())
    }

    /// Every module with its path, each before its descendants.
    pub(crate) fn modules(&self, path: &str, found: &mut Vec<(String, String)>) {
        found.push((path.to_owned(), self.kind.clone()));
        for (key, child) in self.children() {
            child.modules(&join(path, key), found);
        }
    }

    /// The `wanted` members, a module's own before those of its descendants.
    pub(crate) fn leaves(&self, path: &str, wanted: fn(&Shape) -> bool, found: &mut Vec<String>) {
        found.extend(self.own(wanted).map(|key| join(path, key)));
        for (key, child) in self.children() {
            child.leaves(&join(path, key), wanted, found);
        }
    }

    /// The keys of the state dict: own parameters, own persistent buffers, then each child's.
    pub(crate) fn state(&self, path: &str, found: &mut Vec<String>) {
        let buffers = |shape: &_| matches!(shape, Shape::Buffer { persistent: true });
        found.extend(self.own(is_parameter).map(|key| join(path, key)));
        found.extend(self.own(buffers).map(|key| join(path, key)));
        for (key, child) in self.children() {
            child.state(&join(path, key), found);
        }
    }
}

/// The type name of a list or a map.
pub(crate) fn container(ty: &str, kind: &str) -> String {
    let of = if ty == "Parameter" { ty } else { "Module" };
    format!("{of}{kind}")
}

pub(crate) fn is_parameter(shape: &Shape) -> bool {
    matches!(shape, Shape::Parameter)
}

pub(crate) fn is_buffer(shape: &Shape) -> bool {
    matches!(shape, Shape::Buffer { .. })
}

pub(crate) fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}
