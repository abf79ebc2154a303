#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| hookbox_fuzz::decode::holds(data));

#[cfg(not(fuzzing))]
fn main() {}
