// What Istio's control plane makes of Kubernetes objects, without a cluster: its own discovery server in this process, on
// its own fake of a Kubernetes API. It is a test only because that server can be had in one alone; scripts/kubernetes-tools.sh
// compiles it to a binary. Reads the file INPUT (YAML), writes the file OUTPUT (JSON: listeners, routes, clusters).
package istio

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/config/schema/gvr"
	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/kclient/clienttest"
)

func TestTranslate(t *testing.T) {
	input, err := os.ReadFile(os.Getenv("INPUT"))
	if err != nil {
		t.Fatal(err)
	}
	// Istio's own kinds come from its store, the others from Kubernetes.
	var objects, configs []string
	for _, document := range strings.Split(string(input), "\n---\n") {
		if strings.Contains(document, "networking.istio.io/") {
			configs = append(configs, document)
		} else {
			objects = append(objects, document)
		}
	}
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
		KubeClientModifier: func(client kube.Client) {
			clienttest.MakeCRD(t, client, gvr.InferencePool)
		},
		KubernetesObjectString: strings.Join(objects, "\n---\n"),
		ConfigString:           strings.Join(configs, "\n---\n"),
	})
	labels := map[string]string{"gateway.networking.k8s.io/gateway-name": os.Getenv("GATEWAY")}
	proxy := server.SetupProxy(&model.Proxy{
		Type:            model.Router,
		ConfigNamespace: os.Getenv("NAMESPACE"),
		Labels:          labels,
		Metadata:        &model.NodeMetadata{Namespace: os.Getenv("NAMESPACE"), Labels: labels, IstioVersion: "1.31.0"},
		IPAddresses:     []string{"10.1.0.1"},
	})
	listeners := server.Listeners(proxy)
	output, err := json.Marshal(map[string][]json.RawMessage{
		"listeners": encode(t, listeners),
		"routes":    encode(t, server.RoutesFromListeners(proxy, listeners)),
		"clusters":  encode(t, server.Clusters(proxy)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("OUTPUT"), output, 0o600); err != nil {
		t.Fatal(err)
	}
}

func encode[Message proto.Message](t *testing.T, messages []Message) []json.RawMessage {
	encoded := []json.RawMessage{}
	for _, message := range messages {
		text, err := protojson.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		encoded = append(encoded, text)
	}
	return encoded
}
