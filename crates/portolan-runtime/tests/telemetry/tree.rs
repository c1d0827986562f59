//! Which spans a run leads to, and what they say.

use std::sync::Arc;

use expect_test::{Expect, expect};
use portolan_runtime::drive::{Over, TraceContext, TracedRequest};
use portolan_runtime::service::How;
use portolan_runtime::tools::{RecordedAnswers, ScriptedAnswer, Tools};
use serde_json::json;

use crate::collector::Collector;
use crate::world::{World, answers, hex, named, says, tree};

/// The tree of a run whose tools answer `{}`.
#[track_caller]
fn traces(graph: &str, told: Expect) {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    world.call(graph);
    world.close();
    told.assert_eq(&tree(&collector.spans()));
    assert_eq!((world.lost(), world.notes()), (0, Vec::new()));
}

#[test]
fn a_node_is_a_span_and_so_is_a_call() {
    traces(
        "greet
           entry: start > ask
           ask: call say {} > shape
           shape: value 1 > exit
           exit: end",
        expect![[r#"
            invoke_workflow greet  INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=greet portolan.outcome=done portolan.nodes=4
              entry  INTERNAL portolan.node.kind=start portolan.flow=greet portolan.node.index=0
              ask  INTERNAL portolan.node.kind=mcp portolan.flow=greet portolan.node.index=1
                tools/call say  CLIENT mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s
              shape  INTERNAL portolan.node.kind=transform portolan.flow=greet portolan.node.index=2
              exit  INTERNAL portolan.node.kind=end portolan.flow=greet portolan.node.index=3
        "#]],
    );
}

#[test]
fn branches_items_and_functions_stand_in_one_another() {
    traces(
        "outer
           entry: start > fork
           fork: fork join > left right
           left: call say {} > join
           right: value 2 > join
           join: join fork > all
           all: each inner [1, 2] > one
           one: run inner > exit
           exit: end
         inner
           begin: start > do
           do: call say {} > done
           done: end",
        expect![[r#"
            invoke_workflow outer  INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=outer portolan.outcome=done portolan.nodes=17
              entry  INTERNAL portolan.node.kind=start portolan.flow=outer portolan.node.index=0
              fork  INTERNAL portolan.node.kind=fork portolan.flow=outer portolan.node.index=1
              right  INTERNAL portolan.node.kind=transform portolan.flow=outer portolan.path=right portolan.node.index=2
              left  INTERNAL portolan.node.kind=mcp portolan.flow=outer portolan.path=left portolan.node.index=3
                tools/call say  CLIENT mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s
              join  INTERNAL portolan.node.kind=join portolan.flow=outer portolan.node.index=4
              all  INTERNAL portolan.node.kind=forEach portolan.flow=outer portolan.node.index=11
                begin  INTERNAL portolan.node.kind=start portolan.flow=inner portolan.path=0 portolan.node.index=5
                do  INTERNAL portolan.node.kind=mcp portolan.flow=inner portolan.path=0 portolan.node.index=6
                  tools/call say  CLIENT mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s
                done  INTERNAL portolan.node.kind=end portolan.flow=inner portolan.path=0 portolan.node.index=7
                begin  INTERNAL portolan.node.kind=start portolan.flow=inner portolan.path=1 portolan.node.index=8
                do  INTERNAL portolan.node.kind=mcp portolan.flow=inner portolan.path=1 portolan.node.index=9
                  tools/call say  CLIENT mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s
                done  INTERNAL portolan.node.kind=end portolan.flow=inner portolan.path=1 portolan.node.index=10
              one  INTERNAL portolan.node.kind=subflow portolan.flow=outer portolan.node.index=15
                begin  INTERNAL portolan.node.kind=start portolan.flow=inner portolan.path=one portolan.node.index=12
                do  INTERNAL portolan.node.kind=mcp portolan.flow=inner portolan.path=one portolan.node.index=13
                  tools/call say  CLIENT mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s
                done  INTERNAL portolan.node.kind=end portolan.flow=inner portolan.path=one portolan.node.index=14
              exit  INTERNAL portolan.node.kind=end portolan.flow=outer portolan.node.index=16
        "#]],
    );
}

#[test]
fn a_failure_tells_its_code_and_a_retry_its_number() {
    let graph = "f
           entry: start > ask
           ask: retry say {} > exit ! mend
           mend: value 1 > exit
           exit: end";
    let fails = |message: &str| ScriptedAnswer::Failure { message: message.to_owned(), code: None };
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    let written = RecordedAnswers::new([("ask".to_owned(), vec![fails("first"), fails("second")])]);
    world.call_with(graph, json!({}), How::with(Arc::new(Tools::written(Arc::new(written)))));
    world.close();
    let spans = collector.spans();
    expect![[r#"
        invoke_workflow f  INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=f portolan.outcome=done portolan.nodes=4
          entry  INTERNAL portolan.node.kind=start portolan.flow=f portolan.node.index=0
          ask  INTERNAL ERROR portolan.node.kind=mcp portolan.flow=f portolan.node.index=1 error.type=tool_error portolan.node.retries=1
            tools/call say  CLIENT ERROR mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s error.type=tool_error
            tools/call say  CLIENT ERROR mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=say portolan.server=s error.type=tool_error portolan.retry=1
          mend  INTERNAL portolan.node.kind=transform portolan.flow=f portolan.node.index=2
          exit  INTERNAL portolan.node.kind=end portolan.flow=f portolan.node.index=3
    "#]].assert_eq(&tree(&spans));
    // Messages quote data.
    assert!(spans.iter().all(|span| span.status.as_ref().is_none_or(|status| status.message.is_empty())));
}

#[test]
fn a_run_that_fails_says_where() {
    traces(
        "f
           entry: start > ask
           ask: call say 7 > exit
           exit: end",
        expect![[r#"
            invoke_workflow f  INTERNAL ERROR gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=f portolan.outcome=failed error.type=bad-arguments portolan.nodes=2 portolan.node=ask
              entry  INTERNAL portolan.node.kind=start portolan.flow=f portolan.node.index=0
              ask  INTERNAL ERROR portolan.node.kind=mcp portolan.flow=f portolan.node.index=1 error.type=bad-arguments
        "#]],
    );
}

#[test]
fn a_request_over_mcp_is_a_server_span_below_its_caller() {
    let graph = "greet
           entry: start > exit
           exit: end";
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    let request = TracedRequest {
        id: "7".to_owned(),
        session: Some("s-1".to_owned()),
        protocol: Some("2025-11-25".to_owned()),
        transport: Over::Tcp,
    };
    let meta = json!({
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate": "vendor=1",
    });
    let trace = TraceContext::answering(request, meta.as_object());
    let how = How { trace, ..How::with(Arc::new(answers(graph, &json!({})))) };
    world.call_with(graph, json!({}), how);
    world.close();
    let spans = collector.spans();
    expect![[r#"
        tools/call greet  SERVER mcp.method.name=tools/call gen_ai.operation.name=execute_tool gen_ai.tool.name=greet jsonrpc.request.id=7 network.transport=tcp mcp.protocol.version=2025-11-25 mcp.session.id=s-1 gen_ai.workflow.name=greet portolan.outcome=done portolan.nodes=2
          entry  INTERNAL portolan.node.kind=start portolan.flow=greet portolan.node.index=0
          exit  INTERNAL portolan.node.kind=end portolan.flow=greet portolan.node.index=1
    "#]].assert_eq(&tree(&spans));
    let root = named(&spans, "tools/call greet");
    assert_eq!(hex(&root.trace_id), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(hex(&root.parent_span_id), "b7ad6b7169203331");
    assert_eq!((root.flags, root.trace_state.as_str()), (0x301, "vendor=1"));
    assert_eq!(named(&spans, "entry").flags, 0x101, "its parent is of this process");
}

#[test]
fn a_resource_says_who_sends() {
    let collector = Collector::new(Vec::new());
    let more = ["OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=team=a%20b"];
    let headers = "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20x";
    let world = World::to(&collector.url, &[more[0], more[1], headers]);
    world.call("f\n entry: start > exit\n exit: end");
    world.close();
    let export = collector.export();
    assert_eq!(export.path, "/v1/traces");
    assert_eq!(export.headers["authorization"], "Bearer x");
    assert_eq!(export.headers["content-type"], "application/x-protobuf");
    let request = export.request();
    let resource = request.resource_spans[0].resource.as_ref().expect("a resource");
    let told =
        opentelemetry_proto::tonic::trace::v1::Span { attributes: resource.attributes.clone(), ..Default::default() };
    assert_eq!((says(&told, "service.name"), says(&told, "team")), ("mine".to_owned(), "a b".to_owned()));
    let scope = request.resource_spans[0].scope_spans[0].scope.as_ref().expect("a scope");
    assert_eq!(scope.name, "portolan");
}

#[test]
fn a_trace_that_its_caller_does_not_record_is_not_sent() {
    let collector = Collector::new(Vec::new());
    let world = World::to(&collector.url, &[]);
    let graph = "f\n entry: start > exit\n exit: end";
    let trace = TraceContext::within("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").expect("a trace");
    world.call_with(graph, json!({}), How { trace, ..How::with(Arc::new(answers(graph, &json!({})))) });
    world.close();
    assert!(collector.all().is_empty());
}
