//! Translates well-known tools of MCP servers into the tools of a host, a shell command or an edit, so that the same
//! guards judge them. Unknown tools are left to the rules of the step, and to the project's own guards.

use portolan_gates::Tool;
use portolan_gates::guards::ON_FORGE;
use serde_json::Value;

use super::fields::{Input, get, is_on, paths, text, texts, words};
use super::tools::{edited, quoted};

/// A kind of tool: the suffixes of its names, and the effect of a call. `None` if the call changes nothing.
struct Shape {
    names: &'static [&'static str],
    deed: fn(name: &str, input: &Input) -> Option<Tool>,
}

const SHAPES: &[Shape] = &[
    Shape {
        names: &[
            "merge_pull_request",
            "merge_pr",
            "enable_pr_auto_merge",
            "enable_auto_merge",
            "enable_pull_request_auto_merge",
        ],
        deed: merges,
    },
    Shape { names: &["merge_merge_request", "accept_merge_request"], deed: merges },
    Shape { names: &["approve_merge_request", "approve_pull_request"], deed: |_, _| runs(&["gh pr review --approve"]) },
    Shape { names: &["pull_request_review", "review_write"], deed: reviews },
    Shape { names: &["submit_pending_pull_request_review"], deed: reviews },
    Shape { names: &["update_pull_request_branch"], deed: |_, _| asked("pulls/update-branch") },
    Shape { names: &["push_files", "commit_files", "create_commit"], deed: pushes },
    Shape { names: &["create_branch"], deed: creates },
    Shape { names: &["create_ref", "update_ref", "delete_ref", "delete_branch"], deed: refers },
    Shape { names: &["create_repository", "fork_repository", "delete_repository"], deed: |_, _| asked("repository") },
    Shape { names: &["run_workflow", "run_trigger"], deed: |_, _| runs(&["gh workflow run"]) },
    Shape { names: &["create_release", "delete_release"], deed: |_, _| runs(&["gh release create"]) },
    Shape { names: &["create_or_update_file", "create_file", "update_file", "delete_file"], deed: writes },
    Shape {
        names: &[
            "write_file",
            "edit_file",
            "move_file",
            "copy_file",
            "edit_block",
            "write_to_file",
            "replace_in_file",
            "apply_diff",
            "create_text_file",
            "create_new_file",
            "create_new_file_with_text",
            "replace_text_in_file",
            "replace_file_text",
            "replace_symbol_body",
            "replace_content",
            "replace_regex",
            "replace_lines",
            "delete_lines",
            "insert_at_line",
            "insert_after_symbol",
            "insert_before_symbol",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "rename_file",
            "remove_file",
            "save_file",
            "append_file",
            "append_to_file",
            "patch_file",
            "multi_edit",
            "write_files",
            "edit_files",
            "move_files",
            "copy_files",
            "delete_files",
            "apply_patch",
            "write_multiple_files",
            "download_file",
            "extract_archive",
            "unzip_file",
            "save_as",
            "write_text_file",
            "write_binary_file",
            "create_or_overwrite_file",
            "overwrite_file",
            "symlink_file",
            "create_symlink",
            "set_permissions",
            "chmod_file",
            "truncate_file",
        ],
        deed: writes,
    },
    Shape { names: &["create_directory", "make_directory"], deed: makes },
    Shape {
        names: &[
            "run_code",
            "execute_code",
            "run_python",
            "execute_python",
            "python",
            "ipython",
            "run_javascript",
            "execute_javascript",
            "run_js",
            "node",
            "repl",
            "code_interpreter",
            "jupyter_execute",
            "execute_cell",
        ],
        deed: code,
    },
    Shape { names: &["gh", "github_cli", "gh_cli"], deed: |_, input| forge_program("gh", input) },
    Shape { names: &["glab", "gitlab_cli"], deed: |_, input| forge_program("glab", input) },
    Shape { names: &["update_branch_protection", "delete_branch_protection"], deed: |_, _| asked("protection") },
    Shape {
        names: &["merge_branch"],
        deed: |_, input| if is_remote(input) { asked("merges") } else { git("merge", input) },
    },
    Shape {
        names: &[
            "run_command",
            "execute_command",
            "execute_shell_command",
            "run_shell_command",
            "shell_exec",
            "shell_execute",
            "shell",
            "bash",
            "terminal",
            "run_in_terminal",
            "run_terminal_cmd",
            "run_terminal_command",
            "execute_terminal_command",
            "start_process",
            "run_process",
            "exec",
            "execute",
            "run_script",
            "run",
            "run_in_shell",
            "execute_in_terminal",
            "terminal_execute",
            "terminal_run",
            "send_command",
            "command",
            "cmd",
        ],
        deed: shell,
    },
];

