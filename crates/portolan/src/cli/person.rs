//! Verification of the person at this terminal: the process was not started by an agent, and the person knows the
//! passphrase if there is one.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use portolan_runtime::service::{Caller, Service, ServiceError};
use portolan_supervision::people::{PassphrasePolicy, People};

use super::runs::person;

/// Returns the verified person. `act` is the act that others may not do, such as "may trust commands".
pub(super) fn confirmed(service: &Service, act: &str) -> Result<Caller, ServiceError> {
    let people = People::of(service);
    people.must_be_person(act)?;
    known(service, act)?;
    Ok(person())
}

/// Refuses a person who does not know the project's passphrase.
pub(super) fn known(service: &Service, act: &str) -> Result<(), ServiceError> {
    let people = People::of(service);
    match people.standing()? {
        PassphrasePolicy::Unset => Ok(()),
        // Fails before the passphrase is asked for, since there is nothing to compare it with.
        PassphrasePolicy::Tampered => people.confirm("", act),
        PassphrasePolicy::Set { .. } => people.confirm(&asked("Passphrase: ", act)?, act),
    }
}

/// Asks whether the person at the terminal agrees to what was shown, unless `yes` is set.
pub(super) fn consented(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        let (message, help) = (
            "these changes must be confirmed, but there is no terminal to ask at",
            "use `--yes`, or run it in a terminal",
        );
        return Err(ServiceError::refused("nobody_to_ask", message, help).into());
    }
    let mut err = io::stderr().lock();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Reads an input at the terminal without echo.
pub(super) fn asked(prompt: &str, act: &str) -> Result<String, ServiceError> {
    at_terminal(act)?;
    rpassword::prompt_password(prompt).map_err(|error| {
        let message = format!("the terminal cannot be read: {error}");
        ServiceError::failed("no_terminal", message, "run the command in a terminal of your own")
    })
}

/// Refuses if there is no terminal.
pub(super) fn at_terminal(act: &str) -> Result<(), ServiceError> {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        return Ok(());
    }
    let message = format!("only a person {act}, and there is no terminal");
    Err(ServiceError::refused("needs_person", message, "run the command yourself, in a terminal of your own"))
}
