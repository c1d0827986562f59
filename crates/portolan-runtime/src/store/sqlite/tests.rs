//! Tests beyond the contract: the file itself, files of other programs, and full disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use expect_test::expect;
use rusqlite::StatementStatus;
use tempfile::TempDir;

use portolan_core::run::{Change, FramePath, Opening};

use super::connect::Absent;
use super::*;
use crate::store::contract::{self, sample::Sample};

#[tokio::test(flavor = "multi_thread")]
async fn it_keeps_what_a_store_promises() {
    contract::check(async || {
        let home = TempDir::new().expect("there is room for a directory");
        let path = home.path().join(".portolan/runs.db");
        contract::Subject::new(move || Arc::new(SqliteStore::at(&path, keyring_beside(&path))), home)
    })
    .await;
}

fn wait<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime needs nothing");
    runtime.block_on(answer)
}

fn create(store: &SqliteStore, sample: &Sample) -> RunId {
    wait(contract::create(store, sample))
}

fn append(store: &SqliteStore, id: &RunId, expected_seq: u64, sample: &Sample) -> Result<(), StoreError> {
    wait(contract::append(store, id, expected_seq, sample))
}

/// Returns the keys of a user whose data folder is beside the store's folder.
fn keyring_beside(path: &Path) -> Keyring {
    Keyring::in_folder(&path.parent().and_then(Path::parent).expect("a store lies in two folders").join("data"))
}

/// A directory for a store, and the path of its file.
struct Home(TempDir);

