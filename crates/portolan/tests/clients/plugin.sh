#!/bin/sh
# Claude Code itself reads the plug-in that `portolan install claude-code --plugin` writes:
#   tests/clients/plugin.sh target/debug/portolan
# CLAUDE_CODE names another version of npm's package.
set -eu
program=$1
if ! command -v npm >/dev/null; then
    echo "NOT CHECKED: the plug-in for Claude Code, because there is no npm here"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && npm init -y >/dev/null && npm install --no-audit --no-fund --loglevel=error "@anthropic-ai/claude-code@${CLAUDE_CODE:-2.1.330}")
"$program" install claude-code --plugin "$scratch/plugin" --yes
export HOME="$scratch/home"
mkdir "$HOME"
for place in plugin plugin/plugins/portolan; do
    "$scratch/node_modules/.bin/claude" plugin validate --strict "$scratch/$place"
done
