//! The workflows of the catalogue, each as its file.

use serde_json::Value;

/// Every file, by its path.
#[expect(clippy::disallowed_methods, reason = "the catalogue's files are the test's input")]
pub(crate) fn files() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../portolan-runtime/catalog/workflows");
    let entries = std::fs::read_dir(folder).expect("the catalogue is beside the core");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).expect("it can be read");
    let files: Vec<Value> = paths.iter().map(|path| serde_json::from_str(&read(path)).expect("it is JSON")).collect();
    assert!(files.len() >= 16, "the catalogue has its 16 workflows");
    files
}