/// Returns the effect of a server's tool, if it is known.
pub(crate) fn deed(server: &str, tool: &str, input: &Input) -> Option<Tool> {
    let mut name = snake(tool);
    if snake(server) == "git" && !name.contains("git_") {
        name = format!("git_{name}");
    }
    let verb = name.rfind("git_").filter(|at| *at == 0 || name[..*at].ends_with('_')).map(|at| &name[at + 4..]);
    let is = |known: &&str| name == **known || name.strip_suffix(*known).is_some_and(|rest| rest.ends_with('_'));
    match verb {
        _ if tool.is_empty() => None,
        _ if CALLS_OF_GIT.contains(&name.as_str()) || name.ends_with("_git") => called(input),
        Some(verb) if VERBS.contains(&verb) => git(verb, input),
        _ => match SHAPES.iter().find(|shape| shape.names.iter().any(is)) {
            Some(shape) => (shape.deed)(&name, input),
            None => unknown(input),
        },
    }
}

/// Tools whose arguments are a git command line.
const CALLS_OF_GIT: [&str; 9] = [
    "git",
    "git_run",
    "git_exec",
    "git_execute",
    "git_command",
    "git_cli",
    "git_raw",
    "run_git_command",
    "git_run_command",
];

/// Translates a git command line, given with or without `git`.
fn called(input: &Input) -> Option<Tool> {
    let folder = text(input, &["repo_path", "repoPath", "repository", "path", "cwd", "directory", "workingDirectory"]);
    let folder = folder.map(|folder| format!("-C {} ", quoted(&folder))).unwrap_or_default();
    let keys = ["command", "subcommand", "cmd", "operation"];
    let given = words(input, &keys);
    let more = ["args", "arguments", "argv", "options"].iter().find_map(|key| get(input, key));
    // A shell splits a single text, but not a list of words.
    let mut call = match keys.iter().find_map(|key| get(input, key)) {
        Some(Value::String(text)) => text.clone(),
        _ => quoted_all(&given),
    };
    match more {
        Some(Value::String(text)) => call = format!("{call} {text}"),
        Some(Value::Array(items)) => {
            let items: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            call = format!("{call} {}", quoted_all(&items));
        }
        _ => {}
    }
    let call = call.trim();
    let call = call.strip_prefix("git ").unwrap_or(call);
    (!call.is_empty()).then(|| Tool::Shell { command: format!("git {folder}{call}") })
}

/// Normalizes a name: `createOrUpdateFile`, `create-or-update-file` and `server/create_or_update_file` have the same
/// suffix.
fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && lower {
            out.push('_');
        }
        lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        out.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' });
    }
    out
}

fn runs(parts: &[&str]) -> Option<Tool> {
    Some(Tool::Shell { command: parts.join(" ") })
}

/// Translates a command line of a forge's program.
fn forge_program(program: &str, input: &Input) -> Option<Tool> {
    let all: Vec<&str> = texts(input, &FOLDERS).into_iter().map(|(_, text)| text).collect();
    let call = all.join(" ");
    let call = call.strip_prefix(program).unwrap_or(&call);
    Some(Tool::Shell { command: format!("{program} {}", call.trim()) })
}

