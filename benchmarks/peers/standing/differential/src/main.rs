//! Standing queries in differential dataflow, the rules as rows: one dataflow a structure, a timestamp a document.
//!
//! `standing BASE FOLDER` speaks as benchmarks/peers/standing/serving.py says, over the documents that
//! benchmarks/workloads/mdv.py makes, as integers: no terms, no parsing, nothing durable. What an event does not change
//! is not given to it. Kinds: OID, PATH (structures), JOIN and JOIN by = (the text compared beforehand), HUB.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::rc::Rc;
use std::time::Instant;

use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::VecCollection;
use timely::dataflow::ProbeHandle;

type Time = u32;
type Sign = isize;
type Pairs<'a> = VecCollection<'a, Time, (u32, u32), Sign>;
/// Provider, rule, time and sign.
type Changes = Rc<RefCell<Vec<(u32, u32, Time, Sign)>>>;

const REMOVED: u64 = 1 << 31;

#[derive(Clone)]
struct Base {
    kind: String,
    rules: u32,
    structures: u32,
}

/// The facts of a document that some query asks of.
#[derive(Clone, Copy, Default, PartialEq)]
struct Document {
    /// It is a CycleProvider, and its host is the domain's.
    provider: Option<u32>,
    /// What it refers to.
    refers: Option<(u32, u32)>,
    /// A server whose CPU is asked of, its structure and its memory.
    server: Option<(u32, u32, u32)>,
}

impl Base {
    fn document(&self, number: u32, turn: u32) -> Document {
        if self.kind == "HUB" {
            if number == 0 {
                return Document { server: Some((0, 0, turn % self.rules)), ..Document::default() };
            }
            return Document { provider: Some(number), refers: Some((number, 0)), server: None };
        }
        let rule = number % self.rules;
        let (structure, mut constant) = (rule % self.structures, rule / self.structures);
        if self.kind != "OID" {
            constant = (constant + turn % 2) % (self.rules / self.structures).max(1);
        }
        Document {
            provider: Some(number),
            refers: Some((number, number)),
            server: Some((number, structure, constant)),
        }
    }
}

struct Inputs {
    /// Providers, each with itself.
    providers: InputSession<Time, (u32, u32), Sign>,
    /// Server and provider.
    references: InputSession<Time, (u32, u32), Sign>,
    /// By structure: server and memory.
    memories: Vec<InputSession<Time, (u32, u32), Sign>>,
    /// Servers of 600 MHz, each with itself.
    processors: InputSession<Time, (u32, u32), Sign>,
    /// By structure: constant and rule.
    rules: Vec<InputSession<Time, (u32, u32), Sign>>,
}

impl Inputs {
    fn update(&mut self, document: Document, at: Time, sign: Sign) {
        if let Some(provider) = document.provider {
            self.providers.update_at((provider, provider), at, sign);
        }
        if let Some((provider, server)) = document.refers {
            self.references.update_at((server, provider), at, sign);
        }
        if let Some((server, structure, memory)) = document.server {
            self.memories[structure as usize].update_at((server, memory), at, sign);
            self.processors.update_at((server, server), at, sign);
        }
    }

    fn advance(&mut self, to: Time) {
        let single = [&mut self.providers, &mut self.references, &mut self.processors];
        for input in single.into_iter().chain(&mut self.memories).chain(&mut self.rules) {
            input.advance_to(to);
            input.flush();
        }
    }
}

