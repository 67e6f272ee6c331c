//! `Cargo.toml`, as far as the checks need it: tables of `key = value` lines.

use crate::files::{File, files};

pub(crate) struct Manifest {
    pub(crate) folder: String,
    text: &'static str,
}

impl Manifest {
    fn new(file: &'static File) -> Self {
        let folder = file.path.trim_end_matches("Cargo.toml");
        Self {
            folder: folder.trim_end_matches('/').to_owned(),
            text: &file.text,
        }
    }

    pub(crate) fn read(folder: &str) -> Self {
        let path = format!("{folder}/Cargo.toml");
        let path = path.trim_start_matches('/');
        let file = files().iter().find(|file| file.path == path);
        Self::new(file.unwrap_or_else(|| panic!("there is no {path}")))
    }

    /// Those of the workspace's packages that are published.
    pub(crate) fn published() -> Vec<Self> {
        let members = Self::read("").value("workspace", "members").unwrap();
        let quoted = members.split('"').skip(1).step_by(2).map(Self::read);
        let published: Vec<_> = quoted
            .filter(|manifest| manifest.value("package", "publish") != Some("false"))
            .collect();
        assert!(published.len() >= 4);
        published
    }

    /// The lines of a table, without comments and blank lines.
    fn table(&self, name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let head = format!("[{name}]");
        let lines = self.text.lines().skip_while(move |line| *line != head);
        lines
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split_once(" = "))
    }

    pub(crate) fn value(&self, table: &str, key: &str) -> Option<&'static str> {
        let found = self.table(table).find(|(name, _)| *name == key);
        found.map(|(_, value)| value.trim_matches('"'))
    }

    /// Whether the key has a value, here or in the workspace.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.value("package", key).is_some()
            || self.value("package", &format!("{key}.workspace")).is_some()
    }

    pub(crate) fn name(&self) -> &'static str {
        self.value("package", "name").unwrap()
    }

    pub(crate) fn features(&self) -> impl Iterator<Item = &'static str> {
        self.table("features").map(|(name, _)| name)
    }

    /// The names of all dependencies.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = &'static str> {
        ["dependencies", "dev-dependencies", "build-dependencies"]
            .into_iter()
            .flat_map(|table| self.table(table))
            .map(|(name, _)| name.split('.').next().unwrap_or(name))
    }
}
