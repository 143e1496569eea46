//! Memory that the vision proxy allocates for an opaque block. Its own test binary, because
//! it measures the allocations of the whole process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::System;

use cap::Cap;
use majordomo_vision::{Scope, Vision, VisionConfig};
use majordomo_wire::Protocol;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Peak bytes that the work allocates on top of what was allocated before.
async fn peak_of(work: impl Future<Output = ()>) -> usize {
    // Only a peak above all earlier ones is visible.
    let ballast = ALLOCATOR.max_allocated() - ALLOCATOR.allocated();
    let ballast = vec![0u8; ballast];
    let before = ALLOCATOR.max_allocated();
    work.await;
    drop(ballast);
    ALLOCATOR.max_allocated() - before
}

/// Texts whose elements are as small as JSON allows.
fn shapes() -> [(&'static str, String); 3] {
    const COUNT: usize = 500_000;
    let objects = format!("[{}{{}}]", "{},".repeat(COUNT));
    let numbers = format!("[{}1]", "1,".repeat(COUNT));
    let fields: Vec<String> = (0..COUNT / 4).map(|n| format!("\"{n:x}\":0")).collect();
    let fields = format!("{{{}}}", fields.join(","));
    [
        ("objects", objects),
        ("numbers", numbers),
        ("fields", fields),
    ]
}

#[tokio::test]
async fn scanning_an_opaque_block_allocates_at_most_three_times_its_size() {
    let pixel = "R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==";
    for (name, filler) in shapes() {
        let image = format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/gif","data":"{pixel}"}}}}"#
        );
        let block = format!(
            r#"{{"type":"document","x":{filler},"source":{{"type":"content","content":[{image}]}}}}"#
        );
        let length = block.len();
        let body = format!(
            r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":[{block}]}}]}}"#
        );
        drop(block);
        let incoming = Protocol::Messages.codec().read_request(body.into());
        let request = incoming.unwrap().request;
        let peak = peak_of(async {
            assert!(Vision::has_images(request.prompt()));
            let vision = Vision::new(VisionConfig::default());
            let scope = Scope::of_key("a");
            let described = vision
                .describe(request.clone(), None, &scope)
                .await
                .unwrap();
            assert!(!Vision::has_images(described.request.prompt()), "{name}");
        })
        .await;
        // The new block, and the copy made by editing a shared request.
        assert!(peak <= 3 * length, "{name}: {peak} for {length}");
    }
}
