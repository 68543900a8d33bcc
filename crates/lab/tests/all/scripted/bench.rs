//! Runs a method on scripted drives and hands back the record.

use super::Scripted;
use lab::{
    method::Method,
    plan::{Options, Plan},
    runner::{Event, Observer, RunError, run},
    target::Target,
};
use record::{
    Calibration, Cell, Environment, FORMAT, Flag, MethodInfo, Record, State, Tool, VERSION,
};
use stats::Grade;
use std::collections::BTreeMap;

/// A method of these cells over 1 GiB, unfilled, at grade normal.
pub fn method(cells: &str) -> String {
    let head = "name = 'test'\ntitle = 't'\nabout = 'a'\nspan = '1GiB'\n";
    format!("{head}[defaults]\nblock = '4KiB'\npattern = 'random'\n{cells}")
}

/// One run: targets, a method, and what the user and the host add.
pub struct Lab {
    pub targets: Vec<Scripted>,
    pub method: String,
    pub options: Options,
    /// The engine's own cost, ns an operation.
    pub engine_ns: f64,
    pub memory_bytes: u64,
}

impl Lab {
    /// `cells` (TOML, `[[cell]]` and on) on one target.
    pub fn new(target: &Scripted, cells: &str) -> Self {
        Self {
            targets: vec![target.clone()],
            method: method(cells),
            options: Options { seed: 7, ..Options::default() },
            engine_ns: 50.0,
            memory_bytes: 8 << 30,
        }
    }

    /// The same against a second target.
    pub fn against(mut self, other: &Scripted) -> Self {
        self.targets.push(other.clone());
        self
    }

    /// The same with these options changed.
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// The same with a line put into the method's head.
    pub fn head(mut self, line: &str) -> Self {
        self.method = format!("{line}\n{}", self.method);
        self
    }

    /// One pass instead of the grade's three.
    pub fn once(self) -> Self {
        self.with(|options| options.passes = Some(1))
    }

    /// What will be done.
    pub fn plan(&self) -> Plan {
        let method = Method::parse("test", &self.method, &[]).expect("a method");
        let offers: Vec<_> = self.targets.iter().map(Target::offer).collect();
        Plan::new(method, &self.options, &offers).expect("a plan")
    }

    /// An empty record of this run.
    pub fn record(&self) -> Record {
        let targets = self.targets.iter().map(|target| target.info().clone()).collect();
        let mut record = blank(targets, &self.plan());
        record.environment.host.memory_bytes = self.memory_bytes;
        record.calibration[0].ns_per_operation = self.engine_ns;
        record
    }

    /// Runs, adding to `record`.
    pub fn go_on(&self, record: &mut Record, watcher: &mut Watcher) -> Result<(), RunError> {
        let boxed = |target: &Scripted| Box::new(target.clone()) as Box<dyn Target>;
        let mut targets: Vec<_> = self.targets.iter().map(boxed).collect();
        run(&self.plan(), &mut targets, record, watcher)
    }

    /// Runs to the end.
    pub fn run(&self) -> Record {
        let mut record = self.record();
        self.go_on(&mut record, &mut Watcher::default()).expect("a run without errors");
        assert_eq!(record.state, State::Complete);
        record
    }
}

/// Watches, and interrupts after so many live events.
#[derive(Default)]
pub struct Watcher {
    pub interrupt_after: Option<usize>,
    pub live: usize,
    /// Cells of every record that was saved.
    pub saved: Vec<usize>,
    /// Bytes done and of how many, of every fill event.
    pub fills: Vec<(u64, u64)>,
}

impl Observer for Watcher {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Live(_) => self.live += 1,
            Event::Fill { done_bytes, total_bytes, .. } => {
                self.fills.push((done_bytes, total_bytes));
            }
            Event::Inspect { .. } | Event::Begin { .. } | Event::End { .. } | Event::Failed(_) => {}
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupt_after.is_some_and(|after| self.live >= after)
    }

    fn save(&mut self, record: &Record) {
        self.saved.push(record.cells.len());
    }
}

fn blank(targets: Vec<record::TargetInfo>, plan: &Plan) -> Record {
    Record {
        format: FORMAT.to_owned(),
        version: VERSION,
        id: "5c21a7ed".to_owned(),
        state: State::Running,
        error: None,
        tool: Tool { name: "drivelab".to_owned(), version: "0".to_owned() },
        command_line: Vec::new(),
        labels: BTreeMap::new(),
        campaign: None,
        started: "2026-01-01T00:00:00Z".to_owned(),
        finished: None,
        time: "virtual".to_owned(),
        seed: plan.seed,
        targets,
        environment: Environment::default(),
        method: MethodInfo {
            title: None,
            name: plan.method.file.name.clone(),
            layout: plan.method.file.layout.clone(),
            grade: match plan.grade {
                Grade::Quick => "quick",
                Grade::Normal => "normal",
                Grade::Publish => "publish",
            }
            .to_owned(),
            text: plan.method.text.clone(),
            options: BTreeMap::new(),
            span_bytes: plan.span_bytes,
            passes: plan.passes,
            not_measured: None,
        },
        calibration: vec![Calibration::of_virtual_time()],
        cells: Vec::new(),
        left_out: Vec::new(),
        failed: Vec::new(),
        paired: Vec::new(),
        rounds: None,
        knees: Vec::new(),
        power_cuts: None,
        expectations: Vec::new(),
        flags: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The cell of this name on target 0.
pub fn cell<'a>(record: &'a Record, name: &str) -> &'a Cell {
    let found = record.cells.iter().find(|cell| cell.name == name && cell.target == 0);
    found.unwrap_or_else(|| panic!("no cell {name} among {}", record.cells.len()))
}

/// The flags of the only cell.
pub fn flags(record: &Record) -> Vec<Flag> {
    assert_eq!(record.cells.len(), 1, "one cell");
    record.cells[0].flags.clone()
}

/// The sentence of a flag, of whichever cell has it.
pub fn warning(record: &Record, flag: Flag) -> &str {
    let mut warnings = record.cells.iter().flat_map(|cell| &cell.warnings);
    let found = warnings.find(|warning| warning.flag == Some(flag));
    &found.unwrap_or_else(|| panic!("nothing is {flag}")).text
}

/// The rates of a cell's passes, operations a second.
pub fn pass_rates(cell: &Cell) -> Vec<f64> {
    cell.passes.iter().map(|pass| pass.iops).collect()
}
