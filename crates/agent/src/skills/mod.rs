//! Skills: instructions bundled with tools.
//!
//! A skill is immutable and shared by any number of agents. [`clock`] and [`calc`] are
//! built in.

mod builder;
mod calc;
mod clock;
mod expression;

use crate::Toolbox;

pub use builder::{BuiltSkill, SkillBuilder};
pub use calc::calc;
pub use clock::{clock, clock_with};

/// Instructions and tools for an agent.
///
/// ```
/// use majordomo::agent::{Agent, AgentBuilder, Skill, clock};
///
/// struct Manners;
///
/// impl Skill for Manners {
///     fn name(&self) -> &str {
///         "manners"
///     }
///     fn instructions(&self) -> &str {
///         "Say please and thank you."
///     }
/// }
///
/// fn polite(agent: AgentBuilder) -> AgentBuilder {
///     agent.skill(&Manners).skill(&clock())
/// }
/// ```
pub trait Skill: Send + Sync {
    /// Returns the name, for humans.
    fn name(&self) -> &str;

    /// Returns the instructions, which are appended to the system prompt.
    fn instructions(&self) -> &str {
        ""
    }

    /// Returns the tools, if any.
    fn toolbox(&self) -> Option<&Toolbox> {
        None
    }
}
