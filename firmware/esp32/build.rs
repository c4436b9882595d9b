//! Checks the choice of the chip, watches the settings and hands the linker its scripts.

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

/// The variables that `src/settings.rs` reads.
const SETTINGS: [&str; 8] = [
    "HEARTHWAVE_WIFI_SSID",
    "HEARTHWAVE_WIFI_PASSWORD",
    "HEARTHWAVE_BROKER",
    "HEARTHWAVE_BROKER_USER",
    "HEARTHWAVE_BROKER_PASSWORD",
    "HEARTHWAVE_HUB_ID",
    "MCP_TOOL_PREFIX",
    "MCP_INCLUDE_EXAMPLE_TOOLS",
];

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
    for name in SETTINGS {
        println!("cargo::rerun-if-env-changed={name}");
    }

    println!("cargo::rustc-link-arg=-Tdefmt.x");
    // Has to come last.
    println!("cargo::rustc-link-arg=-Tlinkall.x");
}
