//! One client of a load: its variables, its generator and its place in a script.
//!
//! Owns what a client remembers between transactions (variables and generator, as in pgbench).
//! Does no I/O: it says which statement comes next and writes the values that belong to it. In
//! the steady state nothing here allocates, once the caller's buffers have grown.

use std::sync::Arc;

use super::capture::ResultRows;
use super::fault::RunError;
use super::names::{PREDEFINED, Slot};
use super::program::Program;
use super::random::Random;
use super::run::{Debugged, Run, Step, Variable};
use super::statement::Statement;
use super::value::Value;

/// The variables that are there before a client's first transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Predefined {
    /// `:client_id`, from 0.
    pub client_id: i64,
    /// `:default_seed` of hash functions and `permute`, the same for all clients of a run.
    pub default_seed: i64,
    /// `:random_seed`, the run's seed.
    pub random_seed: i64,
    /// `:scale`; 1 unless the tables were made at another scale.
    pub scale: i64,
}

/// One client.
pub struct Machine {
    program: Arc<Program>,
    run: Run,
}

impl Machine {
    /// A client at the start of the program's first script. `seed` is that of its generator;
    /// [`super::Seeds`] has the one that pgbench would use.
    pub fn new(program: &Arc<Program>, seed: u64, predefined: Predefined) -> Machine {
        let mut variables = vec![Variable::Undefined; program.names.all().len()];
        let Predefined { client_id, default_seed, random_seed, scale } = predefined;
        // The order is that of PREDEFINED, whose slots come first.
        let values: [i64; PREDEFINED.len()] = [client_id, default_seed, random_seed, scale];
        for (variable, value) in variables.iter_mut().zip(values) {
            *variable = Variable::Value(Value::Integer(value));
        }
        let random = Random::from_seed(seed);
        Machine { program: Arc::clone(program), run: Run::new(variables, random) }
    }

    /// Gives a variable a text as its value, as pgbench's `-D` does; says whether any script
    /// has the variable. Predefined ones can be overridden.
    pub fn define(&mut self, name: &str, text: &str) -> bool {
        match self.program.slot(name) {
            Some(slot) => {
                self.run.variables[slot.index()] = Variable::Text(text.to_owned());
                true
            }
            None => false,
        }
    }

    /// Has `show` called with the argument of each call of `debug`, which otherwise shows
    /// nothing.
    pub fn on_debug(&mut self, show: impl FnMut(Debugged) + Send + 'static) {
        self.run.debug = Some(Box::new(show));
    }

    /// Starts a transaction with a script of the program, by number; variables stay.
    ///
    /// A number that the program does not have is a script without commands.
    pub fn begin(&mut self, script: usize) {
        self.run.script = script;
        self.run.position = 0;
        self.run.pipelining = false;
        self.run.random_at_begin.clone_from(&self.run.random);
    }

    /// Starts the next transaction with the same script; variables stay.
    pub fn restart(&mut self) {
        self.begin(self.run.script);
    }

    /// Takes the transaction back to its start, to try it again after a serialization failure
    /// or deadlock: the generator gives the same numbers once more, variables stay as they are.
    pub fn retry(&mut self) {
        self.run.position = 0;
        self.run.pipelining = false;
        self.run.random.clone_from(&self.run.random_at_begin);
    }

    /// The number of the script that runs.
    pub fn script(&self) -> usize {
        self.run.script
    }

