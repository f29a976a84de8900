//! Workload files.

use arbitrary::{Result, Unstructured};

use crate::{integer, word};

type Choices<'a, 'b> = &'a mut Unstructured<'b>;

const OPTIONS: [&str; 6] = ["rows", "size", "flag", "kind", "share", "note"];
const DISTRIBUTIONS: [&str; 8] = [
    "uniform",
    "gaussian(12)",
    "special(12, 1, 75)",
    "pareto(0.2)",
    "zipfian(0.8)",
    "kind",
    "zipfian(share)",
    "gaussian(size)",
];
const STATEMENTS: [&str; 4] = ["read", "write", "insert", "remove"];

/// A workload file whose names are known, most of the time.
pub fn file(choices: Choices<'_, '_>) -> Result<String> {
    let mut text = String::new();
    for key in ["name", "about"] {
        if choices.ratio(1, 4)? {
            text += &format!("{key} = \"a {key}\"\n");
        }
    }
    for key in ["distribution", "load_distribution"] {
        if choices.ratio(1, 4)? {
            text += &format!("{key} = \"{}\"\n", word(choices, &DISTRIBUTIONS)?);
        }
    }
    if choices.ratio(1, 6)? {
        text += &format!("warm_up_seconds = {}\n", word(choices, &["0", "2", "0.5", "-1", "1e300", "nan"])?);
    }
    if choices.ratio(1, 4)? {
        text += &format!("label = \"{}\"\n", word(choices, &OPTIONS)?);
    }
    text += "\n[options]\n";
    text +=
        &format!("rows = {{ default = {}, least = 1{}, help = \"h\" }}\n", small(choices)?, most(choices)?);
    text += &format!("size = {{ default = {}{}, help = \"h\" }}\n", small(choices)?, most(choices)?);
    text += &format!("flag = {{ default = {}, help = \"h\" }}\n", word(choices, &["true", "false"])?);
    text +=
        "kind = { default = \"uniform\", choices = [\"uniform\", \"zipfian\", \"special\"], help = \"h\" }\n";
    text += &format!(
        "share = {{ default = {}, help = \"h\" }}\n",
        word(choices, &["0.8", "0.2", "0.0", "1.5", "-1.0", "1e9"])?
    );
    text += &format!(
        "note = {{ default = \"{}\", help = \"h\" }}\n",
        word(choices, &["", "x", "it's", "{rows}"])?
    );
    if choices.ratio(1, 4)? {
        text += "\n[distributions]\nzipfian = [\"share\"]\nspecial = [12, 1, \"size\"]\n";
    }
    text += &format!("\n[templates]\nc = \"{}\"\n", word(choices, &["###-@@@", "#", "", "@'#", "é#"])?);
    for table in 0..choices.int_in_range(0..=2)? {
        text += &self::table(choices, table)?;
    }
    for statement in STATEMENTS {
        if choices.ratio(5, 6)? {
            text += &self::statement(choices, statement)?;
        }
    }
    for event in 0..choices.int_in_range(0..=2)? {
        text += &self::event(choices, event)?;
    }
    for step in 0..choices.int_in_range(1..=3)? {
        text += &self::step(choices, step)?;
    }
    if choices.ratio(1, 3)? {
        text += &format!(
            "\n[lists.all]\norder = [\"p0\", {{ step = \"{}\", threads = {}, maintenance = true }}]\ngroups = [{{ name = \"g\", steps = [\"p0\"] }}]\n",
            word(choices, &["p1", "p0.again", "p0", "p1=7", "p9"])?,
            expression(choices)?
        );
    }
    Ok(text)
}

fn small(choices: Choices<'_, '_>) -> Result<String> {
    if choices.ratio(1, 8)? { integer(choices) } else { Ok(choices.int_in_range(1..=300)?.to_string()) }
}

fn most(choices: Choices<'_, '_>) -> Result<String> {
    Ok(match choices.int_in_range(0..=5)? {
        0 => format!(", most = {}", integer(choices)?),
        1 => ", most = \"rows\"".to_owned(),
        2 => format!(", most = {}", expression(choices)?),
        _ => String::new(),
    })
}

/// An integer, or an expression in quotes.
fn expression(choices: Choices<'_, '_>) -> Result<String> {
    Ok(if choices.ratio(1, 3)? { integer(choices)? } else { format!("\"{}\"", terms(choices, 3)?) })
}

