//! Runs, as those see them who call the service: opened, led, checked, kept, gone back in. In one program, because linking
//! takes longer than compiling.

#[path = "../common/mod.rs"]
mod common;

mod activity_folders;
mod at_once;
mod catalogue;
mod checks;
mod children;
mod evidence;
mod journal;
mod led;
mod library;
mod past;
mod reviewed;
mod stored;
mod task_files;
