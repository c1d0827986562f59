//! Detects the checks of a project from its files. Nothing is run for this, and nothing that is found counts before a
//! person has written it down and allowed it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use portolan_gates::project::USUAL;
use serde_json::Value;

use crate::disk;

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;
/// How many files of a folder are read.
const MOST_FILES: usize = 1_000;

/// A check that a project seems to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedCheck {
    /// What it checks: one of [`USUAL`].
    pub name: &'static str,
    /// The program, then its arguments.
    pub argv: Vec<String>,
    /// The file that suggests it, relative to the project.
    pub file: String,
}

/// Returns the checks that the files of a project suggest, in the order of [`USUAL`]. For one name, the target of a
/// task runner comes first, because that is what the project's people use.
pub fn detect(project: &Path) -> Vec<DetectedCheck> {
    let mut finder = Finder { project, found: Vec::new() };
    finder.task_runners();
    finder.node();
    finder.cargo();
    finder.python();
    finder.go();
    finder.java();
    finder.dotnet();
    finder.elixir();
    finder.ruby();
    finder.php();
    finder.pre_commit();
    let mut distinct = BTreeSet::new();
    let found = std::mem::take(&mut finder.found);
    let mut found: Vec<DetectedCheck> =
        found.into_iter().filter(|one| distinct.insert((one.name, one.argv.clone()))).collect();
    found.sort_by_key(|one| USUAL.iter().position(|name| *name == one.name));
    found
}

/// Returns the commands of the project's workflows on its forge, one line each, as a hint at further checks.
pub fn hints(project: &Path) -> Vec<String> {
    let folder = ".github/workflows";
    let mut names: Vec<String> = names(&project.join(folder));
    names.retain(|name| name.ends_with(".yml") || name.ends_with(".yaml"));
    let line = |name: &String| {
        let text = disk::text(&project.join(folder).join(name), MOST_BYTES).unwrap_or_default();
        let commands = text.lines().filter_map(|line| {
            let line = line.trim().trim_start_matches("- ");
            let command = line.strip_prefix("run:")?.trim();
            (!command.is_empty() && !command.starts_with(['|', '>'])).then(|| format!("{folder}/{name}: {command}"))
        });
        commands.collect::<Vec<_>>()
    };
    names.iter().flat_map(line).take(50).collect()
}

struct Finder<'p> {
    project: &'p Path,
    found: Vec<DetectedCheck>,
}

