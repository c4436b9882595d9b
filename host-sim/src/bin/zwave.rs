//! `cargo zwave`: the simulated Z-Wave controller alone.

use std::io::Write as _;

use host_sim::zwave::options::{Options, Order};
use host_sim::zwave::place;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = match Options::parse(std::env::args_os().skip(1)) {
        Ok(Order::Serve(options)) => options,
        Ok(Order::Print(text)) => {
            println!("{text}");
            return;
        }
        Err(error) => {
            eprintln!("zwave: {error}\nzwave: `cargo zwave --help` lists what it takes");
            std::process::exit(2);
        }
    };
    // On stdout there is nothing but messages.
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info"))
        .format(|out, record| writeln!(out, "{:5} {}", record.level(), record.args()))
        .target(env_logger::Target::Stderr)
        .init();
    let code = match place::serve(options.home(), &options.place).await {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("zwave: {error}");
            1
        }
    };
    // At once: the runtime would wait for more input.
    std::process::exit(code)
}
