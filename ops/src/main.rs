//! The `hookbox` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    hookbox_ops::cli::main(std::env::args_os())
}
