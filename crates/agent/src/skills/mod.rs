//! Skills: instructions and tools that belong together.
//!
//! A skill is made once, shared by any number of agents, and never changes.
//! [`clock`] and [`calc`] are shipped, as examples and for use.

mod builder;
mod calc;
mod clock;
mod expression;

use crate::Toolbox;

pub use builder::{BuiltSkill, SkillBuilder};
pub use calc::calc;
pub use clock::{clock, clock_with};

/// Something that an agent can learn.
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
    /// Its name, for people.
    fn name(&self) -> &str;

    /// What the model is told; appended to the system prompt.
    fn instructions(&self) -> &str {
        ""
    }

    /// The tools that come with it; none is a skill of instructions only.
    fn toolbox(&self) -> Option<&Toolbox> {
        None
    }
}