impl Finder<'_> {
    fn has(&self, file: &str) -> bool {
        self.project.join(file).is_file()
    }

    fn first<'f>(&self, files: &[&'f str]) -> Option<&'f str> {
        files.iter().find(|file| self.has(file)).copied()
    }

    fn text(&self, file: &str) -> String {
        disk::text(&self.project.join(file), MOST_BYTES).unwrap_or_default()
    }

    /// Adds a command, given as words separated by single spaces.
    fn add(&mut self, name: &'static str, file: &str, command: &str) {
        let argv = command.split(' ').map(str::to_owned).collect();
        self.found.push(DetectedCheck { name, argv, file: file.to_owned() });
    }

    /// Adds the targets of `make`, `just` and `task`.
    fn task_runners(&mut self) {
        let runners = [
            (self.first(&["justfile", "Justfile", ".justfile"]), "just", targets as fn(&str) -> BTreeSet<String>),
            (self.first(&["Taskfile.yml", "Taskfile.yaml"]), "task", tasks),
            (self.first(&["GNUmakefile", "makefile", "Makefile"]), "make", targets),
        ];
        for (file, runner, read) in runners {
            let Some(file) = file else { continue };
            let targets = read(&self.text(file));
            for (name, words) in TARGETS {
                if let Some(target) = words.iter().find(|word| targets.contains(**word)) {
                    self.add(name, file, &format!("{runner} {target}"));
                }
            }
        }
    }

    fn node(&mut self) {
        let file = "package.json";
        let Ok(package) = serde_json::from_str::<Value>(&self.text(file)) else { return };
        let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];
        let runner = locks.iter().find(|(lock, _)| self.has(lock)).map_or("npm", |(_, runner)| *runner);
        let script = |name: &str| package["scripts"][name].as_str().filter(|text| !text.contains("no test specified"));
        for (name, words) in TARGETS {
            if let Some(word) = words.iter().find(|word| script(word).is_some()) {
                self.add(name, file, &format!("{runner} run {word}"));
            }
        }
        let depends =
            |name: &str| ["dependencies", "devDependencies"].iter().any(|kind| !package[*kind][name].is_null());
        if self.has("tsconfig.json") && depends("typescript") {
            self.add("typecheck", "tsconfig.json", "npx --no-install tsc --noEmit");
        }
    }

    fn cargo(&mut self) {
        let file = "Cargo.toml";
        if !self.has(file) {
            return;
        }
        self.add("build", file, "cargo build --workspace --all-targets");
        self.add("typecheck", file, "cargo check --workspace --all-targets");
        self.add("lint", file, "cargo clippy --workspace --all-targets -- -D warnings");
        self.add("format", file, "cargo fmt --all --check");
        self.add("tests", file, "cargo test --workspace");
        self.add("docs", file, "cargo doc --workspace --no-deps");
    }

    fn python(&mut self) {
        let file = "pyproject.toml";
        let text = self.text(file);
        let within = if self.has("uv.lock") {
            "uv run "
        } else if self.has("poetry.lock") {
            "poetry run "
        } else {
            ""
        };
        let section = |name: &str| {
            let begins = [format!("[tool.{name}]"), format!("[tool.{name}.")];
            text.lines().map(str::trim).any(|line| begins.iter().any(|begin| line.starts_with(begin.as_str())))
        };
        let asks = |name: &str| text.lines().any(|line| is_dependency(line, name));
        let mut add = |name, file: &str, command: &str| self.add(name, file, &format!("{within}{command}"));
        if section("ruff") || asks("ruff") {
            add("lint", file, "ruff check .");
            add("format", file, "ruff format --check .");
        }
        if section("black") {
            add("format", file, "black --check .");
        }
        if section("mypy") || asks("mypy") {
            add("typecheck", file, "mypy .");
        }
        if section("pyright") || asks("pyright") {
            add("typecheck", file, "pyright");
        }
        if section("pytest") || asks("pytest") {
            add("tests", file, "pytest");
        }
        let others = [
            ("ruff.toml", "lint", "ruff check ."),
            ("mypy.ini", "typecheck", "mypy ."),
            ("pytest.ini", "tests", "pytest"),
            ("tox.ini", "tests", "tox"),
            ("noxfile.py", "tests", "nox"),
        ];
        for (file, name, command) in others {
            if self.has(file) {
                self.add(name, file, command);
            }
        }
    }

    fn go(&mut self) {
        let file = "go.mod";
        if !self.has(file) {
            return;
        }
        // Otherwise `go build` would write the program of a module with a single one into the project.
        self.add("build", file, "go build -o /dev/null ./...");
        if let Some(config) = self.first(&[".golangci.yml", ".golangci.yaml", ".golangci.toml"]) {
            self.add("lint", config, "golangci-lint run");
        }
        self.add("lint", file, "go vet ./...");
        self.add("tests", file, "go test ./...");
    }

    fn java(&mut self) {
        if self.has("pom.xml") {
            let maven = if self.has("mvnw") { "./mvnw" } else { "mvn" };
            self.add("build", "pom.xml", &format!("{maven} -q -DskipTests package"));
            self.add("tests", "pom.xml", &format!("{maven} -q test"));
        }
        if let Some(file) = self.first(&["build.gradle.kts", "build.gradle"]) {
            let gradle = if self.has("gradlew") { "./gradlew" } else { "gradle" };
            self.add("build", file, &format!("{gradle} assemble"));
            self.add("tests", file, &format!("{gradle} test"));
        }
    }

    fn dotnet(&mut self) {
        let is_project = |name: &String| [".sln", ".slnx", ".csproj", ".fsproj"].iter().any(|end| name.ends_with(end));
        let Some(file) = names(self.project).into_iter().find(is_project) else { return };
        self.add("build", &file, "dotnet build");
        self.add("format", &file, "dotnet format --verify-no-changes");
        self.add("tests", &file, "dotnet test");
    }

    fn elixir(&mut self) {
        let file = "mix.exs";
        if !self.has(file) {
            return;
        }
        self.add("build", file, "mix compile --warnings-as-errors");
        self.add("format", file, "mix format --check-formatted");
        if self.has(".credo.exs") {
            self.add("lint", ".credo.exs", "mix credo");
        }
        self.add("tests", file, "mix test");
    }

    fn ruby(&mut self) {
        let within = if self.has("Gemfile") { "bundle exec " } else { "" };
        if self.has(".rubocop.yml") {
            self.add("lint", ".rubocop.yml", &format!("{within}rubocop"));
        }
        if self.has(".rspec") {
            self.add("tests", ".rspec", &format!("{within}rspec"));
        } else if let Some(file) = self.first(&["Rakefile", "rakefile"])
            && self.text(file).contains("test")
        {
            self.add("tests", file, &format!("{within}rake test"));
        }
    }

    fn php(&mut self) {
        let file = "composer.json";
        if let Ok(composer) = serde_json::from_str::<Value>(&self.text(file)) {
            for (name, words) in TARGETS {
                if let Some(word) = words.iter().find(|word| !composer["scripts"][**word].is_null()) {
                    self.add(name, file, &format!("composer run-script {word}"));
                }
            }
        }
        if let Some(file) = self.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]) {
            self.add("tests", file, "vendor/bin/phpunit");
        }
        if let Some(file) = self.first(&["phpstan.neon", "phpstan.neon.dist"]) {
            self.add("typecheck", file, "vendor/bin/phpstan analyse");
        }
    }

    fn pre_commit(&mut self) {
        let file = ".pre-commit-config.yaml";
        if self.has(file) {
            self.add("lint", file, "pre-commit run --all-files");
        }
    }
}

