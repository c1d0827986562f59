//! The plug-in for Claude Code, as a marketplace with this one plug-in.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::hosts;
use crate::hook::Host;

const DESCRIPTION: &str = "Gates that an agent cannot get around, and workflows that it is led through";

/// Returns the files with their paths in the folder.
pub(crate) fn files() -> Vec<(&'static str, String)> {
    let author = json!({ "name": "The Portolan authors" });
    let version = env!("CARGO_PKG_VERSION");
    let marketplace = json!({
        "name": "portolan",
        "owner": author,
        "metadata": { "description": DESCRIPTION, "version": version },
        "plugins": [{
            "name": "portolan",
            "source": "./plugins/portolan",
            "description": DESCRIPTION,
            "version": version,
            "category": "development",
        }],
    });
    let plugin = json!({
        "name": "portolan",
        "version": version,
        "description": DESCRIPTION,
        "author": author,
        "license": env!("CARGO_PKG_LICENSE"),
        "keywords": ["workflow", "guardrails", "hooks", "mcp"],
    });
    // A plug-in is copied to other machines, where the program is only found by the search path.
    let mut hooks = json!({});
    for part in hosts::hooks(Host::ClaudeCode, "portolan") {
        hooks[part.within[1].as_str()] = Value::Array(vec![part.value]);
    }
    let hooks = json!({ "description": "Each tool call is checked before it runs", "hooks": hooks });
    let server = json!({ "mcpServers": { "portolan": { "command": "portolan",
        "args": ["serve", "--project", "${CLAUDE_PROJECT_DIR}"] } } });
    let text = |value: &Value| format!("{value:#}\n");
    vec![
        (".claude-plugin/marketplace.json", text(&marketplace)),
        ("plugins/portolan/.claude-plugin/plugin.json", text(&plugin)),
        ("plugins/portolan/hooks/hooks.json", text(&hooks)),
        ("plugins/portolan/.mcp.json", text(&server)),
        ("plugins/portolan/skills/portolan/SKILL.md", include_str!("templates/plugin/SKILL.md").to_owned()),
        ("plugins/portolan/README.md", include_str!("templates/plugin/README.md").to_owned()),
    ]
}

/// Writes the files into a folder, which must be new, empty, or hold an earlier plug-in of ours.
pub(crate) fn write(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let manifest = folder.join(".claude-plugin/marketplace.json");
    let is_ours = || -> Option<bool> {
        let text = std::fs::read_to_string(&manifest).ok()?;
        Some(serde_json::from_str::<Value>(&text).ok()?["name"] == "portolan")
    };
    let taken = folder.is_dir() && std::fs::read_dir(folder)?.next().is_some();
    ensure!(
        !taken || is_ours() == Some(true),
        "`{}` contains other files: name a folder that is new or empty",
        folder.display()
    );
    let mut written = Vec::new();
    for (name, text) in files() {
        let path = folder.join(name);
        super::files::write(&path, &text, false).with_context(|| format!("`{}` cannot be written", path.display()))?;
        written.push(path);
    }
    Ok(written)
}
