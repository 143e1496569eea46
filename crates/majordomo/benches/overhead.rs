//! The overhead of a chain of three with a healthy head over calling the head directly.
//!
//! `cargo bench -p majordomo --bench overhead`; compare the medians and the
//! allocation counts of one run: `chain_of_three` minus `head_alone`.

use divan::{AllocProfiler, Bencher};
use majordomo::fake::Fake;
use majordomo::{Model, Provider, Registry, Request};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// Generates one response per iteration; the fake forgets its calls in between.
fn answers(bencher: Bencher<'_, '_>, fake: &Fake, model: &dyn Model) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime without I/O always starts");
    let request = Request::user("hi").system("You are terse.");
    bencher
        .with_inputs(|| {
            fake.forget_calls();
            request.clone()
        })
        .bench_local_values(|request| runtime.block_on(model.generate(request)));
}

#[divan::bench]
fn head_alone(bencher: Bencher<'_, '_>) {
    let fake = Fake::new("fp");
    let model = fake.model("a").expect("the fake has every model");
    answers(bencher, &fake, &*model);
}

#[divan::bench]
fn chain_of_three(bencher: Bencher<'_, '_>) {
    let fake = Fake::new("fp");
    let registry = Registry::empty();
    registry.register(fake.clone());
    let chain = registry
        .model("fp/a,fp/b,fp/c")
        .expect("the fake has every model");
    answers(bencher, &fake, &chain);
}
