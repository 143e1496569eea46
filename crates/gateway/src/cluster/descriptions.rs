//! Descriptions of images, shared by the nodes of a cluster.
//!
//! An entry's name is the digest of content, prompt, describers and the client's key, so a
//! tenant never reads another tenant's descriptions.

use std::time::Duration;

use majordomo::BoxFuture;
use majordomo_vision::SharedDescriptions;

use super::Cluster;

impl SharedDescriptions for Cluster {
    fn find<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(self.node.value(digest))
    }

    fn keep(&self, digest: &str, description: &str, lasts: Duration) {
        self.node.keep_value(digest, description, lasts);
    }
}
