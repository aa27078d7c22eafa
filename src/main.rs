//! tmp
use runner::{spec::*, text::*};
fn main() {
    let root = std::path::PathBuf::from(std::env::args().nth(1).unwrap());
    let mut s = SourceMap::default();
    loop {
        match read(&root, &s, Options::default()) {
            Read::Missing(l) => {
                for p in l {
                    match std::fs::read_to_string(&p) {
                        Ok(t) => {
                            s.add(p, t);
                        }
                        Err(e) => s.add_absent(p, e.to_string()),
                    }
                }
            }
            Read::Done(spec, issues) => {
                println!("{} cells {} claims {} tables", spec.cells.len(), spec.claims.len(), spec.tables.len());
                let e = SpecError { sources: std::sync::Arc::new(s), issues: issues.into_sorted() };
                let mut out = String::new();
                miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
                    .with_width(110)
                    .render_report(&mut out, &e)
                    .unwrap();
                println!("{out}");
                break;
            }
        }
    }
}
