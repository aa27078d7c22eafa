//! Plain text for mail: ASCII, wrapped to a width.
//!
//! Nothing here knows of reports: any command that prints for a terminal or a mail may use it.

/// Columns of a line that a mail reader never folds.
pub const WIDTH: usize = 76;

/// The text in ASCII on one line: what has a usual spelling in mail gets it (`x` for ×, `-` for –, `+/-` for ±, `[1]`
/// for a superscript, `[!]` for †), any other letter becomes `?`. Blanks are single, with none at the ends.
pub fn ascii(text: &str) -> String {
    let mut out = String::new();
    let mut number = String::new();
    for letter in text.chars() {
        if let Some(digit) = superscript(letter) {
            number.push(digit);
            continue;
        }
        close_mark(&mut out, &mut number);
        match letter {
            c if c.is_whitespace() || c.is_control() => out.push(' '),
            c if c.is_ascii() => out.push(c),
            c => out.push_str(spelled(c)),
        }
    }
    close_mark(&mut out, &mut number);
    out.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn close_mark(out: &mut String, number: &mut String) {
    if !number.is_empty() {
        out.push_str(&format!("[{number}]"));
        number.clear();
    }
}

fn superscript(letter: char) -> Option<char> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    DIGITS.iter().zip('0'..='9').find(|(own, _)| **own == letter).map(|(_, digit)| digit)
}

fn spelled(letter: char) -> &'static str {
    match letter {
        '×' => "x",
        '–' | '—' | '−' | '‐' | '‑' => "-",
        '±' => "+/-",
        '†' => "[!]",
        '…' => "...",
        '≤' => "<=",
        '≥' => ">=",
        '≠' => "!=",
        '≈' => "~",
        '→' => "->",
        '‘' | '’' => "'",
        '“' | '”' | '„' | '«' | '»' => "\"",
        '·' | '•' => "*",
        'ä' => "ae",
        'ö' => "oe",
        'ü' => "ue",
        'Ä' => "Ae",
        'Ö' => "Oe",
        'Ü' => "Ue",
        'ß' => "ss",
        'à' | 'á' | 'â' | 'ã' | 'å' => "a",
        'ç' | 'č' => "c",
        'è' | 'é' | 'ê' | 'ë' | 'ě' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ñ' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ø' => "o",
        'ř' => "r",
        'š' => "s",
        'µ' | 'μ' | 'ù' | 'ú' | 'û' => "u",
        'ý' => "y",
        'ž' => "z",
        _ => "?",
    }
}

/// Words in lines of at most `width` columns (at least 1). A figure stays with its `%`, an interval and `n = 3` in one
/// piece; a longer word is cut.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in pieces(&ascii(text), width) {
        if !line.is_empty() && line.len() + 1 + piece.len() > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&piece);
        while line.len() > width {
            let rest = line.split_off(width);
            lines.push(std::mem::replace(&mut line, rest));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// A paragraph of [`WIDTH`]: the first line behind `first`, the others behind as many blanks.
pub fn paragraph(first: &str, text: &str) -> String {
    let first: String = first.chars().take(WIDTH / 2).collect();
    let lines = wrap(text, WIDTH - first.len());
    let blank = " ".repeat(first.len());
    let lines = lines
        .iter()
        .enumerate()
        .map(|(index, line)| if index == 0 { format!("{first}{line}") } else { format!("{blank}{line}") });
    lines.collect::<Vec<_>>().join("\n")
}

/// A heading with a line of `under` below it; nothing of nothing.
pub fn heading(text: &str, under: char) -> String {
    let lines = wrap(text, WIDTH);
    if lines.is_empty() {
        return String::new();
    }
    let widest = lines.iter().map(String::len).max().unwrap_or(0);
    format!("{}\n{}", lines.join("\n"), under.to_string().repeat(widest))
}

/// What may stand on two lines only if it is wider than one.
fn pieces(text: &str, width: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let joins = |last: &String| {
            let open = last.rfind('[').is_some_and(|at| !last[at..].contains(']'));
            let joint = word.starts_with('%') || word == "=" || last.ends_with(" =") || last == "+/-" || open;
            joint && last.len() + 1 + word.len() <= width
        };
        match out.last_mut() {
            Some(last) if joins(last) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}

/// A shell's command in lines of [`WIDTH`], each but the last ended by a backslash: it can be pasted as it stands.
/// Words in quotes stay whole where they fit into a line.
pub(super) fn command(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut quote = None;
    for word in ascii(text).split(' ') {
        match words.last_mut() {
            // A flag's value stands on its line.
            Some(last)
                if quote.is_some() || (last.starts_with("--") && !last.contains(' ') && !word.starts_with('-')) =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
        for letter in word.chars().filter(|letter| matches!(letter, '\'' | '"')) {
            match quote {
                None => quote = Some(letter),
                Some(open) if open == letter => quote = None,
                Some(_) => {}
            }
        }
    }
    // Two columns before each line, and a blank and a backslash behind it.
    let most = WIDTH - 4;
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= most => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    let whole = lines.join(" \\\n  ");
    let cut = |line: &str| wrap(line, WIDTH - 2).join("\n  ");
    whole.split("\n  ").map(|line| format!("  {}", cut(line))).collect::<Vec<_>>().join("\n")
}
