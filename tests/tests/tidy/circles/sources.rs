//! The modules of a crate, and the resolution of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::words::{closing, item_end, list_item, path_end, words};

/// Maps each file to the files that it imports.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// A module, with what its names resolve to.
#[derive(Default)]
struct Module {
    file: String,
    parent: usize,
    children: BTreeMap<String, usize>,
    /// A name may be imported both as a function and as a module.
    imports: BTreeMap<String, Vec<Vec<String>>>,
    /// With the file that contains it: a macro may be the crate's.
    defined: BTreeMap<String, String>,
    /// Imports for the module itself, and paths in its code.
    used: Vec<Vec<String>>,
    /// Re-exports, which the module may use as well.
    passed_on: Vec<(String, Vec<String>)>,
    words: BTreeSet<String>,
    /// Modules whose names are all re-exported.
    globs: Vec<Vec<String>>,
}

pub(crate) struct Sources {
    /// The first one is the crate.
    modules: Vec<Module>,
    pub(crate) files: BTreeSet<String>,
    root: PathBuf,
}

#[derive(Clone, PartialEq)]
enum Target {
    Module(usize),
    File(String),
}

impl Sources {
    pub(crate) fn read(root: &Path) -> Self {
        let mut sources = Self {
            modules: vec![Module::default()],
            files: BTreeSet::new(),
            root: root.to_owned(),
        };
        sources.read_file(0, "lib.rs", "");
        sources
    }

    /// Reads the file of a module; modules that it declares without a path are in `folder`.
    fn read_file(&mut self, module: usize, file: &str, folder: &str) {
        let text = std::fs::read_to_string(self.root.join(file)).unwrap();
        self.modules[module].file = file.to_owned();
        self.files.insert(file.to_owned());
        self.read_code(module, &words(&text), folder);
    }

    fn read_code(&mut self, module: usize, code: &[String], folder: &str) {
        let word = |i: usize| code.get(i).map_or("", String::as_str);
        let (mut i, mut is_public, mut path) = (0, false, None);
        while i < code.len() {
            match word(i) {
                "#" if word(i + 1) == "[" => {
                    let end = closing(code, i + 1);
                    let attribute = &code[i + 2..end];
                    let has = |word: &str| attribute.iter().any(|w| w == word);
                    if has("cfg") && has("test") {
                        i = item_end(code, end + 1);
                        continue;
                    }
                    if has("path") {
                        path = Some(attribute[2].trim_matches('"').to_owned());
                    }
                    i = end;
                }
                "pub" => {
                    is_public = true;
                    i = if word(i + 1) == "(" {
                        closing(code, i + 1)
                    } else {
                        i
                    };
                    i += 1;
                    continue;
                }
                "mod" if word(i + 2) == ";" => {
                    let name = word(i + 1);
                    let child = self.add(module, name);
                    let flat = format!("{folder}{name}.rs");
                    let inner = format!("{folder}{name}/");
                    match path.take() {
                        Some(path) => self.read_file(child, &format!("{folder}{path}"), &inner),
                        None if self.root.join(&flat).exists() => {
                            self.read_file(child, &flat, &inner);
                        }
                        None => self.read_file(child, &format!("{inner}mod.rs"), &inner),
                    }
                    i += 2;
                }
                "mod" if word(i + 2) == "{" => {
                    let (name, end) = (word(i + 1), closing(code, i + 2));
                    let child = self.add(module, name);
                    let inner = format!("{folder}{name}/");
                    self.read_code(child, &code[i + 3..end], &inner);
                    i = end;
                }
                "use" if word(i + 1) != "<" => {
                    let end = i + code[i..].iter().position(|w| w == ";").unwrap();
                    self.import(module, &code[i + 1..end], &[], is_public);
                    i = end;
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    self.define(module, word(i + 1), module);
                }
                "macro_rules" => {
                    let exports = i >= 3 && word(i - 2) == "macro_export";
                    self.define(if exports { 0 } else { module }, word(i + 2), module);
                }
                first => {
                    let end = path_end(code, i);
                    let path: Vec<_> = code[i..end].iter().step_by(2).cloned().collect();
                    self.modules[module].words.insert(first.to_owned());
                    if path.len() > 1 {
                        self.modules[module].used.push(path);
                        i = end - 1;
                    }
                }
            }
            is_public = false;
            i += 1;
        }
    }

