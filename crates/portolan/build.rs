//! Compresses the built page, so that the program carries a third of its size, and browsers are sent that.

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
    Ok(())
}
