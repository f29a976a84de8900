//! Goes through a file of callgrind, line by line.

use std::io::{BufRead, BufReader, Read};

use super::CallgrindProblem;
use super::graph::CallGraph;
use super::name::Names;
use super::number::{number, position, words};

/// The longest line that is read, in bytes. Names of C++ templates have some thousands.
const MOST_LINE_BYTES: usize = 1 << 20;
/// How much of the file is read at once, in bytes.
const CHUNK_BYTES: usize = 1 << 18;
/// Most kinds of positions in a count: address, basic block and line.
const MOST_POSITIONS: usize = 3;

/// What a file says of itself.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) process: Told,
    pub(super) thread: Told,
    pub(super) part: Told,
    pub(super) command: String,
}

/// A number that each part of a file may tell.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) enum Told {
    #[default]
    Never,
    Once(u32),
    Differently,
}

impl Told {
    fn tell(&mut self, value: u32) {
        *self = match self {
            Told::Never => Told::Once(value),
            Told::Once(known) if *known == value => *self,
            _ => Told::Differently,
        };
    }

    /// The number, if all parts tell the same.
    pub(super) fn single(self) -> Option<u32> {
        if let Told::Once(value) = self { Some(value) } else { None }
    }
}

/// How lines of counts are laid out in a part.
#[derive(Debug, Clone, Copy)]
struct Layout {
    positions: usize,
    /// Which position is the line of the source.
    line: Option<usize>,
    /// Which event is the number of instructions; `None` before the events are told.
    instructions: Option<usize>,
}

/// Where the next counts belong.
#[derive(Debug, Default)]
struct Place {
    object: Option<u32>,
    file: Option<u32>,
    function: Option<u32>,
    /// Whether counts are of the function's own file, and not of code inlined from another.
    in_own_file: bool,
    called_object: Option<u32>,
    called_file: Option<u32>,
    called_function: Option<u32>,
    /// The number of calls, after a line that says it; the next count is theirs.
    calls: Option<u64>,
    before: [u64; MOST_POSITIONS],
}

/// Reads one file.
pub(super) struct Reader<R> {
    input: BufReader<R>,
    head: Head,
    objects: Names,
    files: Names,
    functions: Names,
    graph: CallGraph,
    layout: Layout,
    place: Place,
    /// Instructions of the part so far.
    counted: u64,
    is_any_part_told: bool,
    /// Whether each part must end with its totals, as callgrind writes them.
    must_have_totals: bool,
    /// Whether a part has begun and has no totals yet.
    is_part_open: bool,
}

type LineResult = Result<(), CallgrindProblem>;

