//! Tasks in phases: each call is made to a service that knows only what is in the files.

mod crash;
mod delivery;
mod phases;
mod shapes;
mod stand;