fn terms(choices: Choices<'_, '_>, depth: u32) -> Result<String> {
    let names = ["rows", "size", "threads", "rows", "size", "thread", "index", "row", "id"];
    Ok(match choices.int_in_range(0..=6)? {
        0 | 1 => small(choices)?,
        2 | 3 => word(choices, &names)?.to_owned(),
        _ if depth == 0 => "rows".to_owned(),
        4 => format!(
            "{}({}, {})",
            word(choices, &["min", "max"])?,
            terms(choices, depth - 1)?,
            terms(choices, depth - 1)?
        ),
        5 => format!(
            "({} {} {})",
            terms(choices, depth - 1)?,
            word(choices, &["+", "-", "*", "/"])?,
            terms(choices, depth - 1)?
        ),
        _ => format!(
            "{} {} {}",
            terms(choices, depth - 1)?,
            word(choices, &["+", "-", "*", "/"])?,
            terms(choices, depth - 1)?
        ),
    })
}

fn when(choices: Choices<'_, '_>) -> Result<String> {
    Ok(if choices.ratio(1, 4)? {
        format!(
            ", when = \"{}\"",
            word(choices, &["flag", "not flag", "flag and not flag", "rows", "nothing"])?
        )
    } else {
        String::new()
    })
}

/// What stands in braces.
fn placeholder(choices: Choices<'_, '_>) -> Result<String> {
    let name = if choices.ratio(1, 4)? { word(choices, &["id: ", "k: ", "rows: ", "id2: "])? } else { "" };
    Ok(match choices.int_in_range(0..=7)? {
        0 => format!("{name}1..rows"),
        1 => format!("{name}1..rows {}", word(choices, &DISTRIBUTIONS)?),
        2 => format!("{name}{}..{}", terms(choices, 1)?, terms(choices, 1)?),
        3 => word(choices, &["c", "id", "k", "table", "number", "thread", "index", "threads"])?.to_owned(),
        4 => format!("{name}'{}'", word(choices, &["###", "@@-##", ""])?),
        5 => terms(choices, 2)?,
        6 => format!("id: 1..rows {}", word(choices, &DISTRIBUTIONS)?),
        _ => format!("{name}c"),
    })
}

fn table(choices: Choices<'_, '_>, number: usize) -> Result<String> {
    let mut text = format!("\n[tables.t{number}]\n");
    if choices.ratio(1, 3)? {
        text += &format!(
            "count = {}\n",
            if choices.ratio(1, 3)? { expression(choices)? } else { "\"size\"".into() }
        );
    }
    if choices.ratio(1, 6)? {
        text += &format!(
            "name = \"{}\"\n",
            word(choices, &["only", "x{number}", "{number}", "a b", "select", "s.t"])?
        );
    }
    text +=
        &format!("rows = {}\n", if choices.ratio(1, 3)? { expression(choices)? } else { "\"rows\"".into() });
    text += "columns = [\n";
    text += &format!(
        "  {{ name = \"id\", type = \"INTEGER NOT NULL\"{}{} }},\n",
        when(choices)?,
        if choices.arbitrary()? { ", content = \"row\"" } else { "" }
    );
    for column in ["k", "c"].iter().take(choices.int_in_range(0..=2)?) {
        text += &format!(
            "  {{ name = \"{column}\", type = {{ postgres = \"INT\", mysql = \"INT\", sqlite = \"INT\" }}, content = \"{}\"{} }},\n",
            placeholder(choices)?,
            when(choices)?
        );
    }
    text += "]\n";
    if choices.arbitrary()? {
        text += &format!(
            "primary_key = {}\n",
            word(choices, &["\"id\"", "\"id, k\"", "{ columns = \"id\", when = \"flag\" }"])?
        );
    }
    if choices.ratio(1, 3)? {
        text += &format!(
            "indexes = [{{ name = \"k_{{number}}\", columns = \"k\"{}, early = {} }}]\n",
            when(choices)?,
            word(choices, &["true", "false"])?
        );
    }
    if choices.ratio(1, 5)? {
        text += &format!("draws = [\"{}\"]\n", word(choices, &["k", "c", "id", "x"])?);
    }
    if choices.ratio(1, 5)? {
        text += &format!(
            "suffix = {}\n",
            word(choices, &["\"{note}\"", "{ mysql = \"ENGINE = x\" }", "\"{nothing}\"", "\"{note\""])?
        );
    }
    Ok(text)
}

