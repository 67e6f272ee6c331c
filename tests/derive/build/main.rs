//! Generates types from fixed seeds, independently computes the members that they should enumerate, and writes both as the
//! program that `tests/accepted/random_structs.rs` compiles and runs.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod before;
mod tree;
mod values;

use std::fmt::Write as _;

use before::BEFORE;
use tree::{Draw, Shape, Tree, container, is_buffer, is_parameter};

/// Each seed gives types that contain each other; types from different seeds do not.
const SEEDS: [u64; 4] = [1, 2, 3, 4];
const TYPES_PER_SEED: usize = 24;
/// Larger trees are not nested in others, so that sizes do not multiply.
const LARGEST_CHILD: usize = 24;

/// A type, an expression that constructs a value of it, and the members that the value registers.
#[derive(Clone)]
struct Value {
    ty: String,
    make: String,
    shape: Shape,
}

impl Value {
    fn new(ty: impl Into<String>, make: impl Into<String>, shape: Shape) -> Self {
        Self {
            ty: ty.into(),
            make: make.into(),
            shape,
        }
    }
}

/// One field: the code before its name, its expected description, and its members.
struct Field {
    attributes: String,
    name: String,
    key: String,
    value: Value,
    members: Vec<(String, Shape)>,
    /// The keys of its members, including those that are absent from some values.
    keys: Vec<String>,
}

/// The types generated so far, and the program that they form.
struct Program {
    draw: Draw,
    prefix: char,
    /// Types that can be a child.
    types: Vec<Value>,
    /// Those of them whose members can be flattened into another type.
    structs: Vec<(Value, Tree, Vec<String>)>,
    definitions: String,
    checks: String,
    count: usize,
}

