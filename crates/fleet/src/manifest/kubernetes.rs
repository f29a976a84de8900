//! An Indexed Job of Kubernetes: a pod for each node of the fleet.

use super::{ManifestRequest, scalar};

const TEMPLATE: &str = r#"# A fleet of basecase: one pod for each of @NODES machines. Start it by `kubectl apply --filename`.
# Each delivers its store to the volume; then: basecase store merge fleet.sqlite node-*/results.sqlite
apiVersion: batch/v1
kind: Job
metadata:
  name: @NAME
  labels:
    app.kubernetes.io/name: basecase
spec:
  completions: @NODES
  parallelism: @NODES
  completionMode: Indexed
  # A node that fails goes on with what it delivered.
  backoffLimitPerIndex: 3
  podFailurePolicy:
    rules:
      # Another pod took the machine, or it is drained: not the node's fault.
      - action: Ignore
        onPodConditions:
          - type: DisruptionTarget
            status: "True"
      # A wrong command line, or no program: another try ends the same way.
      - action: FailJob
        onExitCodes:
          containerName: basecase
          operator: In
          values: [2, 126, 127]
  template:
    metadata:
      labels:
        app.kubernetes.io/name: basecase
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 60
      # Two nodes on one machine would measure each other.
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels:
                  app.kubernetes.io/name: basecase
      containers:
        - name: basecase
          image: @IMAGE
          command: ["/bin/sh", "-c"]
          args:
            - @SCRIPT
          volumeMounts:
            - name: local
              mountPath: /local
            - name: deliveries
              mountPath: /deliveries
      volumes:
        - name: local
          emptyDir: {}
        - name: deliveries
          persistentVolumeClaim:
            claimName: @CLAIM
"#;

/// The manifest of an Indexed Job.
pub fn kubernetes(request: &ManifestRequest) -> String {
    let nodes = request.nodes;
    let script = format!(
        "node=$((JOB_COMPLETION_INDEX + 1))\nexec {} --node \"$node/{nodes}\" --store /local/results.sqlite --data /local/data --deliver \"/deliveries/node-$node\" --decided /deliveries/decided\n",
        request.command_line()
    );
    // Kubernetes replaces $(NAME) in arguments, and reads $$ as $.
    let script = script.replace('$', "$$");
    let values = [
        ("@NAME", scalar(&request.name)),
        ("@NODES", nodes.to_string()),
        ("@IMAGE", scalar(&request.image)),
        ("@CLAIM", scalar(&request.claim)),
        ("@SCRIPT", scalar(&script)),
    ];
    super::fill(TEMPLATE, &values)
}