impl Home {
    fn new() -> Home {
        Home(TempDir::new().expect("there is room for a directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join(".portolan/runs.db")
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::at(self.path(), keyring_beside(&self.path()))
    }

    /// Returns a home with a file that is no store of this release.
    fn with(prepare: impl FnOnce(&Path)) -> Home {
        let home = Home::new();
        fs::create_dir(home.path().parent().expect("it has one")).expect("the directory is new");
        prepare(&home.path());
        home
    }

    fn database(&self) -> Connection {
        Connection::open(self.path()).expect("the file can be opened")
    }

    /// Returns the error of the first request, which is the same for a read and a write.
    fn refusal(&self) -> StoreError {
        let listed = wait(self.store().list(ListFilter::default())).expect_err("the file is refused");
        let new = contract::new_run(&RunId::random(), &Sample::opened("mend the door"));
        assert_eq!(wait(self.store().create(new)), Err(listed.clone()));
        listed
    }
}

fn message(error: &StoreError, home: &Home) -> String {
    error.to_string().replace(&home.path().display().to_string(), "runs.db")
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let names = entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn looking_leaves_no_trace() {
    let home = Home::new();
    assert_eq!(wait(home.store().list(ListFilter::default())), Ok(vec![]));
    let moved = Sample::opened("mend the door").moved("agent", "a");
    append(&home.store(), &RunId::random(), 1, &moved).expect_err("there is no such run");
    assert_eq!(files(home.0.path()), Vec::<String>::new());
}

#[test]
fn the_directory_is_private_and_ignored_and_one_file_is_left_in_it() {
    let home = Home::new();
    create(&home.store(), &Sample::opened("mend the door"));
    let directory = home.path().parent().expect("it has one").to_owned();
    assert_eq!(files(&directory), [".gitignore", "runs.db"]);
    let ignored = fs::read_to_string(directory.join(".gitignore")).expect("it is there");
    assert!(ignored.lines().any(|line| line == "*"), "{ignored}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&directory).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

#[cfg(unix)]
#[test]
fn the_file_and_its_logs_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with(|_| {});
    let store = home.store();
    create(&store, &Sample::opened("mend the door"));
    let directory = home.path().parent().expect("it has one").to_owned();
    let names = files(&directory);
    assert_eq!(names, ["runs.db", "runs.db-shm", "runs.db-wal"]);
    for name in names {
        let mode = fs::metadata(directory.join(&name)).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn stores_of_earlier_versions_are_taken_over() {
    let third = "DROP INDEX due_positions; ALTER TABLE positions DROP COLUMN due; PRAGMA user_version = 3";
    let second = "DROP INDEX due_positions; ALTER TABLE positions DROP COLUMN due;
                  ALTER TABLE positions ADD COLUMN snapshot TEXT NOT NULL DEFAULT '';
                  UPDATE positions SET snapshot = (SELECT text FROM snapshots WHERE snapshots.run = positions.run);
                  DROP TABLE snapshots; PRAGMA user_version = 2";
    let first = format!("{second}; ALTER TABLE runs DROP COLUMN cover; PRAGMA user_version = 1");
    for back in [third, second, &first] {
        let home = Home::new();
        let sample = Sample::opened("mend the door");
        let id = create(&home.store(), &sample);
        home.database().execute_batch(back).expect("it is ours");
        let stored = wait(home.store().load(&id)).expect("it was created");
        assert_eq!((stored.seq, stored.run), (1, sample.run.clone()));
        let next = sample.moved("agent", "a");
        append(&home.store(), &id, 1, &next).expect("it is the next one");
        assert_eq!(wait(home.store().load(&id)).expect("it was created").run, next.run);
        assert_eq!(wait(home.store().list(ListFilter::default())).expect("it lists").len(), 1);
    }
}

#[test]
fn a_directory_that_was_there_is_left_as_it_is() {
    let home = Home::with(|_| {});
    create(&home.store(), &Sample::opened("mend the door"));
    assert_eq!(files(home.path().parent().expect("it has one")), ["runs.db"]);
}

#[test]
fn an_empty_file_becomes_a_store() {
    let home = Home::with(|path| fs::write(path, "").expect("it can be written"));
    assert_eq!(wait(home.store().list(ListFilter::default())), Ok(vec![]));
    create(&home.store(), &Sample::opened("mend the door"));
}

#[test]
fn a_file_that_is_no_database_is_refused_and_untouched() {
    for text in ["xy", "some notes of mine\n", &"long notes ".repeat(1000)] {
        let home = Home::with(|path| fs::write(path, text).expect("it can be written"));
        let error = home.refusal();
        expect!["`runs.db` is not a run store: move it away, or name another file"].assert_eq(&message(&error, &home));
        assert!(matches!(error, StoreError::Corrupt(_)));
        assert_eq!(fs::read_to_string(home.path()).expect("it is there"), text);
        assert_eq!(files(home.path().parent().expect("it has one")), ["runs.db"]);
    }
}

#[test]
fn the_database_of_another_program_is_refused_and_untouched() {
    let home = Home::with(|path| {
        Connection::open(path).and_then(|db| db.execute_batch("CREATE TABLE bookmarks (url)")).expect("it is made");
    });
    let before = fs::read(home.path()).expect("it is there");
    let error = home.refusal();
    expect!["`runs.db` is the database of another program: name another file"].assert_eq(&message(&error, &home));
    assert_eq!(fs::read(home.path()).expect("it is there"), before);
}

#[test]
fn a_store_of_a_newer_release_is_refused() {
    let home = Home::new();
    let store = home.store();
    let id = create(&store, &Sample::opened("mend the door"));
    home.database().pragma_update(None, "user_version", 7).expect("it is ours");
    let error = home.refusal();
    expect![
        "`runs.db` is a run store of version 7, and this release knows versions up to 4: use a newer release of portolan, or name another file"
    ]
    .assert_eq(&message(&error, &home));
    // A process that had it open before the migration does not write into it either.
    let moved = Sample::opened("mend the door").moved("agent", "a");
    assert_eq!(append(&store, &id, 1, &moved), Err(error));
}

#[test]
fn a_run_that_remembers_much_is_not_written_whole_with_each_record() {
    let home = Home::new();
    let mut sample = Sample::opened(&"the door ".repeat(10));
    sample.run.root.data = Some(Arc::default());
    sample.changes.push(Change::Given { frame: FramePath::default(), data: Arc::default() });
    sample.run.revision += 1;
    let store = home.store();
    let id = create(&store, &sample);
    let mut written = 0;
    let last = |db: &Connection| db.query_row("SELECT seq FROM snapshots", [], |row| row.get::<_, i64>(0));
    for seq in 1..300 {
        let set = Change::Set { frame: FramePath::default(), name: format!("n{seq}"), value: "x".repeat(99).into() };
        sample.run.apply(&set);
        sample.changes = vec![set];
        append(&store, &id, seq, &sample).expect("it is next");
        written += usize::from(last(&home.database()).expect("it is there").unsigned_abs() == seq + 1);
        // Another process has no sizes, and finds the same run.
        assert_eq!(wait(home.store().load(&id)).expect("it is there").run, sample.run);
    }
    assert!((5..30).contains(&written), "{written} of 299 records wrote it whole");
    let gone = "DELETE FROM records WHERE seq = 299; UPDATE snapshots SET seq = 298";
    home.database().execute_batch(gone).expect("it can be done by hand");
    let error = wait(home.store().load(&id)).expect_err("a record is missing");
    assert!(message(&error, &home).contains("record 299"), "{error}");
}

#[test]
fn a_directory_in_the_place_of_the_file_is_named() {
    let home = Home::with(|path| fs::create_dir(path).expect("it is new"));
    expect!["`runs.db` is a directory: name a file in it"].assert_eq(&message(&home.refusal(), &home));
}

#[test]
fn damage_is_told_with_its_place() {
    let cases = [
        ("UPDATE snapshots SET text = '{'", "the snapshot of run `ID` in `runs.db` cannot be read"),
        ("UPDATE positions SET seq = -1", "`runs.db` holds a value of the wrong kind"),
        ("UPDATE runs SET opening = '[]'", "the opening of run `ID` in `runs.db` cannot be read"),
        ("UPDATE records SET changes = '[1]' WHERE seq = 2", "record 2 of run `ID` in `runs.db` cannot be read"),
        ("DELETE FROM records WHERE seq = 1", "record 1 of run `ID` in `runs.db` cannot be read (it is missing)"),
        ("UPDATE definitions SET text = 'rm'", "cannot be read (its text has been changed)"),
        ("UPDATE positions SET status = 'lost'", "the status of run `ID` in `runs.db` cannot be read"),
        ("DROP TABLE positions", "`runs.db` cannot be used (no such table: positions"),
    ];
    for (damage, told) in cases {
        let home = Home::new();
        let store = home.store();
        let new = contract::new_run(&RunId::random(), &Sample::opened("mend the door"));
        wait(store.create(new.clone())).expect("a new run is kept");
        append(&store, &new.id, 1, &Sample::opened("mend the door").moved("agent", "a")).expect("it is next");
        home.database().execute_batch(damage).expect("it can be done by hand");
        let answers = [
            wait(store.load(&new.id)).map(drop),
            wait(store.records(&new.id, 0, 9)).map(drop),
            wait(store.list(ListFilter::default())).map(drop),
            wait(store.definition(&new.definition)).map(drop),
        ];
        let answers = answers.map(|answer| answer.err().map_or(String::new(), |error| message(&error, &home)));
        let told = told.replace("ID", new.id.as_str());
        assert!(answers.iter().any(|answer| answer.contains(&told)), "{damage}: {answers:#?}");
    }
}

#[test]
fn pages_of_noise_are_damage_and_no_panic() {
    let home = Home::new();
    let id = create(&home.store(), &Sample::opened("mend the door"));
    let mut bytes = fs::read(home.path()).expect("it is there");
    bytes[4096..].fill(0xa5);
    fs::write(home.path(), &bytes).expect("it can be written");
    let error = wait(home.store().load(&id)).expect_err("it is damaged");
    assert!(matches!(error, StoreError::Corrupt(_)), "{error:?}");
    assert!(error.to_string().contains("restore an earlier copy"), "{error}");
}

#[test]
fn a_store_that_is_deleted_while_it_is_open_is_missed() {
    let home = Home::new();
    let store = home.store();
    let sample = Sample::opened("mend the door");
    let id = create(&store, &sample);
    wait(store.load(&id)).expect("it was created");
    fs::remove_dir_all(home.path().parent().expect("it has one")).expect("it is ours");
    let gone = StoreError::NotFound { what: format!("run `{id}`") };
    assert_eq!(append(&store, &id, 1, &sample.moved("agent", "a")), Err(gone.clone()));
    assert_eq!(wait(store.load(&id)), Err(gone));
    let next = create(&store, &Sample::opened("mend the door"));
    assert_eq!(wait(home.store().load(&next)).expect("it is in the new file").seq, 1);
}

#[test]
fn another_file_at_the_same_path_has_another_version() {
    let (home, sample) = (Home::new(), Sample::opened("mend the door"));
    let looks = home.store();
    let version = || wait(looks.version()).expect("it answers");
    let mut seen = vec![version()];
    for _ in 0..3 {
        let writes = home.store();
        create(&writes, &sample);
        assert!(!seen.contains(&version()), "{seen:?}, {:?}", version());
        seen.push(version());
        drop(writes);
        fs::remove_dir_all(home.path().parent().expect("a folder")).expect("it is ours");
        seen.push(version());
    }
}

#[test]
fn stores_that_open_at_the_same_time_make_one_file() {
    for _ in 0..10 {
        let home = Home::new();
        let line = std::sync::Barrier::new(8);
        let made: Vec<RunId> = std::thread::scope(|scope| {
            let open = |_| {
                scope.spawn(|| {
                    let store = home.store();
                    line.wait();
                    create(&store, &Sample::opened("mend the door"))
                })
            };
            let all: Vec<_> = (0..8).map(open).collect();
            all.into_iter().map(|one| one.join().expect("nobody panics")).collect()
        });
        for id in made {
            assert_eq!(wait(home.store().load(&id)).expect("it was created").seq, 1);
        }
    }
}

#[test]
fn a_lock_that_is_never_let_go_is_told() {
    let home = Home::new();
    let id = create(&home.store(), &Sample::opened("mend the door"));
    let blocker = home.database();
    blocker.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    let mut place = Place::new(home.path());
    place.patience = std::time::Duration::ZERO;
    let store = SqliteStore::in_place(place, keyring_beside(&home.path()));
    assert_eq!(wait(store.load(&id)).expect("reading does not wait").seq, 1);
    let moved = Sample::opened("mend the door").moved("agent", "a");
    let error = append(&store, &id, 1, &moved).expect_err("it is locked");
    expect!["another process has kept `runs.db` locked for 0 seconds: end it, or try again"]
        .assert_eq(&message(&error, &home));
    blocker.execute_batch("ROLLBACK").expect("it was begun");
    append(&store, &id, 1, &moved).expect("it is free again");
}

#[test]
fn a_full_disk_loses_nothing_and_leaves_nothing_half_written() {
    let home = Home::new();
    let store = home.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&store, &sample);
    drop(store);
    let pages: u32 = home.database().query_row("PRAGMA page_count", [], |row| row.get(0)).expect("it is ours");
    let place = Place::new(home.path());
    place.pages.store(pages + 20, Ordering::SeqCst);
    let store = SqliteStore::in_place(place, keyring_beside(&home.path()));
    let mut seq = 1;
    let full = loop {
        let next = sample.clone().moved("agent", &"long ".repeat(2000));
        match append(&store, &id, seq, &next) {
            Ok(()) => (sample, seq) = (next, seq + 1),
            Err(error) => break error,
        }
        assert!(seq < 100, "the disk is never full");
    };
    assert_eq!(full, StoreError::Full);
    assert!(seq > 1, "there was room for some");
    let another = contract::new_run(&RunId::random(), &Sample::opened(&"long ".repeat(20_000)));
    assert_eq!(wait(store.create(another.clone())), Err(StoreError::Full));
    let stored = wait(store.load(&id)).expect("reading needs no room");
    assert_eq!((stored.seq, stored.run), (seq, sample.run.clone()));
    assert_eq!(wait(store.records(&id, 0, usize::MAX)).expect("it is known").len() as u64, seq);
    assert!(matches!(wait(store.load(&another.id)), Err(StoreError::NotFound { .. })));
    store.place.pages.store(pages + 2000, Ordering::SeqCst);
    wait(store.create(another)).expect("there is room again");
    append(&store, &id, seq, &sample.moved("agent", "b")).expect("there is room again");
    let whole: String =
        home.database().query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it can be checked");
    assert_eq!(whole, "ok");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_is_read_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let id = create(&home.store(), &Sample::opened("mend the door"));
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o400)).expect("it is ours");
    if fs::OpenOptions::new().append(true).open(home.path()).is_ok() {
        return; // A user who may write everything cannot be refused.
    }
    assert_eq!(wait(home.store().load(&id)).expect("it may be read").seq, 1);
    let moved = Sample::opened("mend the door").moved("agent", "a");
    assert_eq!(append(&home.store(), &id, 1, &moved), Err(StoreError::ReadOnly));
}

#[cfg(unix)]
#[test]
fn a_place_that_may_not_be_written_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with(|_| {});
    let directory = home.path().parent().expect("it has one").to_owned();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o500)).expect("it is ours");
    let new = contract::new_run(&RunId::random(), &Sample::opened("mend the door"));
    let refused = wait(home.store().create(new));
    let is_enforced = fs::write(directory.join("probe"), "").is_err();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("it is ours");
    assert_eq!(refused, if is_enforced { Err(StoreError::ReadOnly) } else { Ok(()) });
}

