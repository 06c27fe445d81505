package config

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

func TestTemporal(t *testing.T) {
	t.Parallel()

	options, err := Temporal(map[string]string{"TEMPORAL_ADDRESS": "127.0.0.1:1"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", options.HostPort)
	require.Equal(t, "default", options.Namespace)

	options, err = Temporal(map[string]string{"TEMPORAL_NAMESPACE": "night"})
	require.NoError(t, err)
	require.Equal(t, "night", options.Namespace)

	_, err = Temporal(map[string]string{"TEMPORAL_CONFIG_FILE": "/nowhere/temporal.toml", "TEMPORAL_PROFILE": "none"})
	require.ErrorContains(t, err, "read Temporal settings")
}

// gRPC refuses headers that are not ASCII, so ids in headers are escaped.
func TestIDsInHeadersAreASCII(t *testing.T) {
	t.Parallel()

	for id, want := range map[string]string{"evt-1-staff10-EMAIL": "evt-1-staff10-EMAIL", "evt-jürgen 1": "evt-j%C3%BCrgen%201"} {
		var sent metadata.MD
		invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			sent, _ = metadata.FromOutgoingContext(ctx)
			return nil
		}
		before := metadata.Pairs(resourceID, id, "other", "ü")
		require.NoError(t, asciiHeader(metadata.NewOutgoingContext(t.Context(), before), "", nil, nil, nil, invoke))
		require.Equal(t, []string{want}, sent.Get(resourceID))
		require.Equal(t, []string{"ü"}, sent.Get("other"))
		require.Equal(t, []string{id}, before.Get(resourceID), "the caller's metadata does not change")
	}
}

// Each call has a deadline, so a server that hangs does not block a promotion.
func TestCallsHaveDeadlines(t *testing.T) {
	t.Parallel()

	shorter, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for ctx, most := range map[context.Context]time.Duration{t.Context(): callTimeout, shorter: time.Second} {
		invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
			deadline, limited := ctx.Deadline()
			require.True(t, limited)
			require.WithinRange(t, deadline, time.Now().Add(most/2), time.Now().Add(most))
			return nil
		}
		require.NoError(t, withDeadline(ctx, "", nil, nil, nil, invoke))
	}
}