    fn define(&mut self, module: usize, name: &str, at: usize) {
        let file = self.modules[at].file.clone();
        self.modules[module].defined.insert(name.to_owned(), file);
    }

    fn add(&mut self, parent: usize, name: &str) -> usize {
        let child = self.modules.len();
        let file = self.modules[parent].file.clone();
        self.modules.push(Module {
            file,
            parent,
            ..Module::default()
        });
        self.modules[parent].children.insert(name.to_owned(), child);
        child
    }

    /// Reads `a::b`, `a as b` or `a::{b, c}` after the path `before`.
    fn import(&mut self, module: usize, tree: &[String], before: &[String], is_public: bool) {
        let mut start = 0;
        while start < tree.len() {
            let end = start + list_item(&tree[start..]);
            let part = &tree[start..end];
            start = end + 1;
            let length = if part[0] == "{" { 0 } else { path_end(part, 0) };
            let mut path = before.to_vec();
            path.extend(part[..length].iter().step_by(2).cloned());
            let rest = &part[length..];
            if let Some(open) = rest.iter().position(|w| w == "{") {
                let inner = &rest[open + 1..closing(rest, open)];
                self.import(module, inner, &path, is_public);
                continue;
            }
            if rest.iter().any(|w| w == "*") {
                let is_local = ["crate", "self", "super"].contains(&&*path[0]);
                assert!(is_public || !is_local, "{}::* hides names", path.join("::"));
                self.modules[module].globs.push(path);
                continue;
            }
            if path.last().is_some_and(|w| w == "self") && path.len() > 1 {
                path.pop();
            }
            let renamed = rest.iter().position(|w| w == "as").map(|i| &rest[i + 1]);
            let name = renamed.unwrap_or(&path[path.len() - 1]).clone();
            let module = &mut self.modules[module];
            match is_public {
                true => module.passed_on.push((name.clone(), path.clone())),
                false => module.used.push(path.clone()),
            }
            module.imports.entry(name).or_default().push(path);
        }
    }

    /// The target of a path in a module; `None` if it is outside the crate.
    fn resolve(
        &self,
        module: usize,
        path: &[String],
        seen: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let mut at = Target::Module(module);
        for (i, name) in path.iter().enumerate() {
            let Target::Module(m) = at else {
                return Some(at);
            };
            at = match &**name {
                "crate" => Target::Module(0),
                "self" => at,
                "super" => Target::Module(self.modules[m].parent),
                _ => match self.look_up(m, name, i + 1 == path.len(), seen) {
                    Some(target) => target,
                    None if i == 0 => return None,
                    // Generated by a macro.
                    None => Target::File(self.modules[m].file.clone()),
                },
            };
        }
        Some(at)
    }

    fn look_up(
        &self,
        m: usize,
        name: &str,
        is_last: bool,
        seen: &mut Vec<(usize, String)>,
    ) -> Option<Target> {
        let module = &self.modules[m];
        let child = module
            .children
            .get(name)
            .map(|&child| Target::Module(child));
        if child.is_some() && !is_last {
            return child;
        }
        let key = (m, name.to_owned());
        if seen.contains(&key) {
            let file = module.defined.get(name);
            return file.map(|file| Target::File(file.clone())).or(child);
        }
        seen.push(key);
        let paths = module.imports.get(name).into_iter().flatten();
        let found: Vec<_> = paths
            .filter_map(|path| self.resolve(m, path, seen))
            .collect();
        let is_file = |target: &&Target| matches!(target, Target::File(_));
        let defined = module.defined.get(name).cloned().map(Target::File);
        let mut target = found
            .iter()
            .find(is_file)
            .or(found.first())
            .cloned()
            .or(defined)
            .or(child);
        for path in &module.globs {
            if let (None, Some(Target::Module(of))) = (&target, self.resolve(m, path, seen)) {
                target = self.look_up(of, name, is_last, seen);
            }
        }
        seen.pop();
        target
    }

    pub(crate) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (m, module) in self.modules.iter().enumerate() {
            let passed_on = module.passed_on.iter();
            let also_used = passed_on.filter(|(name, _)| module.words.contains(name));
            let paths = module.used.iter().chain(also_used.map(|(_, path)| path));
            for path in paths {
                let target = self.resolve(m, path, &mut Vec::new());
                if let Some(Target::File(to)) =
                    target.filter(|to| *to != Target::File(module.file.clone()))
                {
                    imports.entry(module.file.clone()).or_default().insert(to);
                }
            }
        }
        imports
    }
}