#[test]
fn lists_are_read_from_an_index() {
    let home = Home::new();
    create(&home.store(), &Sample::opened("mend the door"));
    let plan = |filter| {
        let sql = format!("EXPLAIN QUERY PLAN {}", read::list_sql(filter));
        let db = home.database();
        let mut statement = db.prepare(&sql).expect("it is valid");
        let lines = statement.query_map([1], |row| row.get::<_, String>(3)).expect("it can be asked");
        lines.map(|line| line.expect("it can be read")).collect::<Vec<_>>().join("\n")
    };
    let [all, open] = [false, true].map(|open_only| plan(ListFilter { open_only, limit: 1 }));
    assert!(all.contains("USING INDEX positions_by_time") && !all.contains("TEMP B-TREE"), "{all}");
    assert!(open.contains("USING INDEX open_positions_by_time") && !open.contains("TEMP B-TREE"), "{open}");
}

#[test]
fn a_statement_is_planned_once_whatever_it_is_given() {
    let home = Home::new();
    let id = create(&home.store(), &Sample::opened("mend"));
    let place = Arc::new(Place::new(home.path()));
    let plans = Link::to(&place).with(Absent::Leave, |db| {
        let db = db.expect("it was created");
        for _ in 0..3 {
            db.prepare_cached(write::KNOWN)?.query_one([id.as_str()], |_| Ok(()))?;
        }
        Ok(db.prepare_cached(write::KNOWN)?.get_status(StatementStatus::RePrepare))
    });
    assert_eq!(plans, Ok(0));
}

