//! The keys: how they are created, and the errors about missing or damaged keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

use tempfile::TempDir;

use super::*;

struct Home(TempDir);

impl Home {
    fn new() -> Home {
        Home(TempDir::new().expect("there is room for a directory"))
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn file(&self) -> PathBuf {
        self.data().join("run.keys")
    }

    fn keyring(&self) -> Keyring {
        Keyring::in_folder(&self.data())
    }

    fn seal(&self, text: &str) -> Result<String, StoreError> {
        self.keyring().sealer(&run())?.seal(1, Part::Event, text)
    }
}

fn run() -> RunId {
    RunId::parse("k3mx8q2p").expect("a handle")
}

fn opened(home: &Home, sealed: &str) -> Result<String, UnsealError> {
    home.keyring().open(&run(), 1, Part::Event, sealed).map(Cow::into_owned)
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn any_text_comes_back_and_never_looks_the_same() {
    let home = Home::new();
    for text in ["", "{}", "sealed:", "\u{1F5DD}\0\n", &"long ".repeat(100_000)] {
        let (one, other) = (home.seal(text).expect("it is sealed"), home.seal(text).expect("it is sealed"));
        assert_ne!(one, other);
        assert_eq!(
            (opened(&home, &one).expect("it opens"), opened(&home, &other).expect("it opens")),
            (text.into(), text.into())
        );
    }
    assert_eq!(opened(&home, "{}").expect("it is not sealed"), "{}");
}

#[cfg(unix)]
#[test]
fn the_key_is_the_users_alone() {
    let home = Home::new();
    home.seal("{}").expect("it is sealed");
    assert_eq!((mode(&home.data()), mode(&home.file())), (0o700, 0o600));
    fs::set_permissions(home.file(), std::os::unix::fs::PermissionsExt::from_mode(0o640)).expect("it is ours");
    let error = home.seal("{}").expect_err("others may read it").to_string();
    assert!(error.starts_with("others can read the key file `"), "{error}");
    assert!(error.ends_with(": restrict its permissions with `chmod 600`"), "{error}");
}

#[test]
fn all_who_need_the_first_key_at_once_come_to_the_same() {
    for _ in 0..20 {
        let home = Home::new();
        let line = Barrier::new(8);
        let sealed: Vec<String> = thread::scope(|scope| {
            let seal = |_| {
                scope.spawn(|| {
                    let keyring = home.keyring();
                    line.wait();
                    keyring.sealer(&run()).and_then(|sealer| sealer.seal(1, Part::Event, "{}")).expect("it is sealed")
                })
            };
            let all: Vec<_> = (0..8).map(seal).collect();
            all.into_iter().map(|one| one.join().expect("nobody panics")).collect()
        });
        assert_eq!(fs::read_to_string(home.file()).expect("it is there").lines().count(), 1);
        for sealed in sealed {
            assert_eq!(opened(&home, &sealed).expect("it opens"), "{}");
        }
        let left = fs::read_dir(home.data()).expect("it is there").count();
        assert_eq!(left, 1, "nothing is left beside the file");
    }
}

#[test]
fn a_key_is_added_by_a_line_and_the_older_ones_still_open() {
    let (home, other) = (Home::new(), Home::new());
    let old = home.seal("{}").expect("it is sealed");
    other.seal("{}").expect("it is sealed");
    let mut lines = fs::read_to_string(home.file()).expect("it is there");
    let added = fs::read_to_string(other.file()).expect("it is there");
    lines.push_str(&added);
    fs::write(home.file(), lines).expect("it is ours");
    let new = home.seal("{}").expect("it is sealed");
    assert!(new.starts_with(&format!("sealed:{}:", &added[..16])), "{new}");
    for sealed in [old, new] {
        assert_eq!(opened(&home, &sealed).expect("it opens"), "{}");
    }
}

#[test]
fn what_is_no_key_file_is_told_and_left_as_it_is() {
    let good = Home::new();
    good.seal("{}").expect("it is sealed");
    let line = fs::read_to_string(good.file()).expect("it is there");
    let (first, flipped) = (line.replacen(' ', "", 1), format!("{}{}", &line[..20], &line[20..].replace('\n', "0\n")));
    let renamed = format!("{}{}", "0".repeat(16), &line[16..]);
    for text in
        [&b""[..], b"\n", b"notes of mine", b"\xff\xfe", first.as_bytes(), flipped.as_bytes(), renamed.as_bytes()]
    {
        let home = Home::new();
        let sealed = home.seal("{}").expect("it is sealed");
        fs::write(home.file(), text).expect("it is ours");
        let error = home.seal("{}").expect_err("there is no key in it").to_string();
        assert!(error.contains("run.keys` ") && error.contains("restore the key file"), "{error}");
        assert!(matches!(opened(&home, &sealed), Err(UnsealError::NoKey(_))));
        assert_eq!(fs::read(home.file()).expect("it is there"), text);
    }
    let home = Home::new();
    fs::create_dir_all(home.file()).expect("there is room for a directory");
    let error = home.seal("{}").expect_err("it is a directory").to_string();
    assert!(error.contains("is not a key file"), "{error}");
}
