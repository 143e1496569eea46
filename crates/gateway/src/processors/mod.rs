//! The processors of the gateway: operations of rules that change the request.
//!
//! One file per processor, named after its position. Each is registered here, once, when
//! the gateway starts; programs that embed the gateway add theirs with
//! [`GatewayBuilder::processor`](crate::GatewayBuilder::processor).
//!
//! Uses no sibling module.

mod proxy_vision;

use proxy_vision::ProxyVision;
pub(crate) use proxy_vision::{DescribeContext, POSITION as PROXY_VISION};

use majordomo_rules::Processors;

/// The processors of every gateway.
pub(crate) fn built_in() -> Processors {
    let mut processors = Processors::default();
    processors.register(ProxyVision);
    processors
}
