//! Tasks in phases: each call is made to a service that knows only what is in the files.

mod agreed;
#[cfg(unix)]
mod checks;
mod crash;
mod damage;
#[cfg(unix)]
mod delivery;
mod phases;
mod rules;
mod shapes;
mod stand;
#[cfg(unix)]
mod world;