/// Returns a change on the forge that has no more specific command.
fn asked(what: &str) -> Option<Tool> {
    runs(&["gh api -X POST", what])
}

fn merges(_: &str, input: &Input) -> Option<Tool> {
    let number = text(input, &["pullNumber", "pull_number", "merge_request_iid", "number", "id"]);
    let named = repository(input).map(|named| format!("-R {}", quoted(&named)));
    let words = ["gh pr merge".to_owned()].into_iter().chain(named).chain(number.map(|number| quoted(&number)));
    Some(Tool::Shell { command: words.collect::<Vec<_>>().join(" ") })
}

fn reviews(_: &str, input: &Input) -> Option<Tool> {
    let event = text(input, &["event", "action"]).unwrap_or_default();
    if event.to_ascii_uppercase().starts_with("APPROVE") { runs(&["gh pr review --approve"]) } else { None }
}

fn is_remote(input: &Input) -> bool {
    ["owner", "repo", "project_id", "branch", "workspace"].iter().any(|key| get(input, key).is_some())
}

/// Translates a write to a branch of the forge into a push.
fn pushes(_: &str, input: &Input) -> Option<Tool> {
    match text(input, &["branch", "branch_name", "branchName"]) {
        Some(branch) => pushed(input, &format!("HEAD:refs/heads/{}", branch_of(&branch))),
        None => asked("contents"),
    }
}

fn pushed(input: &Input, refspec: &str) -> Option<Tool> {
    let remote = repository(input).map_or_else(|| "origin".to_owned(), |named| format!("{ON_FORGE}{named}"));
    runs(&["git push", &quoted(&remote), &quoted(refspec)])
}

/// Returns the forge's repository as `owner/name`, or `None` if the tool names it in another form.
fn repository(input: &Input) -> Option<String> {
    let named = match (text(input, &["owner", "workspace"]), text(input, &["repo", "repo_slug", "repoSlug"])) {
        (Some(owner), Some(name)) => format!("{owner}/{name}"),
        (None, Some(whole)) => whole,
        (_, None) => text(input, &["project_id", "projectId"])?,
    };
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..") && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    (named.split('/').count() == 2 && named.split('/').all(is_part)).then_some(named)
}

/// Returns the branch of a forge's reference, in any form.
fn branch_of(reference: &str) -> &str {
    let name = reference.trim().trim_start_matches('/');
    let name = name.strip_prefix("refs/").unwrap_or(name);
    name.strip_prefix("heads/").unwrap_or(name)
}

/// Translates the creation of a branch, on the forge or in a local repository.
fn creates(name: &str, input: &Input) -> Option<Tool> {
    if is_remote(input) && !input.contains_key("repo_path") { refers(name, input) } else { git("create_branch", input) }
}

fn refers(name: &str, input: &Input) -> Option<Tool> {
    let named = text(input, &["ref", "branch", "branch_name", "branchName", "name"]);
    match named.as_deref().map(branch_of) {
        Some(branch) if name.contains("delete") => pushed(input, &format!(":refs/heads/{branch}")),
        Some(branch) => pushed(input, &format!("HEAD:refs/heads/{branch}")),
        None => asked("git/refs"),
    }
}

/// Translates tools whose names are those of a forge and of a file system.
fn writes(name: &str, input: &Input) -> Option<Tool> {
    if is_remote(input) {
        return pushes(name, input);
    }
    let looks = text(input, &["command"]).is_some_and(|command| command == "view");
    if is_on(input, &["dryRun", "dry_run"]) || looks {
        return None;
    }
    let mut all = edited(input);
    for path in paths(input) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    (!all.is_empty()).then_some(Tool::Edit { paths: all })
}

fn makes(_: &str, input: &Input) -> Option<Tool> {
    runs(&["mkdir -p", &quoted(&text(input, &["path", "dir_path", "directory"])?)])
}