fn statement(choices: Choices<'_, '_>, name: &str) -> Result<String> {
    let mut sql = match name {
        "read" => "SELECT c FROM {table} WHERE id = ",
        "write" => "UPDATE {table} SET k = k + 1 WHERE id = ",
        "insert" => "INSERT INTO {table} (id, k) VALUES ",
        _ => "DELETE FROM {table} WHERE id = ",
    }
    .to_owned();
    match choices.int_in_range(0..=5)? {
        0 => {
            sql += &format!(
                "{{{}}}*{}",
                placeholder(choices)?,
                word(choices, &["3", "size", "(size + 1)", "0"])?
            )
        }
        1 => {
            sql += &format!(
                "({{repeat {}{}{}}}({{{}}}, {{{}}}){{end}}",
                word(choices, &["", "bytes "])?,
                terms(choices, 1)?,
                word(choices, &["", " ', '", " ' or '"])?,
                placeholder(choices)?,
                placeholder(choices)?
            );
        }
        2 => sql += &format!("{{{}}} AND k = {{{}}}", placeholder(choices)?, placeholder(choices)?),
        _ => sql += &format!("{{{}}}", placeholder(choices)?),
    }
    let mut text = format!("\n[statements.{name}]\n");
    if choices.ratio(1, 8)? {
        text += &format!("sql = {{ postgres = \"{sql}\", mysql = \"{sql}\", sqlite = \"{sql}\" }}\n");
    } else {
        text += &format!("sql = \"{sql}\"\n");
    }
    if choices.ratio(1, 4)? {
        text += &format!("prepared = {}\n", word(choices, &["true", "false"])?);
    }
    if choices.ratio(1, 3)? {
        text += &format!(
            "{} = {}\n",
            word(choices, &["fetches", "affects", "fetches_at_most", "affects_at_most"])?,
            expression(choices)?
        );
    }
    Ok(text)
}

fn event(choices: Choices<'_, '_>, number: usize) -> Result<String> {
    let mut text = format!("\n[events.e{number}]\n");
    if choices.ratio(1, 3)? {
        text +=
            &format!("transaction = {}\n", word(choices, &["true", "false", "\"flag\"", "\"not flag\""])?);
    }
    if choices.ratio(1, 5)? {
        text += "rows_may_be_missing = true\n";
    }
    if choices.ratio(1, 5)? {
        text += &format!("table = \"{}\"\n", word(choices, &["t0", "t1", "t9"])?);
    }
    text += "do = [\n";
    for _ in 0..choices.int_in_range(1..=3)? {
        let first = word(choices, &STATEMENTS)?;
        text += &match choices.int_in_range(0..=4)? {
            0 => format!("  \"{first}\",\n"),
            1 => format!(
                "  {{ do = [\"{first}\", \"{}\"], times = {}{} }},\n",
                word(choices, &STATEMENTS)?,
                expression(choices)?,
                when(choices)?
            ),
            2 => format!(
                "  {{ do = \"{first}\", times = {}{} }},\n",
                word(choices, &["\"size\"", "2", "0"])?,
                when(choices)?
            ),
            3 => format!(
                "  {{ do = \"{first}\", choose = \"{}\" }},\n",
                word(choices, &["thread", "uniform"])?
            ),
            _ => format!("  {{ do = \"{first}\"{} }},\n", when(choices)?),
        };
    }
    text += "]\n";
    Ok(text)
}

fn step(choices: Choices<'_, '_>, number: usize) -> Result<String> {
    let mut text = format!(
        "\n[[steps]]\nname = \"p{number}\"\nevent = \"{}\"\n",
        word(choices, &["e0", "e1", "read", "write", "insert", "remove"])?
    );
    if choices.ratio(1, 3)? {
        text += &format!(
            "set = {{ {} }}\n",
            word(
                choices,
                &[
                    "size = 3",
                    "size = [3, 4]",
                    "rows = 10",
                    "flag = true",
                    "kind = \"zipfian\"",
                    "share = [0.1, 0.2]",
                    "note = []"
                ]
            )?
        );
    }
    for (key, values) in
        [("distribution", &DISTRIBUTIONS[..]), ("duration", &["read", "write", "7", "0"][..])]
    {
        if choices.ratio(1, 5)? {
            let value = word(choices, values)?;
            let is_number = value.parse::<u32>().is_ok();
            text += &if is_number { format!("{key} = {value}\n") } else { format!("{key} = \"{value}\"\n") };
        }
    }
    for key in ["threads", "scans"] {
        if choices.ratio(1, 6)? {
            text += &format!("{key} = {}\n", expression(choices)?);
        }
    }
    if choices.ratio(1, 5)? {
        text += &format!("{} = true\n", word(choices, &["reload_before", "reload_after"])?);
    }
    if choices.ratio(1, 6)? {
        text += "empty_tables = \"flag\"\n";
    }
    if choices.ratio(1, 6)? {
        text += &format!(
            "clean = {{ event = \"{}\", threads = {} }}\n",
            word(choices, &["e0", "read"])?,
            expression(choices)?
        );
    }
    Ok(text)
}
