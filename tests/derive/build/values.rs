//! The values of fields.

use super::*;

impl Program {
    pub(crate) fn parameter() -> Value {
        Value::new("Parameter", "parameter()", Shape::Parameter)
    }

    pub(crate) fn linear() -> Value {
        let leaves = ["weight", "bias"].map(|key| (key.to_owned(), Shape::Parameter));
        let tree = Tree::new("Linear", leaves.to_vec());
        Value::new("Linear", "linear()", Shape::Module(tree))
    }

    pub(crate) fn identity() -> Value {
        let tree = Tree::new("Identity", Vec::new());
        Value::new("Identity", "Identity::new()", Shape::Module(tree))
    }

    pub(crate) fn child(&mut self) -> Value {
        match self.types.len() {
            0 => Self::linear(),
            n => {
                let index = self.draw.below(n);
                self.types[index].clone()
            }
        }
    }

    /// The possible elements of a list, an array, a tuple, a map and a type parameter.
    pub(crate) fn member(&mut self, depth: usize) -> Value {
        let choice = self.draw.below(if depth == 0 { 5 } else { 13 });
        match choice {
            0 => Self::parameter(),
            1 => Self::linear(),
            2 => Self::identity(),
            3 | 4 => self.child(),
            5 | 6 => self.repeated(depth, "Vec", 3),
            7 => self.repeated(depth, "[]", 2),
            8 => {
                let parts = [self.member(depth - 1), self.member(depth - 1)];
                let [a, b] = &parts;
                Value::new(
                    format!("({}, {})", a.ty, b.ty),
                    format!("({}, {})", a.make, b.make),
                    Tree::numbered("ModuleList", parts.iter().map(|part| part.shape.clone())),
                )
            }
            9 => {
                let item = self.member(depth - 1);
                let keys = ["zeta", "alpha", "7"].map(str::to_owned);
                let keys = &keys[..=self.draw.below(3)];
                let items = keys
                    .iter()
                    .map(|key| format!("({key:?}.to_owned(), {})", item.make));
                let items: Vec<_> = items.collect();
                let members = keys.iter().map(|key| (key.clone(), item.shape.clone()));
                Value::new(
                    format!("IndexMap<String, {}>", item.ty),
                    format!("IndexMap::from_iter([{}])", items.join(", ")),
                    Shape::Module(Tree::new(&container(&item.ty, "Dict"), members.collect())),
                )
            }
            10 | 11 => {
                let pointer = if choice == 10 { "Box" } else { "Arc" };
                let child = self.child();
                Value::new(
                    format!("{pointer}<{}>", child.ty),
                    format!("{pointer}::new({})", child.make),
                    child.shape,
                )
            }
            _ => {
                let layers = [Self::linear(), Self::identity(), Self::linear()];
                let layers = &layers[..self.draw.below(4)];
                let pushes = layers.iter().map(|layer| format!(".push({})", layer.make));
                Value::new(
                    "Sequential",
                    format!("Sequential::new(){}", pushes.collect::<String>()),
                    Tree::numbered("Sequential", layers.iter().map(|layer| layer.shape.clone())),
                )
            }
        }
    }

    /// A vector, which may be empty, or an array, which may not be.
    pub(crate) fn repeated(&mut self, depth: usize, kind: &str, most: usize) -> Value {
        let item = self.member(depth - 1);
        let vector = kind == "Vec";
        let n = self.draw.below(most) + usize::from(!vector);
        let items = vec![item.make.clone(); n].join(", ");
        let kind = container(&item.ty, "List");
        let shape = Tree::numbered(&kind, vec![item.shape.clone(); n]);
        match vector {
            true => Value::new(format!("Vec<{}>", item.ty), format!("vec![{items}]"), shape),
            false => Value::new(format!("[{}; {n}]", item.ty), format!("[{items}]"), shape),
        }
    }

    /// The value of a field that is neither skipped nor flattened.
    pub(crate) fn value(&mut self) -> Value {
        match self.draw.below(12) {
            0..=2 => Self::parameter(),
            3 => match self.draw.chance(50) {
                true => Value::new("Bias", "Maybe::Present(parameter())", Shape::Parameter),
                false => Value::new("Maybe<Parameter>", "Maybe::Absent", Shape::Nothing),
            },
            4 => match self.draw.chance(50) {
                true => Value::new("Buffer", "buffer()", Shape::Buffer { persistent: true }),
                false => Value::new("Buffer", "scratch()", Shape::Buffer { persistent: false }),
            },
            5 => {
                let constants = [("usize", "3"), ("f64", "1e-5"), ("[usize; 2]", "[1, 2]")];
                let (ty, make) = constants[self.draw.below(constants.len())];
                Value::new(ty, make, Shape::Nothing)
            }
            _ => self.member(2),
        }
    }
}
