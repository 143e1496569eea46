//! The page of a model list that a client requests.

use http::Uri;
use majordomo::llm::ModelInfo;
use percent_encoding::percent_decode_str;

/// One page of a list, by Anthropic's or Google's query parameters; all of it by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListPage {
    limit: Option<usize>,
    after: Option<String>,
    before: Option<String>,
}

impl ListPage {
    pub(super) fn of(uri: &Uri) -> Self {
        let mut page = Self::default();
        for pair in uri.query().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            if value.is_empty() {
                continue;
            }
            match name {
                // A limit that is no number is ignored, like a parameter that is unknown.
                "limit" | "pageSize" => page.limit = value.parse().ok().filter(|it| *it > 0),
                "after_id" | "pageToken" => page.after = Some(value),
                "before_id" => page.before = Some(value),
                _ => {}
            }
        }
        page
    }

    /// The models of this page, and whether there are more. An unknown id has none after it.
    pub(crate) fn of_models<'m>(&self, models: &'m [ModelInfo]) -> (&'m [ModelInfo], bool) {
        let position = |id: &String| models.iter().position(|model| model.id == *id);
        let limit = self.limit.unwrap_or(models.len());
        if let Some(before) = &self.before {
            let end = position(before).unwrap_or(0);
            let start = end.saturating_sub(limit);
            return (&models[start..end], start > 0);
        }
        let start = match &self.after {
            Some(after) => position(after).map_or(models.len(), |at| at + 1),
            None => 0,
        };
        let end = start.saturating_add(limit).min(models.len());
        (&models[start..end], end < models.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(query: &str) -> (String, bool) {
        let models: Vec<ModelInfo> = ["a", "b/1", "c"]
            .map(|id| ModelInfo {
                id: id.to_owned(),
                capabilities: None,
            })
            .into();
        let uri: Uri = format!("/v1/models?{query}").parse().unwrap();
        let (page, more) = ListPage::of(&uri).of_models(&models);
        let ids: Vec<&str> = page.iter().map(|model| &*model.id).collect();
        (ids.join(" "), more)
    }

    #[test]
    fn a_page_is_limited_and_begins_after_or_ends_before_an_id() {
        for (query, page, more) in [
            ("", "a b/1 c", false),
            ("limit=2", "a b/1", true),
            ("limit=3", "a b/1 c", false),
            ("pageSize=1&pageToken=a", "b/1", true),
            ("after_id=b%2F1", "c", false),
            ("after_id=nope", "", false),
            ("before_id=c&limit=1", "b/1", true),
            ("before_id=b%2F1", "a", false),
            ("limit=0", "a b/1 c", false),
            ("limit=x&key=secret", "a b/1 c", false),
        ] {
            assert_eq!(ids(query), (page.to_owned(), more), "{query}");
        }
    }
}
