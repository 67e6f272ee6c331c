//! Finds the name that a crate gives to a package that it depends on.

use std::path::Path;

use crate::manifest::{Value, values};

/// The tables of dependencies, also below `target.<platform>`: unconditional ones come first.
const TABLES: [&str; 2] = ["dependencies", "dev-dependencies"];

/// The name by which the crate in `folder` refers to the first of `packages` that it depends on, or to
/// itself if it is one of them.
pub(crate) fn find(packages: &[&str], folder: &Path) -> Option<String> {
    let manifest = read(folder)?;
    let inherited = |name: &str| inherited(name, folder, &manifest);
    packages
        .iter()
        .find_map(|package| name_of(package, &manifest, &inherited))
        .map(|name| name.replace('-', "_"))
}

/// The name of one package. `inherited` returns the package behind a name that the workspace defines.
fn name_of(
    package: &str,
    manifest: &[Value],
    inherited: &dyn Fn(&str) -> String,
) -> Option<String> {
    // A crate, its examples and its tests use its own name.
    if value_of(manifest, &["package", "name"]) == Some(package) {
        return Some(package.to_owned());
    }
    TABLES.iter().find_map(|table| {
        manifest.iter().find_map(|(keys, _)| {
            let at = dependency(keys, table)?;
            let name = at.last()?;
            let behind = match value_below(manifest, at, "workspace") {
                Some("true") => inherited(name),
                _ => value_below(manifest, at, "package")
                    .unwrap_or(name)
                    .to_owned(),
            };
            (behind == package).then(|| name.clone())
        })
    })
}

/// The keys of a dependency, if these are one; the last is its name.
fn dependency<'a>(keys: &'a [String], table: &str) -> Option<&'a [String]> {
    match keys {
        [first, ..] if first == table => keys.get(..2),
        [first, _, third, ..] if first == "target" && third == table => keys.get(..4),
        _ => None,
    }
}

/// The package behind a name that the crate inherits from its workspace.
fn inherited(name: &str, folder: &Path, manifest: &[Value]) -> String {
    let told = value_of(manifest, &["package", "workspace"]).map(|root| folder.join(root));
    // The crate may be the root itself.
    told.iter()
        .map(|root| root.as_path())
        .chain(folder.ancestors())
        .find_map(|folder| package_in_root(name, &read(folder)?))
        .unwrap_or_else(|| name.to_owned())
}

/// The package behind a name in the workspace's own dependencies.
fn package_in_root(name: &str, root: &[Value]) -> Option<String> {
    let at = ["workspace", "dependencies", name].map(str::to_owned);
    let is_there = root.iter().any(|(keys, _)| keys.starts_with(&at));
    let package = value_below(root, &at, "package").unwrap_or(name);
    is_there.then(|| package.to_owned())
}

fn value_of<'a>(manifest: &'a [Value], keys: &[&str]) -> Option<&'a str> {
    let found = manifest.iter().find(|(its, _)| its == keys);
    found.map(|(_, value)| value.as_str())
}

/// The value of a key of the table at `at`.
fn value_below<'a>(manifest: &'a [Value], at: &[String], key: &str) -> Option<&'a str> {
    let found = manifest.iter().find(
        |(keys, _)| matches!(keys.split_last(), Some((last, rest)) if last == key && rest == at),
    );
    found.map(|(_, value)| value.as_str())
}

