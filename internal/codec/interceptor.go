package codec

import (
	"context"
	"path"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/proxy"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Interceptor encrypts every payload on the way to Temporal, and decrypts it on the way back. So
// the SDK and Herald's readers of histories see only clear text. A data converter of the SDK would
// leave raw histories encrypted, and a missing key would fail the workflow. Here a missing key
// fails the worker's poll, and Temporal repeats the task until a worker has the key.
//
// Search attributes stay clear text, because Temporal searches them.
func (c Codec) Interceptor() (grpc.UnaryClientInterceptor, error) {
	failures, err := proxy.NewFailureVisitorInterceptor(c.failures())
	if err != nil {
		return nil, err
	}
	whole, err := proxy.NewPayloadVisitorInterceptor(c.payloads(false))
	if err != nil {
		return nil, err
	}
	partly, err := proxy.NewPayloadVisitorInterceptor(c.payloads(true))
	if err != nil {
		return nil, err
	}
	return func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		payloads := whole
		if isOverview(method) {
			payloads = partly
		}
		if message, ok := req.(proto.Message); ok && c.id != "" {
			req = proto.Clone(message) // a copy, because the SDK may send the request again
		}
		encode := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, options ...grpc.CallOption) error {
			return payloads(ctx, method, req, reply, conn, invoke, options...)
		}
		return failures(ctx, method, req, reply, conn, encode, options...)
	}, nil
}

// isOverview reports whether an answer lists or describes workflows. Some of its payloads may
// belong to an installation with other keys.
func isOverview(method string) bool {
	name := path.Base(method)
	return strings.HasPrefix(name, "List") || strings.HasPrefix(name, "Describe")
}

// DecodeMessage decrypts all payloads of a message from Temporal, such as a history.
func (c Codec) DecodeMessage(ctx context.Context, message proto.Message) error {
	return proxy.VisitPayloads(ctx, message, c.decoding(false))
}

func (c Codec) payloads(partly bool) proxy.PayloadVisitorInterceptorOptions {
	decoding := c.decoding(partly)
	return proxy.PayloadVisitorInterceptorOptions{
		Inbound: &decoding,
		Outbound: &proxy.VisitPayloadsOptions{
			SkipSearchAttributes: true,
			Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
				return c.Encode(payloads)
			},
		},
	}
}

// decoding decrypts payloads. If partly is set, payloads with an unknown key stay encrypted.
func (c Codec) decoding(partly bool) proxy.VisitPayloadsOptions {
	return proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(ctx *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			decoded, err := c.Decode(payloads)
			// Only people read a summary. A schedule's summary stays encrypted with the key at its
			// creation.
			_, summary := ctx.Parent.(*sdkpb.UserMetadata)
			switch {
			case err == nil:
				return decoded, nil
			case partly, summary:
				return payloads, nil
			default: // the SDK does not retry a call that fails with this code
				return nil, status.Error(codes.DataLoss, err.Error())
			}
		},
	}
}

// failures moves the messages of failures into payloads, which the codec encrypts, and back.
func (c Codec) failures() proxy.FailureVisitorInterceptorOptions {
	plain := converter.GetDefaultDataConverter()
	options := proxy.FailureVisitorInterceptorOptions{Inbound: &proxy.VisitFailuresOptions{
		Visitor: func(_ *proxy.VisitFailuresContext, failure *failurepb.Failure) error {
			converter.DecodeCommonFailureAttributes(plain, failure)
			return nil
		},
	}}
	if c.id != "" {
		options.Outbound = &proxy.VisitFailuresOptions{
			Visitor: func(_ *proxy.VisitFailuresContext, failure *failurepb.Failure) error {
				return converter.EncodeCommonFailureAttributes(plain, failure)
			},
		}
	}
	return options
}
