//! Which projects are open, on a clock that nobody waits for.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use portolan_runtime::service::{Options, StoreAt};
use tokio::sync::watch;
use tokio::time::advance;

use super::super::{Metrics, config};
use super::*;

/// A folder with projects, and how many have been opened in it.
struct Folder {
    folder: tempfile::TempDir,
    projects: Projects,
    opened: Arc<AtomicUsize>,
    _end: watch::Sender<bool>,
}

impl Folder {
    fn with(count: usize) -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..count {
            fs::create_dir(folder.path().join(number.to_string())).expect("a project");
        }
        let opened = Arc::new(AtomicUsize::new(0));
        let (path, counted) = (folder.path().canonicalize().expect("it is there"), Arc::clone(&opened));
        let make: MakeProject = Box::new(move |project| {
            counted.fetch_add(1, Ordering::Relaxed);
            let trust = Some(project.with_extension("person"));
            let options = Options { store: StoreAt::Memory, trust, ..Options::of(project) };
            let service = Arc::new(Service::new(options)?);
            let tools = crate::mcp::tasks(Arc::clone(&service), true);
            Ok((service, vec![NamedTools { name: "tasks", tools }]))
        });
        let (end, ending) = watch::channel(false);
        let opener = Opener { config: config(), ending, metrics: Arc::new(Metrics::new()) };
        let projects = Projects::of(ProjectFolder { path, toolsets: vec!["tasks"], make }, opener);
        Folder { folder, projects, opened, _end: end }
    }

    async fn find(&self, number: usize) -> Result<Arc<OpenProject>, StatusCode> {
        let found = self.projects.find(&format!("/projects/{number}/mcp")).await;
        found.map(|(project, _service)| project).map_err(|refusal| refusal.status)
    }

    /// Returns how many projects have been opened, and how many are open.
    fn counts(&self) -> (usize, usize) {
        (self.opened.load(Ordering::Relaxed), self.projects.services().len())
    }
}

#[tokio::test(start_paused = true)]
async fn a_project_is_open_while_it_is_used() {
    let folder = Folder::with(2);
    let (one, two) = tokio::join!(folder.find(0), folder.find(0));
    assert!(Arc::ptr_eq(&one.expect("it is there"), &two.expect("it is there")), "it is opened once");
    let used = folder.find(1).await.expect("it is there");
    assert_eq!(folder.counts(), (2, 2));
    advance(CLOSED_AFTER).await;
    folder.projects.close_unused().await;
    assert_eq!(folder.counts(), (2, 1), "a call of the other is pending");
    let table = used.table("/mcp").expect("it is served");
    table.add_suspended("session");
    drop(used);
    folder.projects.close_unused().await;
    assert_eq!(folder.counts(), (2, 1), "the other has a session");
    table.end("session").await;
    folder.projects.close_unused().await;
    assert_eq!(folder.counts(), (2, 0));
    folder.find(0).await.expect("it is opened again");
    assert_eq!(folder.counts(), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn the_one_that_was_unused_for_longest_makes_room() {
    let folder = Folder::with(MOST_OPEN + 2);
    let mut used = Vec::new();
    for number in 0..MOST_OPEN {
        advance(Duration::from_secs(1)).await;
        used.push(folder.find(number).await.expect("there is room"));
    }
    assert_eq!(folder.find(MOST_OPEN).await.err(), Some(StatusCode::SERVICE_UNAVAILABLE), "all are in use");
    used.drain(1..3);
    folder.find(MOST_OPEN).await.expect("one is closed");
    advance(Duration::from_secs(1)).await;
    assert_eq!(folder.counts(), (MOST_OPEN + 1, MOST_OPEN));
    folder.find(2).await.expect("it is still open");
    assert_eq!(folder.counts(), (MOST_OPEN + 1, MOST_OPEN));
    folder.find(1).await.expect("it is opened again");
    assert_eq!(folder.counts(), (MOST_OPEN + 2, MOST_OPEN));
    assert_eq!(folder.find(MOST_OPEN + 1).await.err(), None);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_gone_or_another_one_is_not_the_project() {
    let folder = Folder::with(1);
    let before = folder.find(0).await.expect("it is there");
    fs::rename(folder.folder.path().join("0"), folder.folder.path().join("moved")).expect("it is moved");
    assert_eq!(folder.find(0).await.err(), Some(StatusCode::NOT_FOUND));
    assert_eq!(folder.counts(), (1, 0));
    fs::create_dir(folder.folder.path().join("0")).expect("another");
    let after = folder.find(0).await.expect("it is there");
    assert!(!Arc::ptr_eq(&before, &after));
}