fn read(folder: &Path) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    Some(values(&text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::PathBuf;

    use super::*;

    /// Folders with manifests, which are removed after the test.
    struct Workspace(PathBuf);

    impl Workspace {
        fn new(test: &str, manifests: &[(&str, &str)]) -> Self {
            let name = format!("dependency-{test}-{}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for (folder, text) in manifests {
                std::fs::create_dir_all(root.join(folder)).unwrap();
                std::fs::write(root.join(folder).join("Cargo.toml"), text).unwrap();
            }
            Self(root)
        }

        fn find(&self, folder: &str) -> Option<String> {
            find(&["module-nn", "module-core"], &self.0.join(folder))
        }
    }

    impl Drop for Workspace {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// The result for one manifest.
    #[track_caller]
    fn check(manifest: &str, expected: Option<&str>) {
        let place = std::panic::Location::caller().line();
        let workspace = Workspace::new(&format!("one-{place}"), &[("", manifest)]);
        assert_eq!(workspace.find("").as_deref(), expected, "{manifest}");
    }

    #[test]
    fn a_dependency_is_found_under_its_name() {
        check("[dependencies]\nmodule-nn = \"0.1\"", Some("module_nn"));
        check(
            "[dependencies]\nmodule-core = { path = \"x\" }",
            Some("module_core"),
        );
        check(
            "[dependencies.module-nn]\nversion = \"0.1\" # new",
            Some("module_nn"),
        );
        check(
            "[dependencies]\n\"module-nn\".git = 'https://x'",
            Some("module_nn"),
        );
        check("dependencies = { module-nn = \"0.1\" }", Some("module_nn"));
    }

    #[test]
    fn a_renamed_dependency_is_found_under_its_new_name() {
        check(
            "[dependencies]\nnn = { package = \"module-nn\", version = \"0.1\" }",
            Some("nn"),
        );
        check(
            "[dependencies]\nnn = { version = '0.1', package = 'module-nn' }",
            Some("nn"),
        );
        check(
            "[dependencies.my-nn]\nversion = \"0.1\"\npackage = \"module-nn\"",
            Some("my_nn"),
        );
        check(
            "[dependencies]\nnn.package = \"module-nn\"\nnn.version = \"0.1\"",
            Some("nn"),
        );
        // The name then belongs to another package.
        check(
            "[dependencies]\nmodule-nn = { package = \"other\", version = \"1\" }",
            None,
        );
    }

    #[test]
    fn dependencies_of_tests_and_of_platforms_count_and_those_of_build_scripts_do_not() {
        check(
            "[dev-dependencies]\nnn = { package = \"module-nn\", path = \"x\" }",
            Some("nn"),
        );
        check(
            "[target.'cfg(unix)'.dependencies]\nnn = { package = \"module-nn\", path = \"x\" }",
            Some("nn"),
        );
        check(
            "[target.\"cfg(target_os = \\\"linux\\\")\".dev-dependencies.nn]\npackage = \"module-nn\"",
            Some("nn"),
        );
        check(
            "[target.x86_64-unknown-linux-gnu.dependencies]\nmodule-nn = \"0.1\"",
            Some("module_nn"),
        );
        check("[build-dependencies]\nmodule-nn = \"0.1\"", None);
        // Dependencies of every build come before dev-dependencies.
        let both = "[dev-dependencies]\nb = { package = \"module-nn\" }\n[dependencies]\na = { package = \"module-nn\" }";
        check(both, Some("a"));
    }

    #[test]
    fn the_crate_that_most_users_have_goes_before_the_one_below() {
        check(
            "[dependencies]\nmodule-core = \"0.1\"\nmodule-nn = \"0.1\"",
            Some("module_nn"),
        );
        check(
            "[dependencies]\nmodule-core = \"0.1\"\n[dev-dependencies]\nnn = { package = \"module-nn\" }",
            Some("nn"),
        );
    }

    #[test]
    fn the_crates_find_themselves() {
        check(
            "[package]\nname = \"module-nn\"\n[dependencies]\nmodule-core = \"0.1\"",
            Some("module_nn"),
        );
        check(
            "[package]\nname = \"module-core\"\n[dev-dependencies]\nme = { package = \"module-core\", path = \".\" }",
            Some("module_core"),
        );
    }

    #[test]
    fn what_comments_and_texts_say_is_no_dependency() {
        check(
            "[package]\nname = \"x\"\ndescription = \"\"\"\n[dependencies]\nmodule-nn = \"0.1\"\n\"\"\"\n[dependencies]\n# module-nn = \"0.1\"\n",
            None,
        );
        check(
            "[dependencies]\nother = \"1\" # module-nn = \"0.1\"\n[features]\nmodule-nn = []\n",
            None,
        );
        check("[workspace.dependencies]\nmodule-nn = \"0.1\"", None);
    }

    #[test]
    fn a_folder_without_a_manifest_has_nothing() {
        assert_eq!(find(&["module-nn"], Path::new("no such folder")), None);
    }

    #[test]
    fn the_workspace_resolves_inherited_dependencies() {
        let root = "[workspace]\nmembers = [\"a\"]\n[workspace.dependencies]\nnn = { package = \"module-nn\", version = \"0.1\" }\nmodule-core = \"0.1\"";
        let workspace = Workspace::new(
            "inherited",
            &[
                ("", root),
                ("a", "[dependencies]\nnn.workspace = true"),
                (
                    "deep/b",
                    "[dependencies]\nnn = { workspace = true, features = [\"linalg\"] }",
                ),
                ("c", "[dev-dependencies.module-core]\nworkspace = true"),
                ("d", "[dependencies]\nmodule-nn = { workspace = true }"),
                ("e", "[dependencies]\nother = { workspace = true }"),
                // A root of its own, which the workspace of an outer folder may exclude.
                (
                    "f",
                    "[workspace.dependencies]\nx = { package = \"module-nn\" }\n[dependencies]\nx = { workspace = true }",
                ),
                (
                    "f/g",
                    "[package]\nworkspace = \"../..\"\n[dependencies]\nnn.workspace = true",
                ),
            ],
        );
        assert_eq!(workspace.find("a").as_deref(), Some("nn"));
        assert_eq!(workspace.find("deep/b").as_deref(), Some("nn"));
        assert_eq!(workspace.find("c").as_deref(), Some("module_core"));
        // The root does not specify it, so the name is the package's.
        assert_eq!(workspace.find("d").as_deref(), Some("module_nn"));
        assert_eq!(workspace.find("e"), None);
        assert_eq!(workspace.find("f").as_deref(), Some("x"));
        assert_eq!(workspace.find("f/g").as_deref(), Some("nn"));
    }
}
