//! What the guide for embedders shows is what the crates' own examples run.

use std::path::Path;

/// The examples of a source's documentation, as they are read: without the lines that rustdoc hides.
fn examples(source: &str) -> String {
    let lines = source.lines().filter_map(|line| line.trim_start().strip_prefix("//!"));
    let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).filter(|line| !line.starts_with("# "));
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn every_rust_example_of_the_guide_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect(file);
    let run = ["portolan-core/src/lib.rs", "portolan-runtime/src/lib.rs", "portolan-runtime/src/graphs.rs"];
    let run: String = run.iter().map(|file| examples(&read(&format!("crates/{file}")))).collect();
    let guide = read("docs/embedding.md");
    let shown: Vec<&str> =
        guide.split("```rust\n").skip(1).map(|rest| rest.split("```").next().expect("a block")).collect();
    assert_eq!(shown.len(), 3);
    for example in shown {
        assert!(run.contains(example), "no front page runs this:\n{example}");
    }
}
