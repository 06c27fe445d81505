package codec_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/proxy"
	sdkpb "go.temporal.io/api/sdk/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"herald/internal/codec"
)

// answer passes an answer of the server through the interceptor.
func answer(t *testing.T, c codec.Codec, method string, reply proto.Message) error {
	t.Helper()
	return call(t, c, method, &workflowservice.GetSystemInfoRequest{}, reply, func(proto.Message) {})
}

// call sends a request through the interceptor. serve is the server.
func call(t *testing.T, c codec.Codec, method string, req, reply proto.Message, serve func(sent proto.Message)) error {
	t.Helper()
	intercept, err := c.Interceptor()
	require.NoError(t, err)
	return intercept(t.Context(), "/temporal.api.workflowservice.v1.WorkflowService/"+method, req, reply, nil,
		func(_ context.Context, _ string, req, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			serve(req.(proto.Message))
			return nil
		})
}

// The server sees search attributes, but no inputs and no messages of failures. The caller's
// request does not change, because the SDK keeps parts of it.
func TestRequestsAreEncrypted(t *testing.T) {
	t.Parallel()

	c := newCodec(t, keyA, true)
	start := &workflowservice.StartWorkflowExecutionRequest{
		Input:            &commonpb.Payloads{Payloads: []*commonpb.Payload{payload(t, "secret-1"), payload(t, "secret-2")}},
		Memo:             &commonpb.Memo{Fields: map[string]*commonpb.Payload{"event_id": payload(t, "secret-3")}},
		UserMetadata:     &sdkpb.UserMetadata{Summary: payload(t, "secret-4")},
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{"HeraldChannel": payload(t, "EMAIL")}},
	}
	failed := &workflowservice.RespondActivityTaskFailedRequest{Failure: &failurepb.Failure{
		Message: "secret-5", StackTrace: "secret-6", Cause: &failurepb.Failure{Message: "secret-7"},
		FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: "Rejected"}},
	}}
	for method, request := range map[string]proto.Message{"StartWorkflowExecution": start, "RespondActivityTaskFailed": failed} {
		before := proto.Clone(request)
		require.NoError(t, call(t, c, method, request, &workflowservice.StartWorkflowExecutionResponse{}, func(sent proto.Message) {
			text, err := proto.Marshal(sent)
			require.NoError(t, err)
			require.NotContains(t, string(text), "secret")
			require.Regexp(t, "EMAIL|Rejected", string(text))
			require.NoError(t, answer(t, c, method, sent))
			if failure, ok := sent.(*workflowservice.RespondActivityTaskFailedRequest); ok {
				require.Equal(t, "secret-5", failure.Failure.Message)
				require.Equal(t, "secret-7", failure.Failure.Cause.Message)
				return
			}
			require.True(t, proto.Equal(before, sent))
		}))
		require.True(t, proto.Equal(before, request))
	}

	require.NoError(t, call(t, newCodec(t, keyA, false), "StartWorkflowExecution", start, &workflowservice.StartWorkflowExecutionResponse{},
		func(sent proto.Message) {
			require.True(t, proto.Equal(start, sent), "off")
		}))
}

// A task with an unknown key reaches no workflow, because the workflow would fail. Lists,
// descriptions and summaries of schedules may be encrypted with unknown keys.
func TestAnswersWithAnUnknownKey(t *testing.T) {
	t.Parallel()

	other := newCodec(t, keyB, true)
	foreign := encoded(t, other, payload(t, "theirs"))
	task := func(summary *commonpb.Payload, input ...*commonpb.Payload) *workflowservice.PollWorkflowTaskQueueResponse {
		started := &historypb.WorkflowExecutionStartedEventAttributes{Input: &commonpb.Payloads{Payloads: input}}
		return &workflowservice.PollWorkflowTaskQueueResponse{History: &historypb.History{Events: []*historypb.HistoryEvent{{
			UserMetadata: &sdkpb.UserMetadata{Summary: summary},
			Attributes:   &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: started},
		}}}}
	}
	c := newCodec(t, keyA, true)

	err := answer(t, c, "PollWorkflowTaskQueue", task(nil, foreign))
	require.Equal(t, codes.DataLoss, status.Code(err))
	require.ErrorContains(t, err, `the key "b": add this key to HISTORY_KEYS`)
	require.Error(t, answer(t, codec.Codec{}, "PollWorkflowTaskQueue", task(nil, foreign)), "a worker without keys")

	require.NoError(t, answer(t, c, "PollWorkflowTaskQueue", task(foreign, payload(t, "ours"))))

	list := &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		{Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"paused": foreign}}},
		{Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"paused": encoded(t, c, payload(t, "ours"))}}},
	}}
	require.NoError(t, answer(t, c, "ListWorkflowExecutions", list))
	require.True(t, proto.Equal(foreign, list.Executions[0].Memo.Fields["paused"]))
	require.True(t, proto.Equal(payload(t, "ours"), list.Executions[1].Memo.Fields["paused"]))
}

// In each recorded history, only search attributes are in clear text after encryption, and workers
// can read everything.
func TestRecordedHistories(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("../../workflows/testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	c := newCodec(t, keyA, true)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		recorded, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
		require.NoError(t, err)
		task := &workflowservice.PollWorkflowTaskQueueResponse{History: recorded}
		require.NoError(t, call(t, c, "PollWorkflowTaskQueue", task, &workflowservice.PollWorkflowTaskQueueResponse{}, func(sent proto.Message) {
			requireEncrypted(t, sent, file)
			require.NoError(t, answer(t, c, "PollWorkflowTaskQueue", sent))
			require.NoError(t, proxy.VisitFailures(t.Context(), sent,
				proxy.VisitFailuresOptions{Visitor: func(_ *proxy.VisitFailuresContext, failure *failurepb.Failure) error {
					failure.EncodedAttributes = nil // the SDK does not set them
					return nil
				}}))
			require.True(t, proto.Equal(task, sent), file)
		}))
	}
}

func requireEncrypted(t *testing.T, message proto.Message, file string) {
	t.Helper()
	require.NoError(t, proxy.VisitPayloads(t.Context(), message, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, p := range payloads {
				require.True(t, len(p.Data) == 0 || string(p.Metadata["encoding"]) == "binary/encrypted", file)
			}
			return payloads, nil
		},
	}))
}
