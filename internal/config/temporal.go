package config

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Temporal returns the options of a client by Temporal's own settings, the
// standard TEMPORAL_* variables and their file. Their namespace is never empty.
func Temporal(environment map[string]string) (client.Options, error) {
	var found problems
	options, err := (&Starter{AllowCleartext: cleartextAllowed(environment)}).temporal(&found, environment)
	if err != nil {
		return client.Options{}, err
	}
	if err := found.err(); err != nil {
		return client.Options{}, err
	}
	if options.Namespace == "" {
		options.Namespace = client.DefaultNamespace
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(asciiHeader))
	return options, nil
}

// cleartextAllowed takes what is neither true nor false for false: that is found
// where all settings are read.
func cleartextAllowed(environment map[string]string) bool {
	allowed, _ := strconv.ParseBool(environment["ALLOW_CLEARTEXT"])
	return allowed
}

// temporal reads Temporal's settings, and finds those that promise more than the
// client does.
func (c *Starter) temporal(found *problems, environment map[string]string) (client.Options, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: lookup(environment)})
	if err != nil {
		return client.Options{}, fmt.Errorf("read Temporal settings: %w", err)
	}
	options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return client.Options{}, fmt.Errorf("read Temporal settings: %w", err)
	}
	if codec := profile.Codec; codec != nil && (codec.Endpoint != "" || codec.Auth != "") {
		found.add("TEMPORAL_CODEC_ENDPOINT", "and TEMPORAL_CODEC_AUTH, or [profile.*.codec] in Temporal's file, cannot be set: "+
			"Herald has no codec yet, and its histories would be clear text all the same")
	}
	c.checkTemporalEncryption(found, options)
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
