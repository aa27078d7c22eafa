//! The scripts that one load runs, with one table of variables between them.
//!
//! A client of pgbench has one set of variables whichever of its scripts runs; so slots are
//! renumbered here to mean the same variable in every script. Which script runs when is the
//! driver's choice.

use super::flow::Flow;
use super::names::Names;
use super::sleep::Time;
use super::{Command, Script, Slot};

/// Scripts whose slots agree.
#[derive(Debug, Clone)]
pub struct Program {
    pub(super) scripts: Vec<Script>,
    pub(super) names: Names,
}

impl Program {
    /// Joins scripts; they are numbered in this order, from 0.
    pub fn new(mut scripts: Vec<Script>) -> Program {
        let mut names = Names::new();
        for script in &mut scripts {
            let slots: Vec<Slot> = script.names.all().iter().map(|name| names.slot(name)).collect();
            let mut renumber = |slot: &mut Slot| *slot = slots[slot.index()];
            for statement in &mut script.statements {
                statement.parameters.iter_mut().for_each(&mut renumber);
            }
            for command in &mut script.commands {
                match command {
                    Command::Set(set) => {
                        renumber(&mut set.variable);
                        set.expression.for_each_slot(&mut renumber);
                    }
                    Command::Flow(Flow::If(branch) | Flow::Elif(branch)) => {
                        branch.condition.for_each_slot(&mut renumber);
                    }
                    Command::Sleep(sleep) => {
                        if let Time::Variable(slot) = &mut sleep.time {
                            renumber(slot);
                        }
                    }
                    Command::Sql(_) | Command::Flow(_) | Command::Pipeline(..) => {}
                }
            }
        }
        for script in &mut scripts {
            script.names = names.clone();
        }
        Program { scripts, names }
    }

    /// The scripts, by number.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// The slot of a variable, if a script uses or sets it or pgbench predefines it.
    pub fn slot(&self, name: &str) -> Option<Slot> {
        self.names.find(name)
    }
}

impl From<Script> for Program {
    fn from(script: Script) -> Program {
        Program::new(vec![script])
    }
}