/// The names of fields with a shell command.
const COMMANDS: [&str; 10] =
    ["command", "cmd", "script", "command_line", "shell_command", "bash", "program", "executable", "commands", "argv"];

/// Translates a shell, or a program with its arguments. Without a known field name, every text counts as a command.
fn shell(name: &str, input: &Input) -> Option<Tool> {
    // A name that only ends like a shell's tool may belong to a pipeline or a workflow.
    let is_shell = ["command", "shell", "bash", "terminal", "process", "cmd"].iter().any(|part| name.contains(part));
    let command = commanded(input).or_else(|| {
        let all: Vec<&str> = texts(input, &FOLDERS).into_iter().map(|(_, text)| text).collect();
        (is_shell && !all.is_empty()).then(|| all.join("\n"))
    })?;
    let folder = text(input, &FOLDERS);
    Some(Tool::Shell {
        command: folder.map_or(command.clone(), |folder| format!("cd {} || exit\n{command}", quoted(&folder))),
    })
}

/// The names of fields with a shell's working folder.
const FOLDERS: [&str; 6] = ["cwd", "workingdirectory", "workingdir", "workdir", "directory", "dir"];

fn commanded(input: &Input) -> Option<String> {
    let command = match COMMANDS.iter().find_map(|key| get(input, key))? {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            // They may be the words of one command, or several commands.
            let lines =
                if items.iter().any(|item| item.contains(' ')) { items.join("\n") + "\n" } else { String::new() };
            lines + &quoted_all(&items)
        }
        _ => return None,
    };
    let arguments = words(input, &["args", "arguments", "parameters"]);
    let more = words(input, &["input", "stdin"]);
    let mut all = vec![command];
    all.extend((!arguments.is_empty()).then(|| quoted_all(&arguments)));
    let first = all.join(" ");
    Some(if more.is_empty() { first } else { format!("{first}\n{}", more.join("\n")) })
}

/// Translates a program in another language than the shell's.
fn code(_: &str, input: &Input) -> Option<Tool> {
    let all: Vec<&str> = texts(input, &FOLDERS).into_iter().map(|(_, text)| text).collect();
    (!all.is_empty()).then(|| Tool::Shell { command: format!("python3 -c {}", quoted(&all.join("\n"))) })
}

/// Translates an unknown tool whose argument looks like a shell command. Only commands that concern the gates count,
/// since there are many other command languages.
fn unknown(input: &Input) -> Option<Tool> {
    let given = ["command", "cmd", "command_line", "shell_command", "commands"];
    given.iter().find_map(|key| get(input, key)).filter(|given| given.is_string() || given.is_array())?;
    let command = commanded(input)?;
    let counts = ["git", "gh ", "portolan", ".claude"].iter().any(|word| command.contains(word));
    counts.then_some(Tool::Shell { command })
}

