//! Writes what each target begins with into `corpus/<target>`, where `cargo fuzz` looks for it.

use std::path::Path;
use std::{fs, io};

use hookbox_core::digest::Digest;

fn main() -> io::Result<()> {
    for (target, _) in hookbox_fuzz::TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        fs::create_dir_all(&folder)?;
        for seed in hookbox_fuzz::seeds::of(target) {
            fs::write(folder.join(Digest::of(&seed).to_string()), seed)?;
        }
    }
    Ok(())
}