impl<R: Read> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Reader {
            input: BufReader::with_capacity(CHUNK_BYTES, input),
            head: Head::default(),
            objects: Names::default(),
            files: Names::default(),
            functions: Names::default(),
            graph: CallGraph::default(),
            layout: Layout { positions: 1, line: Some(0), instructions: None },
            place: Place::default(),
            counted: 0,
            is_any_part_told: false,
            must_have_totals: false,
            is_part_open: false,
        }
    }

    /// Reads all of it. An error has its line, from 1, or 0 if it is about the whole file.
    pub(super) fn read(mut self) -> Result<(Head, CallGraph), (u64, CallgrindProblem)> {
        let mut line = Vec::new();
        let mut number = 0;
        loop {
            line.clear();
            let most = (MOST_LINE_BYTES + 1) as u64;
            let read = self.input.by_ref().take(most).read_until(b'\n', &mut line);
            if read.map_err(|error| (0, error.into()))? == 0 {
                break;
            }
            number += 1;
            let is_cut = line.len() > MOST_LINE_BYTES;
            if is_cut {
                let problem = CallgrindProblem::TooLong { what: "it is", most_bytes: MOST_LINE_BYTES };
                return Err((number, problem));
            }
            self.line(line.trim_ascii()).map_err(|problem| (number, problem))?;
        }
        match (number, self.is_any_part_told, self.is_cut()) {
            (0, ..) => Err((0, CallgrindProblem::Empty)),
            (_, false, _) => Err((0, CallgrindProblem::NoEvents)),
            (.., true) => Err((number, CallgrindProblem::Cut)),
            _ => {
                let Reader { head, objects, files, functions, mut graph, .. } = self;
                graph.name(objects.into_list(), files.into_list(), functions.into_list());
                Ok((head, graph))
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> LineResult {
        match line.first() {
            None | Some(b'#') => Ok(()),
            Some(b'0'..=b'9' | b'+' | b'-' | b'*') => self.count(line),
            Some(_) => match line.iter().position(|byte| matches!(byte, b'=' | b':')) {
                Some(end) if line[end] == b'=' => self.specification(line, &line[..end], &line[end + 1..]),
                Some(end) => self.header(&line[..end], line[end + 1..].trim_ascii()),
                None => Err(unknown(line)),
            },
        }
    }

    fn header(&mut self, key: &[u8], value: &[u8]) -> LineResult {
        let told = match key {
            b"pid" => &mut self.head.process,
            b"thread" => &mut self.head.thread,
            b"part" => &mut self.head.part,
            b"cmd" => {
                self.head.command = String::from_utf8_lossy(value).into_owned();
                return Ok(());
            }
            b"positions" => return self.positions(value),
            b"events" => return self.events(value),
            b"summary" | b"creator" => {
                self.must_have_totals |= key == b"summary" || value.starts_with(b"callgrind");
                return Ok(());
            }
            b"totals" => return self.totals(value),
            _ => return Ok(()),
        };
        if let Some(value) = number(value).and_then(|value| u32::try_from(value).ok()) {
            told.tell(value);
        }
        Ok(())
    }

    fn positions(&mut self, value: &[u8]) -> LineResult {
        let kinds = || words(value);
        if !(1..=MOST_POSITIONS).contains(&kinds().count()) {
            return Err(unknown(value));
        }
        self.layout.positions = kinds().count();
        self.layout.line = kinds().position(|kind| kind == b"line");
        Ok(())
    }

    /// Begins the counts of a part.
    fn events(&mut self, value: &[u8]) -> LineResult {
        if self.is_cut() {
            return Err(CallgrindProblem::Cut);
        }
        let Some(instructions) = words(value).position(|event| event == b"Ir") else {
            return Err(CallgrindProblem::NoInstructions(String::from_utf8_lossy(value).into_owned()));
        };
        self.layout.instructions = Some(instructions);
        self.place = Place::default();
        self.counted = 0;
        self.is_any_part_told = true;
        self.is_part_open = true;
        Ok(())
    }

    fn is_cut(&self) -> bool {
        self.must_have_totals && self.is_part_open
    }

    fn totals(&mut self, value: &[u8]) -> LineResult {
        self.is_part_open = false;
        let at = self.layout.instructions.ok_or(CallgrindProblem::NoEvents)?;
        let told = words(value).nth(at).map_or(Some(0), number).ok_or_else(|| unknown(value))?;
        if told != self.counted {
            return Err(CallgrindProblem::Totals { counted: self.counted, told });
        }
        Ok(())
    }

    fn specification(&mut self, line: &[u8], key: &[u8], value: &[u8]) -> LineResult {
        let place = &mut self.place;
        match key {
            b"ob" => place.object = Some(self.objects.resolve(value)?),
            b"fl" | b"fi" | b"fe" => {
                let file = self.files.resolve(value)?;
                place.file = Some(file);
                place.in_own_file = place.function.is_some_and(|at| self.graph.is_of_file(at, file));
            }
            b"fn" => {
                let name = self.functions.resolve(value)?;
                place.function = Some(self.graph.function(place.object, place.file, name));
                place.in_own_file = true;
            }
            b"cob" => place.called_object = Some(self.objects.resolve(value)?),
            b"cfi" | b"cfl" => place.called_file = Some(self.files.resolve(value)?),
            b"cfn" => place.called_function = Some(self.functions.resolve(value)?),
            b"calls" => {
                let calls = words(value).next().and_then(number);
                place.calls = Some(calls.ok_or_else(|| unknown(line))?);
            }
            // Jumps have no counts, but may tell names.
            b"job" => drop(self.objects.resolve(value)?),
            b"jfi" | b"jfl" => drop(self.files.resolve(value)?),
            b"jfn" => drop(self.functions.resolve(value)?),
            b"jump" | b"jcnd" => {}
            _ => return Err(unknown(line)),
        }
        Ok(())
    }

    fn count(&mut self, line: &[u8]) -> LineResult {
        let event = self.layout.instructions.ok_or(CallgrindProblem::NoEvents)?;
        let mut words = words(line);
        let mut positions = self.place.before;
        for before in &mut positions[..self.layout.positions] {
            *before = words.next().and_then(|word| position(word, *before)).ok_or_else(|| unknown(line))?;
        }
        self.place.before = positions;
        // Counts at the end of a line are left out where they are 0.
        let instructions = words.nth(event).map_or(Some(0), number).ok_or_else(|| unknown(line))?;
        let function = self.place.function.ok_or(CallgrindProblem::NoFunction)?;
        if let Some(calls) = self.place.calls.take() {
            let name = self.place.called_function.take().ok_or(CallgrindProblem::NoFunction)?;
            let object = self.place.called_object.take().or(self.place.object);
            let file = self.place.called_file.take().or(self.place.file);
            let callee = self.graph.function(object, file, name);
            self.graph.add_call(function, callee, calls, instructions);
            return Ok(());
        }
        self.counted = self.counted.saturating_add(instructions);
        let is_own = self.place.in_own_file;
        let line = self.layout.line.filter(|_| is_own).map_or(0, |at| positions[at]);
        self.graph.add_own(function, instructions, u32::try_from(line).unwrap_or(0));
        Ok(())
    }
}

fn unknown(line: &[u8]) -> CallgrindProblem {
    let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
    CallgrindProblem::Line(shown)
}