    /// Runs the script's commands up to the next that the driver has a part in, or to its end. After an error the client
    /// cannot go on with this transaction.
    #[expect(
        clippy::should_implement_trait,
        reason = "an Iterator would end for good where the next transaction goes on"
    )]
    pub fn next(&mut self) -> Result<Step, RunError> {
        self.run.next(&self.program)
    }

    /// Gives variables what a statement's `\gset` or `\aset` takes from one of its results: the columns' names with
    /// the last row's texts, a NULL being the empty text as in pgbench. Call it for each result in turn; a statement
    /// without either takes nothing.
    pub fn capture<'r>(
        &mut self,
        index: usize,
        result: ResultRows,
        columns: impl Iterator<Item = (&'r [u8], Option<&'r [u8]>)>,
    ) -> Result<(), RunError> {
        self.run.capture(&self.program, index, result, columns)
    }

    /// The statement of a [`Step`], in the script that runs.
    ///
    /// # Panics
    /// If the index is not from a step of this transaction.
    pub fn statement(&self, index: usize) -> &Statement {
        &self.program.scripts[self.run.script].statements[index]
    }

    /// Appends a variable's text and says whether it has any; without one, bind NULL. The value
    /// NULL has the text `NULL`, which is what pgbench binds for it.
    pub fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        self.run.write_text(slot, out)
    }

    /// Appends a statement's text for the simple protocol, with the variables' texts put in.
    pub fn simple_text(&self, statement: &Statement, out: &mut Vec<u8>) {
        statement.write_simple(out, |slot, out| self.write_text(slot, out));
    }

    /// A variable's text by its name; none if it has no value.
    pub fn text(&self, name: &str) -> Option<String> {
        let mut text = Vec::new();
        let slot = self.program.slot(name)?;
        self.write_text(slot, &mut text).then(|| String::from_utf8_lossy(&text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Script, ScriptError, Seeds};
    use super::*;

    fn machine(texts: &[&str]) -> Result<Machine, Vec<ScriptError>> {
        let scripts = texts.iter().map(|text| Script::parse(text)).collect::<Result<_, _>>()?;
        let seeds = Seeds::new(42, 1);
        let predefined = Predefined { client_id: 3, default_seed: seeds.default_seed, random_seed: 42, scale: 10 };
        Ok(Machine::new(&Arc::new(Program::new(scripts)), seeds.clients[0], predefined))
    }

    /// The texts that the simple protocol would send for the rest of the transaction.
    fn sent(machine: &mut Machine) -> Vec<String> {
        let mut texts = Vec::new();
        while let Ok(Step::Statement(index)) = machine.next() {
            let mut text = Vec::new();
            machine.simple_text(machine.statement(index), &mut text);
            texts.push(String::from_utf8_lossy(&text).into_owned());
        }
        texts
    }

    /// What the other protocols would send as parameters, none for NULL.
    fn bound(machine: &Machine, index: usize) -> Vec<Option<String>> {
        let bind = |slot: &Slot| {
            let mut text = Vec::new();
            machine.write_text(*slot, &mut text).then(|| String::from_utf8_lossy(&text).into_owned())
        };
        machine.statement(index).parameters.iter().map(bind).collect()
    }

    #[test]
    fn statements_come_in_order_with_the_values_of_their_moment() -> Result<(), Vec<ScriptError>> {
        let mut machine =
            machine(&["\\set x 1\nSELECT :x;\n\\set x :x + :scale\nSELECT :x, ':x', :x::int, :client_id;\nEND"])?;
        assert_eq!(sent(&mut machine), ["SELECT 1;", "SELECT 11, '11', 11::int, 3;", "END"]);
        assert_eq!(machine.next(), Ok(Step::Finished));
        assert_eq!(machine.next(), Ok(Step::Finished));
        Ok(())
    }

    #[test]
    fn a_name_without_a_value_stays_in_the_text_and_is_bound_as_null() -> Result<(), Vec<ScriptError>> {
        let mut machine = machine(&["SELECT :later, a[1:n], :nul;\n\\set later 5\n\\set nul NULL"])?;
        assert_eq!(machine.next(), Ok(Step::Statement(0)));
        assert_eq!(bound(&machine, 0), [None, None, None]);
        machine.restart();
        assert_eq!(sent(&mut machine), ["SELECT :later, a[1:n], :nul;"]);
        machine.restart();
        assert_eq!(sent(&mut machine), ["SELECT 5, a[1:n], NULL;"]);
        // pgbench binds the text NULL for the value NULL.
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(bound(&machine, 0), [text("5"), None, text("NULL")]);
        Ok(())
    }

    #[test]
    fn variables_and_generator_go_on_from_one_transaction_to_the_next() -> Result<(), Vec<ScriptError>> {
        let text = "\\set n :n + 1\n\\set r random(1, 1000000000)\nSELECT :n, :r;";
        let mut client = machine(&[text])?;
        assert!(client.define("n", "0"));
        assert!(!client.define("unknown", "0"));
        let mut transactions = Vec::new();
        for _ in 0..3 {
            client.restart();
            transactions.extend(sent(&mut client));
        }
        assert!(transactions[2].starts_with("SELECT 3, "));
        assert_ne!(transactions[0][9..], transactions[1][9..]);

        // A second try draws the same numbers; other variables are left as they are.
        client.retry();
        let retried = sent(&mut client);
        assert_eq!(retried[0][9..], transactions[2][9..]);
        assert!(retried[0].starts_with("SELECT 4, "));

        let mut same = machine(&[text])?;
        same.define("n", "0");
        assert_eq!(sent(&mut same), transactions[..1]);
        Ok(())
    }

    #[test]
    fn scripts_of_one_client_share_its_variables() -> Result<(), Vec<ScriptError>> {
        let mut machine =
            machine(&["\\set a 1\n\\set b 2\nSELECT :a, :b;", "\\set c hash(:b, 1) - hash(2, 1)\nSELECT :b, :a, :c;"])?;
        machine.begin(0);
        assert_eq!(sent(&mut machine), ["SELECT 1, 2;"]);
        machine.begin(1);
        assert_eq!(sent(&mut machine), ["SELECT 2, 1, 0;"]);
        machine.begin(7);
        assert_eq!(machine.next(), Ok(Step::Finished));
        Ok(())
    }

    #[test]
    fn an_error_names_its_command_and_place() -> Result<(), Vec<ScriptError>> {
        let text = "SELECT 1;\n\\set y 1 / (:scale - 10) \nSELECT 2;";
        let mut machine = machine(&["SELECT 0;", text])?;
        machine.begin(1);
        assert_eq!(machine.next(), Ok(Step::Statement(0)));
        let error = machine.next().err();
        assert_eq!(
            error.as_ref().map(ToString::to_string).as_deref(),
            Some("failed to evaluate \\set y (command 2 of script 1): division by zero")
        );
        assert_eq!(error.map(|error| &text[error.range]), Some("\\set y 1 / (:scale - 10)"));
        Ok(())
    }

    #[test]
    fn given_texts_are_sent_as_written_and_read_as_values() -> Result<(), Vec<ScriptError>> {
        let mut machine = machine(&["\\set y :x + 1\nSELECT :x, :y, :scale;"])?;
        machine.define("x", "007");
        machine.define("scale", "0.50");
        assert_eq!(sent(&mut machine), ["SELECT 007, 8, 0.50;"]);
        assert_eq!(machine.text("y").as_deref(), Some("8"));
        assert_eq!(machine.text("z"), None);
        Ok(())
    }

    #[test]
    fn two_machines_of_one_program_run_apart() -> Result<(), Vec<ScriptError>> {
        fn can_move<T: Send>(_: &T) {}
        let script = Script::parse("\\set x random(1, 1000000000)\nSELECT :x;")?;
        let program = Arc::new(Program::from(script));
        let seeds = Seeds::new(1, 2);
        let mut texts = seeds.clients.iter().map(|seed| {
            let predefined = Predefined { client_id: 0, default_seed: seeds.default_seed, random_seed: 1, scale: 1 };
            let mut machine = Machine::new(&program, *seed, predefined);
            can_move(&machine);
            sent(&mut machine)
        });
        assert_ne!(texts.next(), texts.next());
        Ok(())
    }
}