#[test]
fn pages_are_read_from_an_index() {
    let home = Home::new();
    create(&home.store(), &Sample::opened("mend the door"));
    let db = home.database();
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {}", read::PAGE)).expect("it is valid");
    let lines = statement.query_map(["", "9", "1"], |row| row.get::<_, String>(3)).expect("it can be asked");
    let plan = lines.map(|line| line.expect("it can be read")).collect::<Vec<_>>().join("\n");
    assert!(plan.starts_with("SEARCH runs USING INDEX") && !plan.contains("TEMP B-TREE"), "{plan}");
}

#[test]
fn a_run_without_its_position_does_not_hide_the_others() {
    let home = Home::new();
    let store = home.store();
    let [lost, whole] = [1, 2].map(|_| create(&store, &Sample::opened("mend the door")));
    drop(store);
    let db = home.database();
    db.execute("DELETE FROM positions WHERE run = (SELECT number FROM runs WHERE id = ?1)", [lost.as_str()])
        .expect("done");
    for entry in wait(home.store().page(&PageRequest::first(9))).expect("it can be read") {
        let said = entry.summary.map(|line| line.id).map_err(|error| error.to_string());
        let place = home.path().display().to_string();
        let expected = format!(
            "the position of run `{lost}` in `{place}` cannot be read (it is missing): restore an earlier copy of the file"
        );
        assert_eq!(said, if entry.handle == lost.as_str() { Err(expected) } else { Ok(whole.clone()) });
    }
}

