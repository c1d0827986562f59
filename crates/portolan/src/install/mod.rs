//! Installs hooks into the files of coding agents and of git, and removes them without a change to the user's content.
//! A [`Plan`] is computed first and can be shown. Performing it makes no further decisions.

mod examine;
mod files;
pub(crate) mod gate;
mod git;
mod hosts;
pub(crate) mod plugin;
mod program;
mod record;
mod shell;
mod splice;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use portolan_runtime::pins::{Pins, TrustedRules};
use portolan_runtime::rules;
use portolan_supervision::hook::pinned;

use crate::hook::Host;
use files::{Chain, Step};
use hosts::{Content, HostFile};
use record::InstalledFile;

pub(crate) use examine::{ExaminationContext, Finding, State, examine};
pub(crate) use program::{program, this};
pub(crate) use record::Record;

/// The target of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Host(Host),
    Git,
}

impl Target {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Target::Host(host) => host.name(),
            Target::Git => "git",
        }
    }
}

/// What is installed besides the hooks and the server. Later installations keep it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extras {
    /// The host's shell in a sandbox. A shell that is already in one stays there.
    pub(crate) sandbox: bool,
    /// The host's other servers behind the gate.
    pub(crate) gate: bool,
}

/// Whether to install or to uninstall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Install,
    Uninstall,
}

/// The changes of an installation.
pub(crate) struct Plan {
    project: PathBuf,
    /// The program that the hooks run.
    program: String,
    direction: Direction,
    steps: Vec<Step>,
    record: Record,
    /// The text of the file of servers that the gate reads.
    behind: Option<String>,
    /// Notes and remaining tasks for the person.
    pub(crate) notes: Vec<String>,
}

/// Trusts the current rules of the project's file. Returns whether this changed anything.
pub(crate) fn agree(project: &Path) -> anyhow::Result<bool> {
    let Some((project, _)) = Pins::around(project).map_err(anyhow::Error::msg)? else { return Ok(false) };
    let mut record = Record::load(&project)?;
    let text = rules::written(&project)?.map(|source| source.text.to_string());
    let agreed = Some(TrustedRules { text });
    let Some(pins) = record.pins.as_mut().filter(|pins| pins.rules != agreed) else { return Ok(false) };
    pins.rules = agreed;
    files::keep_record(&project, &record).context("the rules cannot be recorded")?;
    Ok(true)
}

impl Plan {
    /// Plans an installation in a project so that hooks run `program`.
    pub(crate) fn of(
        target: Target,
        direction: Direction,
        extras: Extras,
        project: &Path,
        program: &str,
    ) -> anyhow::Result<Plan> {
        let record = Record::load(project)?;
        let (project, program) = (project.to_owned(), program.to_owned());
        let (steps, behind, notes) = (Vec::new(), None, Vec::new());
        let mut plan = Plan { project, program, direction, steps, record, behind, notes };
        plan.host_and_git(target, extras)?;
        plan.pin(target);
        Ok(plan)
    }

    fn host_and_git(&mut self, target: Target, extras: Extras) -> anyhow::Result<()> {
        let (project, program, direction) = (self.project.clone(), self.program.clone(), self.direction);
        match target {
            Target::Host(host) => {
                let known = shell::known(&self.record, host);
                let shell = known.or_else(|| extras.sandbox.then(shell::Shell::of_person));
                let gate = extras.gate || gate::is_installed(&self.record, host);
                let serves = if gate { gate::arguments(&project) } else { vec!["serve".to_owned()] };
                for wanted in hosts::wanted(host, &project, &program, shell.as_ref(), &serves) {
                    self.host_file(host, direction, gate, &wanted)
                        .with_context(|| format!("`{}` was not changed", wanted.file.display()))?;
                }
                if gate {
                    self.file_of_gate(host, direction).with_context(|| format!("`{}` was not changed", gate::FILE))?;
                }
                if direction == Direction::Install {
                    self.notes.extend(hosts::notes(host, &program));
                    self.git_hooks_too(&program);
                } else if !self.record.has_hosts() && !self.record.keeps_git && self.record.of("git").next().is_some() {
                    self.git(direction, &program)?;
                }
            }
            Target::Git => {
                self.git(direction, &program)?;
                self.record.keeps_git = direction == Direction::Install;
            }
        }
        Ok(())
    }

