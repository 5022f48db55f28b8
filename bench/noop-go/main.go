// The baseline in Go: an ext_proc filter on grpc-go that returns every body unchanged, as bench/noop.ts does on grpc-js.
// What a filter in Go would cost at least is what this one costs. It prints the port that it took.
package main

import (
	"fmt"
	"log"
	"net"

	core "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// The same limit as in bench/noop.ts.
const maxMessageBytes = 64 << 20

type echo struct {
	pb.UnimplementedExternalProcessorServer
}

func (echo) Process(stream pb.ExternalProcessor_ProcessServer) error {
	duplexRequest, duplexResponse := false, true
	for {
		message, err := stream.Recv()
		if err != nil {
			// Envoy ends every call with a reset.
			return nil
		}
		// In the first message of a call.
		if modes := message.GetProtocolConfig(); modes != nil {
			duplexRequest = modes.RequestBodyMode == core.ProcessingMode_FULL_DUPLEX_STREAMED
			duplexResponse = modes.ResponseBodyMode == core.ProcessingMode_FULL_DUPLEX_STREAMED
		}
		if err := stream.Send(replyTo(message, duplexRequest, duplexResponse)); err != nil {
			return nil
		}
	}
}

// Envoy keeps what it sends and asks what to do with it, except in full duplex, where it is lost unless it is sent back.
func replyTo(message *pb.ProcessingRequest, duplexRequest, duplexResponse bool) *pb.ProcessingResponse {
	switch message.Request.(type) {
	case *pb.ProcessingRequest_RequestHeaders:
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_RequestHeaders{RequestHeaders: &pb.HeadersResponse{}}}
	case *pb.ProcessingRequest_RequestBody:
		body := bodyOf(message.GetRequestBody(), duplexRequest)
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_RequestBody{RequestBody: body}}
	case *pb.ProcessingRequest_RequestTrailers:
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_RequestTrailers{RequestTrailers: &pb.TrailersResponse{}}}
	case *pb.ProcessingRequest_ResponseHeaders:
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_ResponseHeaders{ResponseHeaders: &pb.HeadersResponse{}}}
	case *pb.ProcessingRequest_ResponseBody:
		body := bodyOf(message.GetResponseBody(), duplexResponse)
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_ResponseBody{ResponseBody: body}}
	default:
		return &pb.ProcessingResponse{Response: &pb.ProcessingResponse_ResponseTrailers{ResponseTrailers: &pb.TrailersResponse{}}}
	}
}

func bodyOf(body *pb.HttpBody, duplex bool) *pb.BodyResponse {
	if !duplex {
		return &pb.BodyResponse{}
	}
	streamed := &pb.StreamedBodyResponse{Body: body.Body, EndOfStream: body.EndOfStream}
	mutation := &pb.BodyMutation{Mutation: &pb.BodyMutation_StreamedResponse{StreamedResponse: streamed}}
	return &pb.BodyResponse{Response: &pb.CommonResponse{BodyMutation: mutation}}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxMessageBytes))
	pb.RegisterExternalProcessorServer(server, echo{})
	// Envoy checks health before it sends anything.
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