/// Returns a store with two sealed runs of two records each, in which a word is hidden.
fn sealed(home: &Home) -> [RunId; 2] {
    let store = home.store();
    [1, 2].map(|_| {
        let sample = Sample::opened("the word is xyzzy");
        let cover = Opening { description: None, ..sample.run.opening.clone() };
        let new = NewRun { cover: Some(cover), ..contract::new_run(&RunId::random(), &sample) };
        wait(store.create(new.clone())).expect("a new run is kept");
        append(&store, &new.id, 1, &sample.moved("agent", "xyzzy")).expect("it is the next one");
        new.id
    })
}

#[test]
fn of_a_sealed_run_the_file_shows_only_where_it_stands() {
    let home = Home::new();
    sealed(&home);
    let bytes = fs::read(home.path()).expect("it is there");
    assert!(!bytes.windows(12).any(|found| found == b"word is xyzz"));
    let db = home.database();
    let texts = "SELECT event FROM records UNION ALL SELECT changes FROM records UNION ALL SELECT text FROM snapshots
                 UNION ALL SELECT opening FROM runs";
    let mut statement = db.prepare(texts).expect("it is valid");
    let texts = statement.query_map([], |row| row.get::<_, String>(0)).expect("it can be asked");
    let texts: Vec<String> = texts.map(|text| text.expect("it can be read")).collect();
    assert_eq!(texts.len(), 2 * (2 + 2 + 1 + 1));
    assert!(texts.iter().all(|text| text.starts_with("sealed:")), "{texts:#?}");
}

