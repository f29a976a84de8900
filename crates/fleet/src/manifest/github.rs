//! A workflow of GitHub: a matrix with a job for each node, and a job that merges.

use super::{ManifestRequest, scalar};

const TEMPLATE: &str = r#"# A fleet of basecase: one job for each of @NODES nodes, and one that merges what they measured.
name: @NAME
on:
  workflow_dispatch:
permissions:
  contents: read
jobs:
  node:
    name: node ${{ matrix.node }} of @NODES
    runs-on: @RUNNER
    strategy:
      # What the others measure is worth having.
      fail-fast: false
      matrix:
        node: [@LIST]
    steps:
      - uses: actions/checkout@v4
      - name: install basecase
        run: @INSTALL
      - name: measure
        env:
          NODE: ${{ matrix.node }}
        run: @COMMAND
      - uses: actions/upload-artifact@v4
        if: ${{ always() }}
        with:
          name: node-${{ matrix.node }}
          path: delivery
          if-no-files-found: ignore
  merge:
    needs: node
    if: ${{ !cancelled() }}
    runs-on: @RUNNER
    steps:
      - uses: actions/checkout@v4
      - name: install basecase
        run: @INSTALL
      - uses: actions/download-artifact@v4
        with:
          pattern: node-*
          path: nodes
      - name: merge
        run: basecase store merge fleet.sqlite nodes/*/results.sqlite
      - name: report
        run: |
          basecase report fleet.sqlite --format md >>"$GITHUB_STEP_SUMMARY"
          basecase report fleet.sqlite --out report
      - uses: actions/upload-artifact@v4
        with:
          name: fleet
          path: |
            fleet.sqlite
            report
"#;

/// The workflow.
pub fn github(request: &ManifestRequest) -> String {
    let nodes = request.nodes;
    let command = format!(
        "{} --node \"$NODE/{nodes}\" --store results.sqlite --deliver delivery",
        literal(&request.command_line())
    );
    let list: Vec<String> = (1..=nodes).map(|node| node.to_string()).collect();
    let values = [
        ("@NAME", scalar(&literal(&request.name))),
        ("@NODES", nodes.to_string()),
        ("@LIST", list.join(", ")),
        ("@RUNNER", scalar(&literal(&request.runner))),
        ("@INSTALL", scalar(&literal(&request.install))),
        ("@COMMAND", scalar(&command)),
    ];
    super::fill(TEMPLATE, &values)
}

/// A text that GitHub takes for no expression.
fn literal(text: &str) -> String {
    text.replace("${{", "${{ '${{' }}")
}
