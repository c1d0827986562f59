//! The programs that start what follows their options, and how those options are read. One that is not in the table may
//! have a value or not, so that nothing behind it can be told.

use super::{Why, Word};

/// A program that starts what follows its options: those without and those with a value, and how many operands of its own
/// it has.
pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    pub(super) operands: usize,
}

const fn plain(names: &'static [&'static str]) -> Wrapper {
    Wrapper { names, flags: &[], valued: &[], operands: 0 }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    plain(&[
        "builtin",
        "nohup",
        "noglob",
        "nocorrect",
        "busybox",
        "toybox",
        "eatmydata",
        "winpty",
        "chronic",
        "dumb-init",
        "tini",
        "rlwrap",
        "pkexec",
        "catchsegv",
        "torsocks",
        "proxychains",
        "systemd-inhibit",
        "xvfb-run",
        "-",
        "--",
        "!",
    ]),
    Wrapper {
        names: &["ssh-agent"],
        flags: &["-c", "-D", "-d", "-k", "-s", "-T", "-u", "-U", "-v"],
        valued: &["-a", "-E", "-O", "-P", "-t"],
        operands: 0,
    },
    Wrapper { names: &["choom"], flags: &[], valued: &["-n", "-p", "--adjust", "--pid"], operands: 0 },
    Wrapper { names: &["debconf"], flags: &[], valued: &["-o", "-f", "-p"], operands: 0 },
    Wrapper { names: &["dbus-run-session"], flags: &[], valued: &["--config-file", "--dbus-daemon"], operands: 0 },
    Wrapper { names: &["command"], flags: &["-p"], valued: &[], operands: 0 },
    Wrapper { names: &["exec"], flags: &["-c", "-l"], valued: &["-a"], operands: 0 },
    Wrapper {
        names: &["time", "gtime"],
        flags: &["-p", "-v", "-a", "-q", "--verbose", "--portability", "--append", "--quiet"],
        valued: &["-f", "-o", "--format", "--output"],
        operands: 0,
    },
    Wrapper {
        names: &["sudo"],
        flags: &[
            "-E",
            "-n",
            "-H",
            "-k",
            "-b",
            "-S",
            "-A",
            "-P",
            "-B",
            "-i",
            "-s",
            "-N",
            "--preserve-env",
            "--non-interactive",
            "--set-home",
            "--background",
            "--stdin",
            "--login",
            "--shell",
            "--askpass",
        ],
        valued: &[
            "-u", "-g", "-p", "-C", "-T", "-h", "-D", "-R", "-r", "-t", "--user", "--group", "--prompt", "--host",
            "--chdir",
        ],
        operands: 0,
    },
    Wrapper { names: &["doas"], flags: &["-n", "-L", "-s"], valued: &["-u", "-a", "-C"], operands: 0 },
    Wrapper { names: &["nice", "gnice"], flags: &[], valued: &["-n", "--adjustment"], operands: 0 },
    Wrapper {
        names: &["ionice"],
        flags: &["-t", "--ignore"],
        valued: &["-c", "-n", "--class", "--classdata"],
        operands: 0,
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: &["-v", "-f", "-p", "--verbose", "--preserve-status", "--foreground"],
        valued: &["-s", "-k", "--signal", "--kill-after"],
        operands: 1,
    },
    Wrapper {
        names: &["stdbuf"],
        flags: &[],
        valued: &["-i", "-o", "-e", "--input", "--output", "--error"],
        operands: 0,
    },
    Wrapper { names: &["setsid"], flags: &["-f", "-w", "-c", "--fork", "--wait", "--ctty"], valued: &[], operands: 0 },
    Wrapper { names: &["caffeinate"], flags: &["-d", "-i", "-m", "-s", "-u"], valued: &["-t", "-w"], operands: 0 },
    Wrapper { names: &["taskset", "faketime"], flags: &["-a", "-c"], valued: &[], operands: 1 },
    Wrapper {
        names: &["env", "genv"],
        flags: &["-i", "-0", "-v", "--ignore-environment", "--null", "--debug"],
        valued: &["-u", "-C", "-S", "--unset", "--chdir", "--split-string"],
        operands: 0,
    },
    Wrapper { names: &["cross-env", "fakeroot"], flags: &[], valued: &[], operands: 0 },
    Wrapper {
        names: &["xargs", "gxargs"],
        flags: &[
            "-0",
            "-r",
            "-t",
            "-p",
            "-x",
            "-o",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--interactive",
            "--exit",
            "--open-tty",
        ],
        valued: &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "-a",
            "-J",
            "-R",
            "--replace",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--eof",
            "--arg-file",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["flock"],
        flags: &[
            "-s",
            "-x",
            "-e",
            "-n",
            "-u",
            "-o",
            "-F",
            "--shared",
            "--exclusive",
            "--nonblock",
            "--close",
            "--no-fork",
        ],
        valued: &["-w", "-E", "--timeout", "--wait", "--conflict-exit-code"],
        operands: 1,
    },
    Wrapper {
        names: &["unshare"],
        flags: &[
            "-m",
            "-u",
            "-i",
            "-n",
            "-p",
            "-U",
            "-C",
            "-T",
            "-f",
            "-r",
            "-c",
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--user",
            "--cgroup",
            "--time",
            "--fork",
            "--map-root-user",
            "--map-current-user",
            "--mount-proc",
            "--kill-child",
            "--keep-caps",
        ],
        valued: &["-R", "-w", "-S", "-G", "--root", "--wd", "--setuid", "--setgid"],
        operands: 0,
    },
    Wrapper {
        names: &["nsenter"],
        flags: &["-a", "-m", "-u", "-i", "-n", "-p", "-C", "-U", "-T", "-F", "-r", "-w", "--all", "--no-fork"],
        valued: &["-t", "-S", "-G", "--target", "--setuid", "--setgid"],
        operands: 0,
    },
    Wrapper {
        names: &["setpriv"],
        flags: &["--no-new-privs", "--clear-groups", "--keep-groups", "--init-groups", "--reset-env", "--nnp"],
        valued: &[
            "--reuid",
            "--regid",
            "--ruid",
            "--rgid",
            "--euid",
            "--egid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["prlimit"],
        flags: &[
            "--core",
            "--cpu",
            "--data",
            "--fsize",
            "--nofile",
            "--nproc",
            "--stack",
            "--as",
            "--rss",
            "--memlock",
            "--nice",
        ],
        valued: &[],
        operands: 0,
    },
    Wrapper { names: &["chrt"], flags: &["-f", "-r", "-b", "-o", "-i", "-R", "-v"], valued: &[], operands: 1 },
    Wrapper {
        names: &["linux32", "linux64", "i386", "x86_64", "uname26"],
        flags: &["-R", "-v", "-B", "-F", "-I", "-L", "-S", "-T", "-X", "-Z", "-3", "--addr-no-randomize"],
        valued: &[],
        operands: 0,
    },
    Wrapper {
        names: &["strace", "ltrace"],
        flags: &[
            "-f",
            "-c",
            "-C",
            "-d",
            "-q",
            "-r",
            "-t",
            "-T",
            "-v",
            "-w",
            "-x",
            "-y",
            "-k",
            "-z",
            "-Z",
            "-i",
            "-D",
            "-F",
            "-S",
            "--follow-forks",
            "--summary-only",
            "--quiet",
        ],
        valued: &[
            "-e", "-o", "-p", "-s", "-a", "-E", "-u", "-I", "-O", "-P", "-b", "-X", "-l", "-n", "--trace", "--output",
        ],
        operands: 0,
    },
    Wrapper { names: &["chroot"], flags: &["--skip-chdir"], valued: &["--userspec", "--groups"], operands: 1 },
    Wrapper {
        names: &["systemd-run"],
        flags: &[
            "--user",
            "--system",
            "--scope",
            "--wait",
            "--pipe",
            "-P",
            "-q",
            "--quiet",
            "-t",
            "--pty",
            "-d",
            "--same-dir",
            "-G",
            "--collect",
            "-r",
            "--no-block",
            "--no-ask-password",
        ],
        valued: &[
            "-p",
            "--property",
            "-u",
            "--unit",
            "-E",
            "--setenv",
            "--uid",
            "--gid",
            "--slice",
            "--working-directory",
            "--description",
            "--on-active",
            "--on-calendar",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["ld.so"],
        flags: &["--inhibit-cache"],
        valued: &["--library-path", "--preload", "--argv0", "--audit"],
        operands: 0,
    },
    Wrapper {
        names: &["watch"],
        flags: &["-d", "-t", "-b", "-e", "-g", "-c", "-x", "-p", "--differences", "--no-title", "--exec"],
        valued: &["-n", "-q", "--interval"],
        operands: 0,
    },
];

/// The options that a program is given before what it starts.
pub(super) struct Options {
    /// Where the operands begin.
    pub(super) at: usize,
    pub(super) given: Vec<(String, Word)>,
}

/// Reads the options of `wrapper` from `at` on.
pub(super) fn options(wrapper: &Wrapper, words: &[Word], mut at: usize) -> Result<Options, Why> {
    let mut given = Vec::new();
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            if matches!(wrapper.names[0], "env" | "cross-env") {
                break;
            }
            return Err(Why::DynamicCommand);
        };
        match text {
            "--" => {
                at += 1;
                break;
            }
            "-" if wrapper.names[0] == "env" => at += 1,
            _ if !text.starts_with('-') || text == "-" => break,
            // `nice -10`
            _ if wrapper.names[0] == "nice"
                && text[1..].trim_start_matches('-').chars().all(|c| c.is_ascii_digit()) =>
            {
                at += 1
            }
            _ if text.starts_with("--") => at += long(wrapper, words, at, text, &mut given)?,
            _ => at += short(wrapper, words, at, text, &mut given)?,
        }
    }
    Ok(Options { at, given })
}

