// What Istio's control plane makes of Kubernetes objects, without a cluster: its own discovery server in this process, on
// its own fake of a Kubernetes API. It is a test only because that server can be had in one alone; scripts/kubernetes-tools.sh
// compiles it to a binary. Reads the file INPUT (YAML), writes the file OUTPUT (JSON: listeners, routes, clusters), and as the
// agent beside such a proxy does, for the ProxyConfig in PROXY_CONFIG, the bootstrap that Istio makes from TEMPLATE.
package istio

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/bootstrap"
	"istio.io/istio/pkg/config/mesh"
	"istio.io/istio/pkg/config/schema/gvr"
	"istio.io/istio/pkg/kube"
	"istio.io/istio/pkg/kube/kclient/clienttest"
	"istio.io/istio/pkg/util/protomarshal"
)

func TestTranslate(t *testing.T) {
	input, err := os.ReadFile(os.Getenv("INPUT"))
	if err != nil {
		t.Fatal(err)
	}
	// Istio's own kinds come from its store, the others from Kubernetes.
	var objects, configs []string
	for _, document := range strings.Split(string(input), "\n---\n") {
		if strings.Contains(document, "networking.istio.io/") || strings.Contains(document, "security.istio.io/") {
			configs = append(configs, document)
		} else {
			objects = append(objects, document)
		}
	}
	server := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{
		KubeClientModifier: func(client kube.Client) {
			clienttest.MakeCRD(t, client, gvr.InferencePool)
			// Istio applies a pool's Service again after each update of it, and this API makes an update of every apply: without
			// end, so that no state would settle. The Service is among the objects already.
			client.Kube().(*fake.Clientset).PrependReactor("patch", "services",
				func(clienttesting.Action) (bool, runtime.Object, error) { return true, &corev1.Service{}, nil })
		},
		KubernetesObjectString: strings.Join(objects, "\n---\n"),
		ConfigString:           strings.Join(configs, "\n---\n"),
	})
	labels := map[string]string{"gateway.networking.k8s.io/gateway-name": os.Getenv("GATEWAY")}
	agentsBootstrap := json.RawMessage(bootstrapOf(t))
	translate := func() []byte {
		proxy := server.SetupProxy(&model.Proxy{
			Type:            model.Router,
			ConfigNamespace: os.Getenv("NAMESPACE"),
			Labels:          labels,
			Metadata:        &model.NodeMetadata{Namespace: os.Getenv("NAMESPACE"), Labels: labels, IstioVersion: "1.31.0"},
			IPAddresses:     []string{"10.1.0.1"},
		})
		listeners := server.Listeners(proxy)
		output, err := json.Marshal(map[string]any{
			"listeners": encode(t, listeners),
			"routes":    encode(t, server.RoutesFromListeners(proxy, listeners)),
			"clusters":  encode(t, server.Clusters(proxy)),
			"bootstrap": agentsBootstrap,
		})
		if err != nil {
			t.Fatal(err)
		}
		return output
	}
	// Objects reach the server one kind after the other, and it answers from those that have: a Gateway whose routes have
	// not is one that leads to `blackhole:80`. Asked until there is none of that and the answer has stayed the same.
	output := translate()
	deadline := time.Now().Add(time.Minute)
	for same := 0; same < 10 || bytes.Contains(output, []byte(`"blackhole:80"`)); {
		if time.Now().After(deadline) {
			t.Fatalf("Istio's answer does not settle: %s", output)
		}
		time.Sleep(100 * time.Millisecond)
		again := translate()
		if bytes.Equal(again, output) {
			same++
		} else {
			output, same = again, 0
		}
	}
	if err := os.WriteFile(os.Getenv("OUTPUT"), output, 0o600); err != nil {
		t.Fatal(err)
	}
}

func bootstrapOf(t *testing.T) []byte {
	config := mesh.DefaultProxyConfig()
	if err := protomarshal.ApplyYAML(os.Getenv("PROXY_CONFIG"), config); err != nil {
		t.Fatal(err)
	}
	node, err := bootstrap.GetNodeMetaData(bootstrap.MetadataOptions{
		ID:                  "router~10.1.0.1~llm.llm~llm.svc.cluster.local",
		InstanceIPs:         []string{"10.1.0.1"},
		ProxyConfig:         config,
		EnvoyStatusPort:     15021,
		EnvoyPrometheusPort: 15090,
	})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := bootstrap.New(bootstrap.Config{Node: node}).WriteTo(os.Getenv("TEMPLATE"), &text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
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
