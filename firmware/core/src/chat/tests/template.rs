//! Variables in braces.

use std::fmt::Write;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use crate::chat::template::{Rendered, Variables, render};
use crate::json::Value;
use crate::limits;

/// The rendered text, and the unknown variables. The value of `a` is `[a]`, and so on; `x…` are unknown.
fn rendered(template: &str) -> (String, Vec<String>) {
    let (mut out, mut unknown) = (String::new(), Vec::new());
    let look = |name: &str, out: &mut dyn Write| {
        if name.is_empty() || name.starts_with('x') {
            return Ok(false);
        }
        write!(out, "[{name}]")?;
        Ok(true)
    };
    render(&mut template.chars(), &look, &mut |name| unknown.push(name.to_string()), &mut out).unwrap();
    (out, unknown)
}

#[test]
fn names_are_replaced() {
    for (template, expected) in [
        ("", ""),
        ("plain { } }} text", "plain { } }} text"),
        ("{{a}}", "[a]"),
        ("1{{a}}2{{ b }}3{{\tc.d\n}}4", "1[a]2[b]3[c.d]4"),
        ("{{a}}{{b}}", "[a][b]"),
        ("{{{a}}}", "{[a]}"),
        ("{ {{a}} }", "{ [a] }"),
        ("{a}", "{a}"),
        ("{{a", "{{a"),
        ("{{a}", "{{a}"),
        ("{{a} }}", "{{a} }}"),
        ("{{a}b{{c}}", "{{a}b[c]"),
        ("{{a{{b}}", "{{a[b]"),
        ("{{a}{{b}}", "{{a}[b]"),
        ("{", "{"),
        ("{{", "{{"),
        ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"),
        ("Grüße, {{ä}} 😀", "Grüße, [ä] 😀"),
    ] {
        assert_eq!(rendered(template), (expected.into(), Vec::new()), "{template}");
    }
}

#[test]
fn names_that_stand_for_nothing_leave_nothing_and_are_told() {
    assert_eq!(
        rendered("<{{x1}}|{{a}}|{{ x2 }}>"),
        ("<|[a]|>".into(), ["x1", "x2"].map(String::from).into())
    );
    assert_eq!(rendered("<{{}}>"), ("<>".into(), [String::new()].into()));
}

#[test]
fn what_is_too_long_for_a_name_is_none() {
    let name = "n".repeat(limits::TEMPLATE_NAME);
    assert_eq!(rendered(&std::format!("{{{{{name}}}}}")).0, std::format!("[{name}]"));
    let long = std::format!("{{{{{name}n}}}} {{{{a}}}}");
    assert_eq!(rendered(&long).0, std::format!("{{{{{name}n}}}} [a]"));
}

/// spec: reply-01
#[test]
fn the_prompt_of_a_rule_knows_the_request() {
    let request =
        r#"{"text":"Hi","satellite":{"room":"K\u00fcche","volume":3,"muted":null},"nested":{"field":"yes"}}"#;
    let request = Value::parse(request.as_bytes()).unwrap();
    let variables = Variables {
        rag_context: &"Documents about {{intent}}.",
        intent: &"lights",
        service: "ollama",
        user_message: &"{{service}} please",
        request,
    };
    let prompt = r#""C:{{rag_context}}\nI:{{ intent }} S:{{service}} U:{{user_message}} N:{{nested.field}} R:{{satellite.room}} V:{{satellite.volume}} M:{{satellite.muted}} ?:{{satellite.colour}}{{room}}""#;
    let prompt = Value::parse(prompt.as_bytes()).unwrap().as_text().unwrap();
    let look = |name: &str, out: &mut dyn Write| variables.write(name, out);
    let rendered = Rendered { template: prompt, lookup: &look };
    assert_eq!(
        rendered.to_string(),
        "C:Documents about {{intent}}.\nI:lights S:ollama U:{{service}} please N:yes R:Küche V:3 M: ?:"
    );
    let mut unknown = Vec::new();
    rendered.unknown(&mut |name| unknown.push(name.to_string()));
    assert_eq!(unknown, ["satellite.colour", "room"]);
}

/// An independent implementation to compare with.
fn expected(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    'text: while let Some(open) = rest.find("{{") {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        // Of a row of braces, the last two open a variable.
        while rest.starts_with("{{{") {
            out.push('{');
            rest = &rest[1..];
        }
        let inside = &rest[2..];
        if let Some(close) = inside.find(['{', '}'])
            && close <= limits::TEMPLATE_NAME
            && inside[close..].starts_with("}}")
        {
            let name = inside[..close].trim();
            if !name.is_empty() && !name.starts_with('x') {
                write!(out, "[{name}]").unwrap();
            }
            rest = &inside[close + 2..];
            continue 'text;
        }
        out.push_str("{{");
        rest = inside;
    }
    out + rest
}

proptest! {
    #[test]
    fn any_template_is_rendered_in_one_way(template in "([{}]{1,3}|[abx .]|[a-z]{30}){0,40}") {
        prop_assert_eq!(rendered(&template).0, expected(&template));
    }
}