    /// Installs git's hooks with a host's, which leaves to them the operations that they see better. They are removed
    /// with the last host.
    fn git_hooks_too(&mut self, program: &str) {
        let (steps, record) = (self.steps.len(), self.record.clone());
        if let Err(error) = self.git(Direction::Install, program) {
            self.steps.truncate(steps);
            self.record = record;
            self.notes.push(format!(
                "git's own hooks are not installed ({error:#}): fix that, then run `portolan install git`; until then \
                 nothing stops a script that moves a branch."
            ));
        }
    }

    /// Pins what the project relies on at the first installation, and drops the pins with the last hooks. A repeated
    /// installation in between does not change them.
    fn pin(&mut self, target: Target) {
        if self.direction == Direction::Install {
            let known = self.record.pins.take();
            let pins = pinned(&self.project, known.clone());
            if known.as_ref() != Some(&pins) {
                self.notes.extend(pins.upstreams.iter().filter_map(|(branch, upstream)| {
                    let address = &pins.remotes.get(&upstream.remote)?.address;
                    let named = format!("`{}` of `{}`", upstream.branch, upstream.remote);
                    Some(format!("`{branch}` is allowed to move to the commits of {named}, which is `{address}`."))
                }));
            }
            self.record.pins = Some(pins);
        } else if self.record.files.is_empty() {
            self.record.pins = None;
        } else if let (Target::Git, Some(pins)) = (target, self.record.pins.take()) {
            self.record.pins =
                Some(Pins { log: pins.log, programs: pins.programs, rules: pins.rules, ..Pins::default() });
        }
    }

