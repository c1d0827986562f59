//! `portolan studio`: who may ask it for what, what it answers, and what it tells as it happens. The page itself is tried
//! in a browser: `studio/tests`.

mod api;
mod bounds;
mod changes;
mod corpora;
pub(crate) mod described;
mod editing;
mod evaluating;
mod events;
mod hidden;
mod hooks;
mod parked;
mod passes;
mod passkeys;
mod places;
mod requests;
mod saving;
mod security;
mod servers;
mod tries;

use serde_json::Value;

use crate::served::{self, Answer, Served as Studio};
use crate::support::Project;

impl Studio {
    fn of(project: &Project, arguments: &[&str]) -> Studio {
        Studio::started(project.command(&[&["studio", "--format", "json"], arguments].concat()))
    }

    fn started(command: std::process::Command) -> Studio {
        let (child, said) = served::started(command);
        let (base, token) = said["address"].as_str().and_then(|text| text.split_once("#token=")).expect("an address");
        Studio { child, port: served::port_of(base), token: token.to_owned() }
    }

    /// A request of the page, or of a program with the token.
    fn get(&self, path: &str) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        self.with("GET", &format!("/api/v1{path}"), &[("Host", &host), ("Authorization", &bearer)], "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let headers = [("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
        self.with("POST", &format!("/api/v1{path}"), &headers, &body.to_string())
    }

    fn put(&self, path: &str, body: &Value) -> Answer {
        let (host, bearer) = (self.host(), self.bearer());
        let headers = [("Host", &*host), ("Authorization", &*bearer), ("Content-Type", "application/json")];
        self.with("PUT", &format!("/api/v1{path}"), &headers, &body.to_string())
    }
}
