//! Creates providers with one key, or with several.

use std::sync::Arc;

use majordomo_llm::{Error, ErrorKind, Result};
use quick_cache::sync::Cache;

use super::{HttpProvider, MAX_CACHED_MODELS};
use crate::recipe::Recipe;
use crate::settings::{MAX_KEYS, Settings};

impl HttpProvider {
    pub(crate) fn new(recipe: Arc<dyn Recipe>, settings: Settings) -> Result<Self> {
        let traits = Arc::new(Cache::new(MAX_CACHED_MODELS));
        if settings.keys.is_empty() {
            return Self::with_key(recipe, settings, traits, Vec::new(), false);
        }
        if settings.keys.len() > MAX_KEYS {
            let text = format!("it has more than {MAX_KEYS} keys");
            return Err(Error::new(ErrorKind::Spec, text).with_provider(&settings.name));
        }
        let by_key = settings.keys.iter().map(|key| {
            let settings = Settings {
                key: Some(key.clone()),
                ..settings.clone()
            };
            let traits = Arc::clone(&traits);
            Self::with_key(Arc::clone(&recipe), settings, traits, Vec::new(), true)
        });
        let by_key = by_key.collect::<Result<Vec<Self>>>()?;
        let settings = Settings {
            key: settings.keys.first().cloned(),
            ..settings
        };
        Self::with_key(recipe, settings, traits, by_key, false)
    }
}
