//! Plots how each tactic distributes the same traffic, for the guide.
//!
//! `cargo run -p majordomo-balance --example balance_plots` writes one SVG per tactic to
//! `docs/guide/balancing`. Time is virtual and seeds are fixed, so the files change only
//! when a tactic does.

mod plot;
mod traffic;

use std::path::Path;
use std::{fs, io};

use majordomo_balance::Tactic;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/balancing");
    fs::create_dir_all(&folder)?;
    for tactic in Tactic::ALL {
        let run = traffic::run(tactic);
        let totals: Vec<u32> = traffic::SERVICES
            .iter()
            .enumerate()
            .map(|(service, _)| run.iter().map(|slice| slice[service]).sum())
            .collect();
        fs::write(
            folder.join(format!("{tactic}.svg")),
            plot::draw(tactic, &run),
        )?;
        println!("{tactic}: {totals:?}");
    }
    Ok(())
}