fn main() {
    let base = read_base(&std::env::args().nth(1).expect("a rule base as JSON"));
    if base.kind == "COMP" {
        println!("{{\"gave_up\": \"ranges are no joins of equal values\"}}");
        return;
    }
    timely::execute_directly(move |worker| {
        let start = Instant::now();
        let before = resident();
        let changes: Changes = Rc::default();
        let probe = ProbeHandle::new();
        let mut inputs = worker.dataflow::<Time, _, _>(|scope| {
            let (providers, all_providers) = scope.new_collection();
            let (references, all_references) = scope.new_collection();
            let (processors, all_processors) = scope.new_collection();
            let mut inputs = Inputs { providers, references, processors, memories: vec![], rules: vec![] };
            let (providers, references): (Pairs, Pairs) = (all_providers, all_references);
            let processors: Pairs = all_processors;
            let by_provider = providers.clone().arrange_by_key();
            let by_server = references.arrange_by_key();
            let by_processor = processors.arrange_by_key();
            for _ in 0..base.structures {
                let (rules, constants): (_, Pairs) = scope.new_collection();
                let (memories, memory): (_, Pairs) = scope.new_collection();
                inputs.rules.push(rules);
                inputs.memories.push(memories);
                // constant and provider
                let asked = if base.kind == "OID" {
                    providers.clone()
                } else {
                    let memory = if base.kind.starts_with("JOIN") {
                        memory.arrange_by_key().join_core(by_processor.clone(), |server, memory, _| Some((*server, *memory)))
                    } else {
                        memory
                    };
                    memory
                        .arrange_by_key()
                        .join_core(by_server.clone(), |_, memory, provider| Some((*provider, *memory)))
                        .arrange_by_key()
                        .join_core(by_provider.clone(), |provider, memory, _| Some((*memory, *provider)))
                };
                let told = changes.clone();
                asked
                    .arrange_by_key()
                    .join_core(constants.arrange_by_key(), |_, provider, rule| Some((*provider, *rule)))
                    .inspect(move |((provider, rule), time, sign)| {
                        told.borrow_mut().push((*provider, *rule, *time, *sign));
                    })
                    .probe_with(&probe);
            }
            inputs
        });
        for rule in 0..base.rules {
            inputs.rules[(rule % base.structures) as usize].update((rule / base.structures, rule), 1);
        }
        inputs.advance(1);
        worker.step_while(|| probe.less_than(&1));
        println!(
            "{{\"version\": \"differential-dataflow 0.26.0\", \"subscriptions\": {}, \"seconds\": {}, \"index\": {}}}",
            base.rules,
            start.elapsed().as_secs_f64(),
            resident().saturating_sub(before)
        );
        let mut current: HashMap<u32, Document> = HashMap::new();
        let mut turns: HashMap<u32, u32> = HashMap::new();
        let mut now: Time = 1;
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("a line");
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |word: &str| word.parse::<u32>().expect("a number");
            let (first, count, size) = (number(words[0]), number(words[1]), number(words[3]) as usize);
            let events: Vec<(Document, Document)> = (first..first + count)
                .map(|number| {
                    let turn = *turns.entry(number).and_modify(|turn| *turn += 1).or_insert(0);
                    let coming = if words[2] == "removed" { Document::default() } else { base.document(number, turn) };
                    (current.insert(number, coming).unwrap_or_default(), coming)
                })
                .collect();
            let (core, start) = (core_seconds(), Instant::now());
            for call in events.chunks(size) {
                for (gone, come) in call {
                    if gone != come {
                        inputs.update(*gone, now, -1);
                        inputs.update(*come, now, 1);
                    }
                    now += 1;
                }
                inputs.advance(now);
                worker.step_while(|| probe.less_than(&now));
            }
            let (seconds, core) = (start.elapsed().as_secs_f64(), core_seconds() - core);
            tell(&mut changes.borrow_mut(), seconds, core);
        }
    });
}

/// What differs at a timestamp may come in several parts that cancel out.
fn tell(changes: &mut Vec<(u32, u32, Time, Sign)>, seconds: f64, core: f64) {
    let mut sums: HashMap<(u32, u32, Time), Sign> = HashMap::new();
    for (provider, rule, time, sign) in changes.drain(..) {
        *sums.entry((provider, rule, time)).or_insert(0) += sign;
    }
    let (mut matches, mut total) = (0, 0u64);
    for ((provider, rule, _), sign) in sums {
        if sign != 0 {
            matches += 1;
            let rule = rule as u64 + if sign < 0 { REMOVED } else { 0 };
            total = total.wrapping_add(mix((provider as u64) << 32 | rule));
        }
    }
    println!("{{\"seconds\": {seconds}, \"core\": {core}, \"matches\": {matches}, \"digest\": \"{total:016x}\"}}");
    std::io::stdout().flush().expect("somebody who reads");
}

/// SplitMix64, as benchmarks/peers/answers.py.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

/// Of `{"kind": "PATH", "rules": 10000, "share": 0.1, "structures": 1}`, written by who starts this.
fn read_base(text: &str) -> Base {
    let value = |name: &str| -> Option<&str> {
        let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
        Some(rest.split([',', '}']).next()?.trim().trim_matches('"'))
    };
    let number = |name: &str| value(name).and_then(|text| text.parse().ok());
    Base {
        kind: value("kind").expect("a kind").to_string(),
        rules: number("rules").expect("rules"),
        structures: number("structures").unwrap_or(1),
    }
}

/// Bytes of the process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or("");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Seconds that the process had a core.
fn core_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}