impl Program {
    fn fields(&mut self, named: bool, most: usize) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        let mut taken: Vec<String> = Vec::new();
        let mut training = false;
        for i in 0..=self.draw.below(most) {
            let name = if named {
                ["weight", "inner", "r#type", "x"].map(|name| format!("{name}{i}"))
                    [self.draw.below(4)]
                .replace("r#type0", "r#type")
            } else {
                i.to_string()
            };
            let own = name.trim_start_matches("r#").to_owned();
            let name = if own == "type" {
                "r#type".to_owned()
            } else {
                own.clone()
            };
            let mut field = Field {
                attributes: String::new(),
                name,
                key: own,
                value: Value::new("String", "String::new()", Shape::Nothing),
                members: Vec::new(),
                keys: Vec::new(),
            };
            if self.draw.chance(8) {
                field.attributes = "#[module(skip)] ".to_owned();
                field.key.clear();
            } else if !training && self.draw.chance(10) {
                training = true;
                field.value = Value::new("Training", "Training::new()", Shape::Nothing);
            } else if let Some((value, tree, keys)) = self.free_struct(&taken) {
                taken.extend(keys.clone());
                field.keys = keys;
                field.attributes = "#[module(flatten)] ".to_owned();
                field.key.clear();
                field.value = value;
                field.members = tree.members;
            } else {
                if self.draw.chance(15) {
                    field.key = format!("renamed_{i}");
                    field.attributes = format!("#[module(rename = {:?})] ", field.key);
                }
                if taken.contains(&field.key) {
                    field.key = format!("free_{i}_{}", taken.len());
                    field.attributes = format!("#[module(rename = {:?})] ", field.key);
                }
                taken.push(field.key.clone());
                field.keys.push(field.key.clone());
                field.value = self.value();
                if !matches!(field.value.shape, Shape::Nothing) {
                    let member = (field.key.clone(), field.value.shape.clone());
                    field.members.push(member);
                }
            }
            fields.push(field);
        }
        fields
    }

    /// Occasionally, a type whose keys are all unused.
    fn free_struct(&mut self, taken: &[String]) -> Option<(Value, Tree, Vec<String>)> {
        if self.structs.is_empty() || !self.draw.chance(12) {
            return None;
        }
        let index = self.draw.below(self.structs.len());
        let found = self.structs[index].clone();
        let free = found.2.iter().all(|key| !taken.contains(key));
        free.then_some(found)
    }

    /// Generates one type and writes its definition, a function that constructs it, and its check.
    fn add(&mut self) {
        let name = format!("{}{}", self.prefix, self.count);
        self.count += 1;
        let (ty, make, shape, described) = match self.draw.below(10) {
            0..=2 => self.structure(&name, true),
            3 | 4 => self.structure(&name, false),
            5 | 6 => self.generic(&name),
            _ => self.enumeration(&name),
        };
        // On its own, a type that is not a module shows its value as member `0`.
        let root = match &shape {
            Shape::Module(tree) => tree.clone(),
            Shape::Nothing => Tree::new(&name, Vec::new()),
            leaf => Tree::new(&name, vec![("0".to_owned(), leaf.clone())]),
        };
        let function = format!("make_{}", name.to_lowercase());
        writeln!(self.definitions, "fn {function}() -> {ty} {{ {make} }}\n").unwrap();
        self.check(&name, &ty, &function, &root, &described);
        if root.size() <= LARGEST_CHILD && !matches!(shape, Shape::Nothing) {
            self.types
                .push(Value::new(ty, format!("{function}()"), shape));
        }
    }

    fn check(&mut self, name: &str, ty: &str, function: &str, root: &Tree, described: &[String]) {
        let (mut parameters, mut buffers) = (Vec::new(), Vec::new());
        let (mut modules, mut state) = (Vec::new(), Vec::new());
        root.leaves("", is_parameter, &mut parameters);
        root.leaves("", is_buffer, &mut buffers);
        root.state("", &mut state);
        root.modules("", &mut modules);
        let modules = modules.iter().map(|(path, kind)| format!("{path}: {kind}"));
        let modules: Vec<_> = modules.collect();
        writeln!(
            self.checks,
            "    check(&mut wrong, {name:?}, &{function}(), <{ty} as Describe>::FIELDS, \
             [&{parameters:?}, &{buffers:?}, &{state:?}, &{modules:?}, &{described:?}]);"
        )
        .unwrap();
    }

    fn structure(&mut self, name: &str, named: bool) -> (String, String, Shape, Vec<String>) {
        let mut fields = self.fields(named, 8);
        // A module occupies memory, but an array of empty arrays does not.
        let i = fields.len();
        let key = if named {
            "last".to_owned()
        } else {
            i.to_string()
        };
        let renamed = fields.iter().any(|field| field.keys.contains(&key));
        let free = if renamed {
            "at_last".to_owned()
        } else {
            key.clone()
        };
        fields.push(Field {
            attributes: if renamed {
                "#[module(rename = \"at_last\")] ".to_owned()
            } else {
                String::new()
            },
            name: key,
            key: free.clone(),
            value: Self::parameter(),
            members: vec![(free.clone(), Shape::Parameter)],
            keys: vec![free],
        });
        let (types, values) = lists(&fields, named);
        let end = if named { "" } else { ";" };
        writeln!(
            self.definitions,
            "#[derive(Module)]\nstruct {name}{types}{end}"
        )
        .unwrap();
        let described = fields.iter().map(|field| described("", field)).collect();
        let keys = fields.iter().flat_map(|field| field.keys.clone()).collect();
        let members = fields.into_iter().flat_map(|field| field.members).collect();
        let tree = Tree::new(name, members);
        let value = Value::new(
            name,
            format!("make_{}()", name.to_lowercase()),
            Shape::Nothing,
        );
        if tree.size() <= LARGEST_CHILD {
            self.structs.push((value, tree.clone(), keys));
        }
        (
            name.to_owned(),
            format!("{name} {values}"),
            Shape::Module(tree),
            described,
        )
    }

    fn generic(&mut self, name: &str) -> (String, String, Shape, Vec<String>) {
        let (first, second) = (self.member(1), self.member(1));
        writeln!(
            self.definitions,
            "#[derive(Module)]\nstruct {name}<A, B, const N: usize = 2> {{ \
             one: A, many: Vec<B>, #[module(rename = \"pair\")] two: (A, B), sizes: [usize; N], weight: Parameter }}"
        )
        .unwrap();
        let (a, b) = (first.make, second.make);
        let many = container(&second.ty, "List");
        let list = |kind: &str, shapes: &[&Shape]| {
            Tree::numbered(kind, shapes.iter().map(|shape| (*shape).clone()))
        };
        let (first_shape, second_shape) = (first.shape, second.shape);
        let members = [
            ("one", first_shape.clone()),
            ("many", list(&many, &[&second_shape, &second_shape])),
            ("pair", list("ModuleList", &[&first_shape, &second_shape])),
            ("weight", Shape::Parameter),
        ];
        let members = members.map(|(key, shape)| (key.to_owned(), shape)).to_vec();
        let described = [
            "one=one",
            "many=many",
            "two=pair",
            "sizes=sizes",
            "weight=weight",
        ];
        (
            format!("{name}<{}, {}>", first.ty, second.ty),
            format!(
                "{name} {{ one: {a}, many: vec![{b}, {b}], two: ({a}, {b}), sizes: [1, 2], weight: parameter() }}"
            ),
            Shape::Module(Tree::new(name, members)),
            described.map(str::to_owned).to_vec(),
        )
    }

    /// An enum with a variant of each form, one of which is active.
    fn enumeration(&mut self, name: &str) -> (String, String, Shape, Vec<String>) {
        let payload = self.member(1);
        let (named, unnamed) = (self.fields(true, 4), self.fields(false, 4));
        // One unnamed field would make the variant transparent.
        let unnamed: Vec<_> = if unnamed.len() == 1 {
            Vec::new()
        } else {
            unnamed
        };
        let (named_types, named_values) = lists(&named, true);
        let (unnamed_types, unnamed_values) = lists(&unnamed, false);
        writeln!(
            self.definitions,
            "#[derive(Module)]\nenum {name} {{ One({}), Named {named_types}, Many{unnamed_types}, None }}",
            payload.ty
        )
        .unwrap();
        let mut fields = vec!["One.0=".to_owned()];
        fields.extend(named.iter().map(|field| described("Named.", field)));
        fields.extend(unnamed.iter().map(|field| described("Many.", field)));
        let tree = |fields: Vec<Field>| {
            let members = fields.into_iter().flat_map(|field| field.members).collect();
            Shape::Module(Tree::new(name, members))
        };
        let (make, shape) = match self.draw.below(5) {
            0 | 1 => (format!("One({})", payload.make), payload.shape),
            2 => (format!("Named {named_values}"), tree(named)),
            3 => (format!("Many {unnamed_values}"), tree(unnamed)),
            _ => ("None".to_owned(), tree(Vec::new())),
        };
        (name.to_owned(), format!("{name}::{make}"), shape, fields)
    }
}