/// The names of targets and scripts that stand for a check. Those that would change files are left out.
const TARGETS: [(&str, &[&str]); 6] = [
    ("build", &["build", "compile"]),
    ("typecheck", &["typecheck", "type-check", "check-types", "types", "tsc"]),
    ("lint", &["lint", "lint:check", "clippy", "check:lint"]),
    (
        "format",
        &["format:check", "format-check", "check-format", "fmt-check", "fmt:check", "check:format", "prettier:check"],
    ),
    ("tests", &["test", "tests"]),
    ("docs", &["docs", "doc"]),
];

/// Returns the targets of a makefile or a justfile: the words at the beginning of a line, before a colon.
fn targets(text: &str) -> BTreeSet<String> {
    let heads = text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.'])).filter_map(|line| {
        let (head, rest) = line.split_once(':')?;
        // `:=` and `::=` set variables.
        (!rest.starts_with('=') && !rest.starts_with(":=")).then_some(head)
    });
    heads.flat_map(str::split_whitespace).map(|word| word.trim_start_matches('@').to_owned()).collect()
}

/// Returns the tasks of a Taskfile: the keys below `tasks`.
fn tasks(text: &str) -> BTreeSet<String> {
    let mut below = text.lines().skip_while(|line| line.trim_end() != "tasks:").skip(1).peekable();
    let Some(indent) = below.peek().map(|line| line.len() - line.trim_start().len()).filter(|indent| *indent > 0)
    else {
        return BTreeSet::new();
    };
    let inside = below.take_while(|line| line.trim().is_empty() || line.starts_with(' '));
    let keys = inside.filter(|line| line.len() - line.trim_start().len() == indent);
    keys.filter_map(|line| line.trim().split_once(':'))
        .map(|(key, _)| key.trim_matches(['"', '\'']).to_owned())
        .collect()
}

