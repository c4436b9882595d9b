//! `cargo zwave`: the simulated Z-Wave controller alone.

use host_sim::logging::start_log;
use host_sim::options::Parsed;
use host_sim::options::zwave::Options;
use host_sim::zwave::transport;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Parsed::or_exit(Options::parse(std::env::args_os().skip(1)), "zwave");
    start_log("info", false, None);
    let code = match transport::serve(options.home().gateway().clone(), &options.transport).await {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("zwave: {error}");
            1
        }
    };
    // At once: the runtime would wait for more input.
    std::process::exit(code)
}
