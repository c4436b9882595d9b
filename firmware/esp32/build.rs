//! Checks the choice of the chip and hands the linker its scripts. Cargo itself tracks the variables of `src/settings.rs`.

#[cfg(not(any(feature = "esp32c3", feature = "esp32c6")))]
compile_error!(
    "no chip chosen: build with the default features for the ESP32-C3, or with `--no-default-features --features \
     esp32c6 --target riscv32imac-unknown-none-elf` for the ESP32-C6"
);
#[cfg(all(feature = "esp32c3", feature = "esp32c6"))]
compile_error!(
    "two chips chosen: `esp32c3` is the default, so the ESP32-C6 needs `--no-default-features --features esp32c6 \
     --target riscv32imac-unknown-none-elf`"
);

fn main() {
    let (chip, fitting) = if cfg!(feature = "esp32c6") {
        ("ESP32-C6", "riscv32imac-unknown-none-elf")
    } else {
        ("ESP32-C3", "riscv32imc-unknown-none-elf")
    };
    let target = std::env::var("TARGET").unwrap_or_default();
    if target != fitting {
        println!("cargo::error=the {chip} needs `--target {fitting}`, this build is for {target}");
    }

    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=wifi.x");
    println!("cargo::rustc-link-search={}", std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rustc-link-arg=-Tdefmt.x");
    println!("cargo::rustc-link-arg=-Twifi.x");
    // Has to come last.
    println!("cargo::rustc-link-arg=-Tlinkall.x");
}
