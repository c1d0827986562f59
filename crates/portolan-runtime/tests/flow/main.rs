//! Tasks in phases: each call is made to a service that knows only what is in the files.

#[cfg(unix)]
mod checks;
mod crash;
#[cfg(unix)]
mod delivery;
mod phases;
mod shapes;
mod stand;
#[cfg(unix)]
mod world;