    /// Returns whether nothing would change.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.iter().all(Step::is_empty)
    }

    /// Returns the files that change.
    pub(crate) fn files(&self) -> Vec<&Path> {
        self.steps.iter().filter(|step| !step.is_empty()).map(|step| step.shown.as_path()).collect()
    }

    /// Returns the changes as a unified diff.
    pub(crate) fn diff(&self) -> String {
        self.steps.iter().filter(|step| !step.is_empty()).map(Step::diff).collect()
    }

    /// Performs the changes. The record is written before anything is installed and after anything is removed, so that
    /// it always covers all that is installed.
    pub(crate) fn perform(self) -> anyhow::Result<()> {
        let keep = || files::keep_record(&self.project, &self.record).context("what was installed cannot be recorded");
        if self.direction == Direction::Install {
            keep()?;
        }
        self.steps.iter().for_each(Step::forget_torn);
        for step in self.steps.iter().filter(|step| !step.is_empty()) {
            step.perform().with_context(|| format!("`{}` cannot be changed", step.shown.display()))?;
        }
        if self.direction == Direction::Uninstall { keep() } else { Ok(()) }
    }

    fn settle(&mut self, target: &str, file: &Path, installed: Option<InstalledFile>) {
        self.record.files.retain(|known| known.host != target || known.file != file);
        self.record.files.extend(installed);
    }

    /// Writes the file of servers that the gate reads, or removes it.
    fn file_of_gate(&mut self, host: Host, direction: Direction) -> anyhow::Result<()> {
        let wanted = HostFile { file: PathBuf::from(gate::FILE), content: Content::Whole(String::new()) };
        let current = files::read(&self.project.join(gate::FILE))?;
        let known = self.record.found(host.name(), &wanted.file).cloned();
        let others = self.record.files.iter().any(|file| file.file == wanted.file && file.host != host.name());
        ensure!(!others, "another coding agent's servers are behind the gate: only one agent's can be");
        let is_changed = known
            .as_ref()
            .zip(current.as_ref())
            .is_some_and(|(known, current)| record::digest(current.as_bytes()) != known.digest);
        ensure!(!is_changed, "it was changed since it was installed: move its servers to the agent's own file first");
        let text = self.behind.take().unwrap_or_default();
        self.whole(host.name(), direction, &wanted, &text, current, known.as_ref())
    }

    fn host_file(&mut self, host: Host, direction: Direction, gate: bool, wanted: &HostFile) -> anyhow::Result<()> {
        let path = self.project.join(&wanted.file);
        files::stays_inside(&self.project, &path)?;
        let current = files::read(&path)?;
        let known = self.record.found(host.name(), &wanted.file).cloned();
        match &wanted.content {
            Content::Whole(text) | Content::Program(text) => {
                self.whole(host.name(), direction, wanted, text, current, known.as_ref())
            }
            Content::Parts(parts) => self.parts((host, gate), direction, wanted, parts, current, known.as_ref()),
        }
    }

    fn whole(
        &mut self,
        target: &str,
        direction: Direction,
        wanted: &HostFile,
        text: &str,
        current: Option<String>,
        known: Option<&InstalledFile>,
    ) -> anyhow::Result<()> {
        let ours = |current: &String| {
            current == text || known.is_some_and(|known| record::digest(current.as_bytes()) == known.digest)
        };
        let touched = current.as_ref().is_some_and(|current| !ours(current));
        let path = self.project.join(&wanted.file);
        if direction == Direction::Uninstall {
            ensure!(
                !touched || known.is_none(),
                "it was changed since it was installed: check it, then delete it yourself"
            );
            if !touched {
                let folders = known.map(|known| known.folders.clone()).unwrap_or_default();
                self.steps.push(Step::new(&self.project, &wanted.file, current, None).leaving(folders));
            }
            self.settle(target, &wanted.file, None);
            return Ok(());
        }
        ensure!(
            !touched || known.is_some(),
            "a file that portolan did not make already exists there: move it away first"
        );
        let folders = known.map_or_else(|| files::missing_folders(&self.project, &path), |known| known.folders.clone());
        let installed = InstalledFile {
            host: target.to_owned(),
            program: Some(self.program.clone()),
            file: wanted.file.clone(),
            digest: record::digest(text.as_bytes()),
            created: true,
            folders,
            parts: Vec::new(),
            inserted: Vec::new(),
            moved: None,
            chained: false,
        };
        let step = Step::new(&self.project, &wanted.file, current, Some(text.to_owned()));
        self.steps.push(if matches!(wanted.content, Content::Program(_)) { step.executable() } else { step });
        self.settle(target, &wanted.file, Some(installed));
        Ok(())
    }

    fn parts(
        &mut self,
        (host, gate): (Host, bool),
        direction: Direction,
        wanted: &HostFile,
        parts: &[splice::Part],
        current: Option<String>,
        known: Option<&InstalledFile>,
    ) -> anyhow::Result<()> {
        let base = base(host, parts, current.as_deref(), known).map_err(anyhow::Error::msg)?;
        let path = self.project.join(&wanted.file);
        if direction == Direction::Uninstall {
            let folders = known.map(|known| known.folders.clone()).unwrap_or_default();
            self.steps.push(Step::new(&self.project, &wanted.file, current, base).leaving(folders));
            self.settle(host.name(), &wanted.file, None);
            return Ok(());
        }
        let key = gate::key(host).filter(|key| gate && parts.iter().any(|part| part.within == [*key]));
        let taken = key.map(|key| gate::take(host, key, &self.project, base.as_deref())).transpose()?;
        let left = taken.as_ref().map(|taken| taken.text.as_str()).or(base.as_deref());
        let spliced = splice::put(left.unwrap_or_default(), parts).map_err(anyhow::Error::msg)?;
        for taken in spliced.present.iter().filter(|part| part.key.as_deref() == Some("portolan")) {
            if !splice::holds(&spliced.text, taken) {
                self.notes.push(format!("`{}` has your own entry `portolan`, which is kept.", wanted.file.display()));
            }
        }
        if let Some(taken) = &taken {
            self.behind = Some(taken.file());
            self.notes.push(gate::note(&taken.moved));
            self.notes.extend(taken.notes.iter().cloned());
        }
        let kept = parts.iter().filter(|part| !spliced.present.contains(part)).cloned().collect();
        let folders = known.map_or_else(|| files::missing_folders(&self.project, &path), |known| known.folders.clone());
        let installed = InstalledFile {
            host: host.name().to_owned(),
            program: Some(self.program.clone()),
            file: wanted.file.clone(),
            digest: record::digest(spliced.text.as_bytes()),
            created: base.is_none(),
            folders,
            parts: kept,
            inserted: spliced.inserted,
            moved: taken.map(|taken| taken.moved),
            chained: false,
        };
        self.steps.push(Step::new(&self.project, &wanted.file, current, Some(spliced.text)));
        self.settle(host.name(), &wanted.file, Some(installed));
        Ok(())
    }

    fn git(&mut self, direction: Direction, program: &str) -> anyhow::Result<()> {
        let folder = git::folder(&self.project)?;
        // Installed hooks are removed from where they were installed, even if git's hooks folder has changed since.
        let known: Vec<InstalledFile> = self.record.of("git").cloned().collect();
        for (name, kind) in git::HOOKS {
            let installed = known.iter().find(|known| known.file.file_name().is_some_and(|file| file == name));
            let path = match (direction, installed) {
                (Direction::Uninstall, Some(installed)) => installed.file.clone(),
                _ => folder.join(name),
            };
            self.git_hook(direction, &path, &git::script(name, kind, program), installed)
                .with_context(|| format!("`{}` was not changed", path.display()))?;
        }
        Ok(())
    }

    fn git_hook(
        &mut self,
        direction: Direction,
        path: &Path,
        script: &str,
        known: Option<&InstalledFile>,
    ) -> anyhow::Result<()> {
        let current = files::read(path)?;
        let ours = current.as_ref().is_some_and(|text| text.contains(git::MARK));
        let chained = git::chained(path).exists();
        if direction == Direction::Uninstall {
            let folders = known.map(|known| known.folders.clone()).unwrap_or_default();
            // A killed process may have moved the earlier hook away without installing ours.
            let is_away = current.is_none() && known.is_some();
            if is_kept_twice(path, current.as_deref()) {
                self.steps.push(Step::new(&self.project, path, current.clone(), current).chaining(Chain::Once));
            } else if ours || is_away {
                let step = Step::new(&self.project, path, current, None).leaving(folders);
                self.steps.push(if chained { step.chaining(Chain::Back) } else { step });
            }
            self.settle("git", path, None);
            return Ok(());
        }
        ensure!(
            current.is_none() || ours || !chained || is_kept_twice(path, current.as_deref()),
            "another hook was put in its place, and the earlier one is kept as `{}`: delete one of the two",
            git::chained(path).display()
        );
        let aside = current.is_some() && !ours;
        let folders = known.map_or_else(|| files::missing_folders(&self.project, path), |known| known.folders.clone());
        let installed = InstalledFile {
            host: "git".to_owned(),
            program: Some(self.program.clone()),
            file: path.to_owned(),
            digest: record::digest(script.as_bytes()),
            created: true,
            folders,
            parts: Vec::new(),
            inserted: Vec::new(),
            moved: None,
            chained: aside || chained,
        };
        let step = Step::new(&self.project, path, current, Some(script.to_owned())).executable();
        self.steps.push(if aside { step.chaining(Chain::Aside) } else { step });
        self.settle("git", path, Some(installed));
        Ok(())
    }
}