#[test]
fn what_is_sealed_opens_only_where_it_was() {
    let cases = [
        "UPDATE records SET event = (SELECT event FROM records WHERE run = 2 AND seq = 1) WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = (SELECT event FROM records WHERE run = 1 AND seq = 2) WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = changes WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = substr(event, 1, 60) WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = substr(event, 1, 12) WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = substr(event, 1, 24) WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = replace(event, substr(event, 60, 4), 'AAAA') WHERE run = 1 AND seq = 1",
        "UPDATE records SET event = event || '!' WHERE run = 1 AND seq = 1",
    ];
    for damage in cases {
        let home = Home::new();
        let [id, other] = sealed(&home);
        home.database().execute_batch(damage).expect("it can be done by hand");
        let error = wait(home.store().records(&id, 0, 9)).expect_err("it does not open");
        assert!(matches!(error, StoreError::Corrupt(_)), "{damage}: {error:?}");
        let told = format!("record 1 of run `{id}` in `runs.db` cannot be read");
        assert!(message(&error, &home).starts_with(&told), "{damage}: {error}");
        wait(home.store().records(&other, 0, 9)).expect("the other run is as it was");
    }
    let home = Home::new();
    let [id, _] = sealed(&home);
    let moved = "UPDATE snapshots SET text = (SELECT text FROM snapshots WHERE run = 2) WHERE run = 1";
    home.database().execute_batch(moved).expect("it can be done by hand");
    assert!(matches!(wait(home.store().load(&id)), Err(StoreError::Corrupt(_))));
}

#[test]
fn without_its_key_a_run_is_listed_and_neither_read_nor_moved() {
    let keys = |home: &Home| home.0.path().join("data/run.keys");
    let told = |home: &Home, error: &StoreError, id: &RunId| {
        error.to_string().replace(&home.0.path().display().to_string(), "HOME").replace(id.as_str(), "ID")
    };
    let home = Home::new();
    let [id, _] = sealed(&home);
    fs::remove_file(keys(&home)).expect("it was made");
    let error = wait(home.store().load(&id)).expect_err("its key is gone");
    expect!["run `ID` is sealed and the key file `HOME/data/run.keys` is missing: restore it, or set `PORTOLAN_DATA_DIR` to the folder that it is in"]
        .assert_eq(&told(&home, &error, &id));
    assert_eq!(wait(home.store().records(&id, 0, 9)), Err(error));
    assert_eq!(wait(home.store().list(ListFilter::default())).expect("lists need no key").len(), 2);
    // A new run creates a new key, which is not the one that sealed the old runs.
    let [next, _] = sealed(&home);
    wait(home.store().load(&next)).expect("its key is there");
    let error = wait(home.store().load(&id)).expect_err("its key is gone");
    expect!["run `ID` is sealed with a key that the key file `HOME/data/run.keys` does not have: restore the file that the run was kept with, or set `PORTOLAN_DATA_DIR` to the folder that it is in"]
        .assert_eq(&told(&home, &error, &id));
}