fn quoted_all(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The verbs of git servers that change something.
const VERBS: [&str; 32] = [
    "add",
    "am",
    "apply",
    "bisect",
    "branch",
    "checkout",
    "cherry_pick",
    "clean",
    "clone",
    "commit",
    "config",
    "create_branch",
    "delete_branch",
    "fetch",
    "init",
    "merge",
    "mv",
    "notes",
    "pull",
    "push",
    "rebase",
    "remote",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "submodule",
    "switch",
    "tag",
    "update_ref",
    "worktree",
];

/// Translates a tool that calls git, such as `git_commit` with `repo_path` and `message`.
fn git(verb: &str, input: &Input) -> Option<Tool> {
    let mut call = vec!["git".to_owned()];
    if let Some(folder) = text(input, &["repo_path", "repoPath", "repository", "path", "cwd", "directory"]) {
        call.extend(["-C".to_owned(), folder]);
    }
    let name = || text(input, &["branch_name", "branchName", "branch", "name", "target"]);
    match verb {
        "commit" => {
            call.push("commit".to_owned());
            call.extend(text(input, &["message"]).map(|message| format!("--message={message}")));
            let options = [("amend", "--amend"), ("no_verify", "--no-verify")];
            call.extend(options.iter().filter(|(key, _)| is_on(input, &[key])).map(|(_, option)| (*option).to_owned()));
            call.extend(words(input, &["args", "arguments"]));
        }
        "checkout" | "switch" => {
            call.push("checkout".to_owned());
            call.extend(is_on(input, &["create", "createBranch", "create_branch", "b"]).then(|| "-b".to_owned()));
            call.push(name()?);
        }
        "create_branch" | "delete_branch" | "branch" => return branch(verb, call, input),
        "reset" => {
            call.push("reset".to_owned());
            call.extend(text(input, &["mode"]).map(|mode| format!("--{}", mode.trim_start_matches('-'))));
            call.extend(text(input, &["target", "commit", "ref"]));
        }
        _ => operated(verb, &mut call, input),
    }
    Some(Tool::Shell { command: quoted_all(&call) })
}

/// Translates the creation, update, renaming and deletion of branches.
fn branch(verb: &str, mut call: Vec<String>, input: &Input) -> Option<Tool> {
    let name = text(input, &["branch_name", "branchName", "name", "branch"]);
    let mode = text(input, &["mode", "operation", "action"]).unwrap_or_default();
    let force = is_on(input, &["force"]);
    call.push("branch".to_owned());
    match mode.as_str() {
        _ if verb == "delete_branch" => call.push(if force { "-D" } else { "-d" }.to_owned()),
        "delete" => call.push(if force { "-D" } else { "-d" }.to_owned()),
        "rename" | "move" => call.push(if force { "-M" } else { "-m" }.to_owned()),
        "create" => call.extend(force.then(|| "-f".to_owned())),
        _ if verb == "create_branch" => call.extend(force.then(|| "-f".to_owned())),
        _ => return None,
    }
    call.push(name?);
    call.extend(text(input, &["new_name", "newName", "newBranchName"]));
    call.extend(text(input, &["base_branch", "baseBranch", "start_point", "startPoint"]));
    Some(Tool::Shell { command: quoted_all(&call) })
}

/// Translates any other verb, with its operands in git's order.
fn operated(verb: &str, call: &mut Vec<String>, input: &Input) {
    const OPTIONS: [(&str, &str); 9] = [
        ("force", "--force"),
        ("all", "--all"),
        ("mirror", "--mirror"),
        ("tags", "--tags"),
        ("delete", "--delete"),
        ("rebase", "--rebase"),
        ("abort", "--abort"),
        ("squash", "--squash"),
        ("no_verify", "--no-verify"),
    ];
    const OPERANDS: [&str; 22] = [
        "mode",
        "operation",
        "action",
        "remote",
        "name",
        "url",
        "worktree_path",
        "worktreePath",
        "refspec",
        "branch",
        "branch_name",
        "branchName",
        "remoteBranch",
        "source",
        "target",
        "ref",
        "commit",
        "commits",
        "upstream",
        "files",
        "args",
        "arguments",
    ];
    call.push(verb.replace('_', "-"));
    call.extend(OPTIONS.iter().filter(|(key, _)| is_on(input, &[key])).map(|(_, option)| (*option).to_owned()));
    let verbed = matches!(verb, "stash" | "worktree" | "remote" | "notes" | "bisect" | "submodule" | "tag");
    let taken = OPERANDS.iter().filter(|key| verbed || !matches!(**key, "mode" | "operation" | "action"));
    // The default remote is inserted, so that the next operand is not taken for one.
    let named = ["remote", "args", "arguments"].iter().any(|key| input.contains_key(*key));
    if matches!(verb, "push" | "pull" | "fetch") && !named {
        call.push("origin".to_owned());
    }
    call.extend(taken.flat_map(|key| words(input, &[key])));
}
