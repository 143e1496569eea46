//! Skills without a type of their own.

use super::Skill;
use crate::{Function, Toolbox, ToolboxError};

/// Puts a skill together.
///
/// ```
/// use majordomo::agent::{Function, NoArguments, Skill, SkillBuilder};
///
/// let dice = SkillBuilder::new("dice")
///     .instructions("Roll dice with the tool; never make up a number.")
///     .tool(Function::new("roll", "Rolls a die.", |_: NoArguments| async {
///         Ok::<_, String>(4) // chosen by a fair roll
///     }))
///     .build()?;
/// assert_eq!(dice.name(), "dice");
/// # Ok::<(), majordomo::agent::ToolboxError>(())
/// ```
#[derive(Debug)]
#[must_use = "a skill is made by `build`"]
pub struct SkillBuilder {
    skill: BuiltSkill,
    problem: Option<ToolboxError>,
}

/// A skill made by [`SkillBuilder`]. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct BuiltSkill {
    name: String,
    instructions: String,
    toolbox: Toolbox,
}

impl SkillBuilder {
    /// A skill that does nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            skill: BuiltSkill {
                name: name.into(),
                ..BuiltSkill::default()
            },
            problem: None,
        }
    }

    /// What the model is told.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.skill.instructions = text.into();
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, function: Function) -> Self {
        let added = self.skill.toolbox.add(function);
        self.problem = self.problem.or(added.err());
        self
    }

    /// Adds all tools of a box.
    pub fn toolbox(mut self, toolbox: &Toolbox) -> Self {
        let added = self.skill.toolbox.extend(toolbox);
        self.problem = self.problem.or(added.err());
        self
    }

    /// The skill, unless two tools share a name or a schema is unusable.
    pub fn build(self) -> Result<BuiltSkill, ToolboxError> {
        match self.problem {
            Some(problem) => Err(problem),
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