/// Checks whether a line of `pyproject.toml` names a dependency: as an item of a list, or as the key of a table.
fn is_dependency(line: &str, name: &str) -> bool {
    let line = line.trim();
    let quoted = line.split(['"', '\'']).skip(1).step_by(2);
    let is_it = |text: &str| {
        text.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-' || next == '_'))
    };
    let mut quoted = quoted;
    quoted.any(is_it) || (is_it(line) && line.contains('='))
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MOST_FILES).flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {

    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let found = detect(folder.path());
        let lines = found.iter().map(|one| format!("{}: {} ({})", one.name, one.argv.join(" "), one.file));
        lines.chain(hints(folder.path())).collect()
    }

    #[test]
    fn nothing_suggests_nothing() {
        assert_eq!(found(&[("README.md", "make test")]), Vec::<String>::new());
    }

    #[test]
    fn rust_and_what_make_calls_it() {
        let make = "CC := gcc\n.PHONY: test\ntest: build\n\tcargo test\nbuild fmt-check:\n\ttrue\n# lint: no\n";
        assert_eq!(
            found(&[("Cargo.toml", "[package]\n"), ("Makefile", make)]),
            [
                "build: make build (Makefile)",
                "build: cargo build --workspace --all-targets (Cargo.toml)",
                "typecheck: cargo check --workspace --all-targets (Cargo.toml)",
                "lint: cargo clippy --workspace --all-targets -- -D warnings (Cargo.toml)",
                "format: make fmt-check (Makefile)",
                "format: cargo fmt --all --check (Cargo.toml)",
                "tests: make test (Makefile)",
                "tests: cargo test --workspace (Cargo.toml)",
                "docs: cargo doc --workspace --no-deps (Cargo.toml)",
            ]
        );
    }

    #[test]
    fn node_by_its_scripts_and_its_lock() {
        let package = r#"{ "scripts": { "test": "vitest run", "lint": "eslint .", "format": "prettier -w ." },
            "devDependencies": { "typescript": "5" } }"#;
        assert_eq!(
            found(&[("package.json", package), ("tsconfig.json", "{}"), ("pnpm-lock.yaml", "")]),
            [
                "typecheck: npx --no-install tsc --noEmit (tsconfig.json)",
                "lint: pnpm run lint (package.json)",
                "tests: pnpm run test (package.json)",
            ]
        );
        let none = r#"{ "scripts": { "test": "echo \"Error: no test specified\" && exit 1" } }"#;
        assert_eq!(found(&[("package.json", none)]), Vec::<String>::new());
    }

    #[test]
    fn python_by_its_tools() {
        let project = "[project]\ndependencies = [\"pytest-cov\"]\n[dependency-groups]\ndev = [\"mypy>=1\", 'pytest']\n[tool.ruff.lint]\n";
        assert_eq!(
            found(&[("pyproject.toml", project), ("uv.lock", ""), ("tox.ini", "")]),
            [
                "typecheck: uv run mypy . (pyproject.toml)",
                "lint: uv run ruff check . (pyproject.toml)",
                "format: uv run ruff format --check . (pyproject.toml)",
                "tests: uv run pytest (pyproject.toml)",
                "tests: tox (tox.ini)",
            ]
        );
        assert_eq!(found(&[("pyproject.toml", "[project]\ndependencies = [\"pytest-cov\"]\n")]), Vec::<String>::new());
    }

    #[test]
    fn others_by_what_they_are_known_by() {
        let composer = r#"{ "scripts": { "test": "phpunit" } }"#;
        let task = "version: '3'\n\ntasks:\n  test:\n    cmds: [go test]\n  'lint':\n    cmds: []\nvars:\n  docs: 1\n";
        for (files, expected) in [
            (
                vec![("go.mod", ""), (".golangci.yml", "")],
                vec![
                    "build: go build -o /dev/null ./... (go.mod)",
                    "lint: golangci-lint run (.golangci.yml)",
                    "lint: go vet ./... (go.mod)",
                    "tests: go test ./... (go.mod)",
                ],
            ),
            (
                vec![("pom.xml", ""), ("mvnw", "")],
                vec!["build: ./mvnw -q -DskipTests package (pom.xml)", "tests: ./mvnw -q test (pom.xml)"],
            ),
            (
                vec![("build.gradle.kts", "")],
                vec!["build: gradle assemble (build.gradle.kts)", "tests: gradle test (build.gradle.kts)"],
            ),
            (
                vec![("app.sln", "")],
                vec![
                    "build: dotnet build (app.sln)",
                    "format: dotnet format --verify-no-changes (app.sln)",
                    "tests: dotnet test (app.sln)",
                ],
            ),
            (
                vec![("mix.exs", "")],
                vec![
                    "build: mix compile --warnings-as-errors (mix.exs)",
                    "format: mix format --check-formatted (mix.exs)",
                    "tests: mix test (mix.exs)",
                ],
            ),
            (
                vec![("Gemfile", ""), (".rspec", ""), (".rubocop.yml", "")],
                vec!["lint: bundle exec rubocop (.rubocop.yml)", "tests: bundle exec rspec (.rspec)"],
            ),
            (vec![("Rakefile", "Rake::TestTask.new(:test)")], vec!["tests: rake test (Rakefile)"]),
            (
                vec![("composer.json", composer), ("phpstan.neon", "")],
                vec![
                    "typecheck: vendor/bin/phpstan analyse (phpstan.neon)",
                    "tests: composer run-script test (composer.json)",
                ],
            ),
            (vec![("Taskfile.yml", task)], vec!["lint: task lint (Taskfile.yml)", "tests: task test (Taskfile.yml)"]),
            (vec![("justfile", "@test:\n  true\nx := 'y'\n")], vec!["tests: just test (justfile)"]),
            (vec![(".pre-commit-config.yaml", "")], vec!["lint: pre-commit run --all-files (.pre-commit-config.yaml)"]),
            (
                vec![(
                    ".github/workflows/ci.yml",
                    "jobs:\n  a:\n    steps:\n      - run: make all\n      - run: |\n          more\n",
                )],
                vec![".github/workflows/ci.yml: make all"],
            ),
        ] {
            assert_eq!(found(&files), expected);
        }
    }
}
