//! Compresses the built page, so that the program carries a third of its size, and browsers are sent that. Links the
//! program of a debug build at a fixed address.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::{Compression, GzBuilder};

fn main() -> std::io::Result<()> {
    let dist = Path::new("studio/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    let out = std::env::var_os("OUT_DIR").expect("cargo names it");
    for entry in fs::read_dir(dist)? {
        let path = entry?.path();
        let mut name = path.file_name().expect("it was listed").to_owned();
        name.push(".gz");
        // Without a time and a name in it, the same page is the same bytes.
        let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
        packed.write_all(&fs::read(&path)?)?;
        fs::write(Path::new(&out).join(name), packed.finish()?)?;
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let is_usual = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if is_usual && is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("PROFILE", "debug") {
        // Half of the 8 ms in which a debug build starts is the relocation of its tables, and the tests start thousands.
        // A release keeps its random address.
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    Ok(())
}
