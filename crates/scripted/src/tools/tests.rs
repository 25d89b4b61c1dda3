//! One call, and what each agent gets for it.

use serde_json::json;

use super::call;
use crate::plan::Input;
use crate::request::{Api, Delivery, InputForm, Kind, ModelRequest, Offered};
use crate::script::{Script, Step, Tool};

fn asked(api: Api, tools: &[(&str, InputForm)]) -> ModelRequest {
    let offered =
        |(name, input): &(&str, InputForm)| Offered { name: (*name).to_owned(), namespace: None, input: *input };
    ModelRequest {
        api,
        kind: Kind::Turn,
        model: "m".to_owned(),
        delivery: Delivery::Stream,
        user: None,
        heard: Vec::new(),
        tool_result: None,
        after: Vec::new(),
        system: String::new(),
        effort: None,
        schema: None,
        tools: tools.iter().map(offered).collect(),
        directory: Some("/w".to_owned()),
    }
}

fn tool(step: &str) -> Tool {
    let script = Script::parse(&format!("[[reply]]\nstep = [{{ {step} }}]")).expect("parses");
    match &script.replies[0].steps[..] {
        [Step::Call { tool, .. }] => tool.clone(),
        other => panic!("{other:?}"),
    }
}

/// As `name(input)`.
fn shown(step: &str, asked: &ModelRequest) -> String {
    let call = call(&tool(step), asked).expect("a call");
    match call.input {
        Input::Object(value) => format!("{}({value})", call.name),
        Input::Text(text) => format!("{}:{text}", call.name),
    }
}

#[test]
fn claude_code_gets_its_own_tools() {
    let asked = asked(Api::Anthropic, &[]);
    for (step, expected) in [
        ("run = 'ls'", r#"Bash({"command":"ls","description":"Run a scripted command"})"#),
        ("read = 'a'", r#"Read({"file_path":"/w/a"})"#),
        ("read = '/a'", r#"Read({"file_path":"/a"})"#),
        ("write = { path = 'a', text = 't' }", r#"Write({"file_path":"/w/a","content":"t"})"#),
        (
            "edit = { path = 'a', old = 'o', new = 'n' }",
            r#"Edit({"file_path":"/w/a","old_string":"o","new_string":"n"})"#,
        ),
        (
            "ask = { question = 'Q?', options = ['x', 'y'] }",
            r#"AskUserQuestion({"questions":[{"question":"Q?","header":"Question","multiSelect":false,"options":[{"label":"x","description":"x"},{"label":"y","description":"y"}]}]})"#,
        ),
        (
            "plan = [{ text = 'a', state = 'in_progress' }]",
            r#"TodoWrite({"todos":[{"content":"a","activeForm":"a","status":"in_progress"}]})"#,
        ),
        ("tool = { name = 'X', input = 'free' }", r#"X({"input":"free"})"#),
    ] {
        assert_eq!(shown(step, &asked), expected);
    }
}

#[test]
fn codex_gets_the_shell_it_offers() {
    use InputForm::{Object, Text};
    for (tools, expected) in [
        (&[("exec_command", Object)][..], r#"exec_command({"cmd":"ls"})"#),
        (&[("shell", Object)], r#"shell({"command":["bash","-lc","ls"]})"#),
        (&[("shell_command", Object)], r#"shell_command({"command":"ls"})"#),
        (
            &[("exec", Text)],
            "exec:const said = await tools.exec_command({\"cmd\":\"ls\"});\ntext(said?.output ?? said);\n",
        ),
        (&[], r#"exec_command({"cmd":"ls"})"#),
    ] {
        assert_eq!(shown("run = 'ls'", &asked(Api::Openai, tools)), expected);
    }
    let quoted = shown("read = \"it's\"", &asked(Api::Openai, &[]));
    assert_eq!(quoted, format!("exec_command({})", json!({"cmd": r"cat 'it'\''s'"})));
}

#[test]
fn codex_gets_patches() {
    let edit = "edit = { path = 'a', old = \"1\\n2\", new = '3' }";
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-1\n-2\n+3\n*** End Patch\n";
    let free = asked(Api::Openai, &[("apply_patch", InputForm::Text)]);
    assert_eq!(shown(edit, &free), format!("apply_patch:{patch}"));
    let object = asked(Api::Openai, &[("apply_patch", InputForm::Object)]);
    assert_eq!(shown(edit, &object), format!("apply_patch({})", json!({"input": patch})));
    let none = asked(Api::Openai, &[]);
    let command = format!("apply_patch <<'END_OF_PATCH'\n{patch}END_OF_PATCH");
    assert_eq!(shown(edit, &none), format!("exec_command({})", json!({"cmd": command})));
    let added = shown("write = { path = 'b', text = \"x\\n\\ny\\n\" }", &free);
    assert_eq!(added, "apply_patch:*** Begin Patch\n*** Add File: b\n+x\n+\n+y\n*** End Patch\n");
}

#[test]
fn a_call_for_one_api_is_none_for_the_other() {
    let only = tool("tool = { openai = { name = 'a' } }");
    assert_eq!(call(&only, &asked(Api::Anthropic, &[])), None);
    assert!(call(&only, &asked(Api::Openai, &[])).is_some());
}

#[test]
fn a_tool_in_a_namespace_is_called_there() {
    let mut asked = asked(Api::Openai, &[("ping", InputForm::Object)]);
    asked.tools[0].namespace = Some("mcp__demo".to_owned());
    let call = call(&tool("tool = { name = 'ping' }"), &asked).expect("a call");
    assert_eq!(call.namespace.as_deref(), Some("mcp__demo"));
}

#[test]
fn a_tool_that_is_not_listed_is_called_by_its_whole_name() {
    let call = call(&tool("tool = { name = 'mcp__demo.ping' }"), &asked(Api::Openai, &[])).expect("a call");
    assert_eq!((call.namespace.as_deref(), call.name.as_str()), (Some("mcp__demo"), "ping"));
}