/// Returns whether the earlier hook is kept aside and also in its own place, because the installation was killed in
/// between.
fn is_kept_twice(path: &Path, current: Option<&str>) -> bool {
    current.is_some() && files::read(&git::chained(path)).is_ok_and(|aside| aside.as_deref() == current)
}

/// Returns a file's text without our parts, or `None` if the file would not exist.
fn base(
    host: Host,
    parts: &[splice::Part],
    current: Option<&str>,
    known: Option<&InstalledFile>,
) -> Result<Option<String>, String> {
    let Some(current) = current else { return Ok(None) };
    let Some(known) = known else {
        let lists: Vec<splice::Part> = parts.iter().filter(|part| part.key.is_none()).cloned().collect();
        return splice::cut(current, &lists, |_, value| hosts::is_ours(host, value)).map(Some);
    };
    if record::digest(current.as_bytes()) == known.digest {
        if let Some(moved) = &known.moved {
            return Ok(Some(moved.before()));
        }
        if known.created {
            return Ok(None);
        }
        if let Some(before) = splice::undo(current, &known.inserted) {
            return Ok(Some(before));
        }
    }
    let ours = |part: &splice::Part, value: &serde_json::Value| {
        *value == part.value || part.key.is_none() && hosts::is_ours(host, value)
    };
    let left = splice::cut(current, &known.parts, ours)?;
    if let Some(moved) = &known.moved {
        return moved.put_back(host, &left).map(Some);
    }
    let nothing = known.created && splice::parsed(&left)? == serde_json::json!({}) && !left.contains('/');
    Ok(if nothing { None } else { Some(left) })
}
