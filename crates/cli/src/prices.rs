//! `majordomo prices`: lists prices per million tokens.

use majordomo_gateway::ledger::Rate;

use crate::error::CliError;
use crate::ledger_args::PricesArgs;
use crate::{ledger, output};

pub(crate) fn run(args: &PricesArgs) -> Result<(), CliError> {
    let tools = ledger::tools(args.config.as_deref())?;
    let book = tools.book();
    let now = tools.now_millis();
    let part = args.model.as_deref().unwrap_or_default();
    let mut rows = Vec::new();
    for (vendor, model) in book.search(part) {
        let Some(card) = book.listed(vendor, model, None, now) else {
            continue;
        };
        let text = |rate: Option<Rate>| rate.map_or("-".to_owned(), |rate| rate.to_string());
        let mut tiers = vec![(String::new(), *card.rates(0))];
        let above = card.tiers().iter();
        tiers.extend(above.map(|(above, rates)| (format!(" above {above}"), *rates)));
        for (above, rates) in tiers {
            rows.push([
                format!("{vendor}/{model}{above}"),
                text(rates.input),
                text(rates.cache_read),
                text(rates.cache_write_5m),
                text(rates.cache_write_1h),
                text(rates.output),
            ]);
        }
    }
    if rows.is_empty() {
        let text = format!(
            "no price is listed for `{part}`; add one as [prices.\"provider/model\"] to majordomo.toml"
        );
        return Err(CliError::new(text));
    }
    output::table(
        [
            "MODEL",
            "INPUT",
            "CACHE READ",
            "WRITE 5M",
            "WRITE 1H",
            "OUTPUT",
        ],
        &rows,
    )?;
    if let Some(date) = book.date() {
        output::note(&format!("US dollars per million tokens, as of {date}"));
    }
    Ok(())
}
