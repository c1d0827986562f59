//! The workflows of the catalogue, each as its file.

use serde_json::Value;

/// Every file, by its path, without its checks: what holds of the ways through it holds whoever says that work is done.
#[expect(clippy::disallowed_methods, reason = "the catalogue's files are the test's input")]
pub(crate) fn files() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../portolan-runtime/catalog/workflows");
    let entries = std::fs::read_dir(folder).expect("the catalogue is beside the core");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).expect("it can be read");
    let mut files: Vec<Value> =
        paths.iter().map(|path| serde_json::from_str(&read(path)).expect("it is JSON")).collect();
    let nodes = files.iter_mut().filter_map(|file| file["nodes"].as_object_mut()).flat_map(|nodes| nodes.values_mut());
    nodes.filter_map(Value::as_object_mut).for_each(|node| {
        node.remove("accept");
    });
    assert!(files.len() >= 16, "the catalogue has its 16 workflows");
    files
}
