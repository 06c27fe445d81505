package config

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Temporal returns the options of a client by Temporal's own settings, the
// standard TEMPORAL_* variables. Their namespace is never empty.
func Temporal(environment map[string]string) (client.Options, error) {
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(environment)})
	if err != nil {
		return client.Options{}, fmt.Errorf("read Temporal settings: %w", err)
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(asciiHeader))
	return options, nil
}

// resourceID is the header in which the SDK repeats the id of the workflow that a
// call is about.
const resourceID = "temporal-resource-id"

// asciiHeader escapes that id: gRPC refuses a call with a header that is not
// ASCII, and the ids of events and recipients may hold any letter.
func asciiHeader(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if sent, ok := metadata.FromOutgoingContext(ctx); ok && len(sent.Get(resourceID)) > 0 {
		sent = sent.Copy()
		ids := sent.Get(resourceID)
		for i, id := range ids {
			ids[i] = url.PathEscape(id)
		}
		sent.Set(resourceID, ids...)
		ctx = metadata.NewOutgoingContext(ctx, sent)
	}
	return invoke(ctx, method, req, reply, conn, options...)
}

// lookup is an environment for envconfig.
type lookup map[string]string

// Environ returns lines NAME=value.
func (l lookup) Environ() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		lines = append(lines, name+"="+l[name])
	}
	return lines
}

// LookupEnv returns one variable.
func (l lookup) LookupEnv(name string) (string, bool) {
	value, ok := l[name]
	return value, ok
}