fn long(
    wrapper: &Wrapper,
    words: &[Word],
    at: usize,
    text: &str,
    given: &mut Vec<(String, Word)>,
) -> Result<usize, Why> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if wrapper.flags.contains(&name) {
        given.push((name.to_owned(), Word::from("")));
        return Ok(1);
    }
    if !wrapper.valued.contains(&name) {
        return Err(Why::UnknownOption);
    }
    match value {
        Some(value) => given.push((name.to_owned(), Word::from(value))),
        None => given.push((name.to_owned(), words.get(at + 1).cloned().ok_or(Why::UnknownOption)?)),
    }
    Ok(if value.is_some() { 1 } else { 2 })
}

fn short(
    wrapper: &Wrapper,
    words: &[Word],
    at: usize,
    text: &str,
    given: &mut Vec<(String, Word)>,
) -> Result<usize, Why> {
    for (place, letter) in text.char_indices().skip(1) {
        let option = format!("-{letter}");
        if wrapper.valued.contains(&option.as_str()) {
            let attached = &text[place + letter.len_utf8()..];
            let inside = !attached.is_empty();
            let value = if inside { Some(Word::from(attached)) } else { words.get(at + 1).cloned() };
            if value.as_ref().is_some_and(Word::is_several) {
                return Err(Why::DynamicCommand);
            }
            given.push((option, value.ok_or(Why::UnknownOption)?));
            return Ok(if inside { 1 } else { 2 });
        }
        if !wrapper.flags.contains(&option.as_str()) {
            return Err(Why::UnknownOption);
        }
        given.push((option, Word::from("")));
    }
    Ok(1)
}