/// The expected `FIELDS` entry of a field, in the program's notation.
fn described(variant: &str, field: &Field) -> String {
    let name = field.name.trim_start_matches("r#");
    format!("{variant}{name}={}", field.key)
}

/// The fields with their types, and with their values.
fn lists(fields: &[Field], named: bool) -> (String, String) {
    let list = |part: fn(&Field, &str) -> String| {
        let parts = fields.iter().map(|field| {
            let name = if named {
                format!("{}: ", field.name)
            } else {
                String::new()
            };
            part(field, &name)
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        if named {
            format!("{{ {parts} }}")
        } else {
            format!("({parts})")
        }
    };
    (
        list(|field, name| format!("{}{name}{}", field.attributes, field.value.ty)),
        list(|field, name| format!("{name}{}", field.value.make)),
    )
}

fn main() {
    let (mut text, mut checks) = (BEFORE.to_owned(), String::new());
    let mut count = 0;
    for (seed, prefix) in SEEDS.into_iter().zip('A'..) {
        let mut program = Program {
            draw: Draw(seed),
            prefix,
            types: Vec::new(),
            structs: Vec::new(),
            definitions: String::new(),
            checks: String::new(),
            count: 0,
        };
        (0..TYPES_PER_SEED).for_each(|_| program.add());
        text += &program.definitions;
        checks += &program.checks;
        count += program.count;
    }
    assert!(count >= 60);
    for drawn in [
        "(flatten)",
        "(skip)",
        "(rename",
        "Training",
        "scratch()",
        "Arc<",
        "IndexMap<",
        "::One(",
        "::Named",
    ] {
        assert!(
            text.matches(drawn).count() >= 3,
            "the seeds draw too few of {drawn}"
        );
    }
    write!(
        text,
        "#[test]\nfn random_structs() {{\n    let mut wrong = Vec::new();\n{checks}    \
         assert!(wrong.is_empty(), \"{{}}\", wrong.join(\"\\n\\n\"));\n}}\n"
    )
    .unwrap();
    let folder = std::env::var_os("OUT_DIR").expect("the folder that cargo gives");
    std::fs::write(
        std::path::Path::new(&folder).join("random_structs.rs"),
        text,
    )
    .unwrap();
    println!("cargo::rerun-if-changed=build");
}
