//! `cargo zwave`: the Z-Wave controller alone, simulated or real.

use host_desktop::logging::start_log;
use host_desktop::options::Parsed;
use host_zwave::options::Options;
use host_zwave::transport;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Parsed::or_exit(Options::parse(std::env::args_os().skip(1)), "zwave");
    start_log("info", false, None);
    let served = match options.gateway() {
        Ok(gateway) => transport::serve(gateway, &options.transport).await,
        Err(error) => Err(error),
    };
    let code = match served {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("zwave: {error}");
            1
        }
    };
    // At once: the runtime would wait for more input.
    std::process::exit(code)
}
