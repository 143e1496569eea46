//! Builds skills without a dedicated type.

use super::Skill;
use crate::{Function, Toolbox, ToolboxError};

/// Builds a [`Skill`].
///
/// ```
/// use majordomo::agent::{Function, NoArguments, Skill, SkillBuilder};
///
/// let dice = SkillBuilder::new("dice")
///     .instructions("Roll dice with the tool; never invent a number.")
///     .tool(Function::new("roll", "Rolls a die.", |_: NoArguments| async {
///         Ok::<_, String>(4) // chosen by a fair roll
///     }))
///     .build()?;
/// assert_eq!(dice.name(), "dice");
/// # Ok::<(), majordomo::agent::ToolboxError>(())
/// ```
#[derive(Debug)]
#[must_use = "call `build` to create the skill"]
pub struct SkillBuilder {
    skill: BuiltSkill,
    error: Option<ToolboxError>,
}

/// A skill created by [`SkillBuilder`]. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct BuiltSkill {
    name: String,
    instructions: String,
    toolbox: Toolbox,
}

impl SkillBuilder {
    /// Starts an empty skill.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            skill: BuiltSkill {
                name: name.into(),
                ..BuiltSkill::default()
            },
            error: None,
        }
    }

    /// Sets the instructions for the model.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.skill.instructions = text.into();
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, function: Function) -> Self {
        let added = self.skill.toolbox.add(function);
        self.error = self.error.or(added.err());
        self
    }

    /// Adds all tools of a toolbox.
    pub fn toolbox(mut self, toolbox: &Toolbox) -> Self {
        let added = self.skill.toolbox.extend(toolbox);
        self.error = self.error.or(added.err());
        self
    }

    /// Creates the skill.
    ///
    /// # Errors
    ///
    /// Fails if two tools share a name or a schema is invalid.
    pub fn build(self) -> Result<BuiltSkill, ToolboxError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.skill),
        }
    }
}

impl Skill for BuiltSkill {
    fn name(&self) -> &str {
        &self.name
    }

    fn instructions(&self) -> &str {
        &self.instructions
    }

    fn toolbox(&self) -> Option<&Toolbox> {
        Some(&self.toolbox)
    }
}
