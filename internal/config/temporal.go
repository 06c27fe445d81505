package config

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"herald/internal/codec"
	"herald/internal/config/environment"
)

// Temporal returns client options from Temporal's standard TEMPORAL_* variables and their file, and
// from the settings of [Histories]. The namespace is never empty.
func Temporal(values map[string]string) (client.Options, error) {
	r := partialReader(values)
	options, err := temporal(r)
	if err != nil {
		return client.Options{}, err
	}
	encryption, err := histories(r).Interceptor()
	if err != nil {
		return client.Options{}, err
	}
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions,
		grpc.WithChainUnaryInterceptor(withDeadline, asciiHeader, encryption))
	return complete(r, options)
}

// Histories holds the settings that encrypt what Temporal stores. The keys are separate from
// HERALD_SECRET: a history needs its key until its workflow ends, often longer than operators
// keep a previous secret.
type Histories struct {
	Keys    environment.Secret `env:"HISTORY_KEYS"`                         // id:key, with commas between several; all decrypt
	Encrypt bool               `env:"ENCRYPT_HISTORIES" envDefault:"false"` // with the first key
}

// Codec returns the codec of [Histories].
func Codec(values map[string]string) (codec.Codec, error) {
	r := partialReader(values)
	return histories(r), r.Err()
}

func histories(r *environment.Reader) codec.Codec {
	var settings Histories
	r.Read("", &settings)
	if settings.Encrypt {
		r.Need("HISTORY_KEYS", string(settings.Keys), "ENCRYPT_HISTORIES")
	}
	c, err := codec.New(string(settings.Keys), settings.Encrypt)
	if err != nil {
		r.Refuse("HISTORY_KEYS", err.Error())
	}
	return c
}

// partialReader returns a reader for commands that read only a few settings. A malformed
// ALLOW_CLEARTEXT counts as false here; reading all settings refuses it.
func partialReader(values map[string]string) *environment.Reader {
	r := environment.NewReader(values)
	r.AllowCleartext, _ = strconv.ParseBool(values["ALLOW_CLEARTEXT"])
	return r
}

// temporal reads Temporal's settings, and refuses settings that Herald does not support.
func temporal(r *environment.Reader) (client.Options, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{EnvLookup: r})
	if err != nil {
		return client.Options{}, fmt.Errorf("read Temporal settings: %w", err)
	}
	options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return client.Options{}, fmt.Errorf("read Temporal settings: %w", err)
	}
	if codec := profile.Codec; codec != nil && (codec.Endpoint != "" || codec.Auth != "") {
		r.Refuse("TEMPORAL_CODEC_ENDPOINT", "and TEMPORAL_CODEC_AUTH, or [profile.*.codec] in Temporal's file, cannot be set: "+
			"Herald encrypts histories itself, by HISTORY_KEYS and ENCRYPT_HISTORIES")
	}
	encrypted := options.ConnectionOptions.TLS != nil || environment.IsLocal(hostOfTarget(cmp.Or(options.HostPort, client.DefaultHostPort)))
	r.Encrypted("TEMPORAL_ADDRESS", encrypted, "TEMPORAL_TLS=true or TEMPORAL_API_KEY")
	return options, nil
}

// hostOfTarget returns the host of a gRPC target, with or without a resolver: host:port,
// dns:///host:port, unix:/path.
func hostOfTarget(target string) string {
	if scheme, path, ok := strings.Cut(target, ":"); ok && (scheme == "unix" || scheme == "unix-abstract") {
		return "/" + path
	}
	if i := strings.LastIndex(target, "/"); i >= 0 {
		target = target[i+1:]
	}
	if host, _, err := net.SplitHostPort(target); err == nil {
		return host
	}
	return target
}

// callTimeout bounds the calls that have no other deadline. The SDK sets a deadline for its calls, but
// not for calls of the services that it returns.
const callTimeout = 30 * time.Second

func withDeadline(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	return invoke(ctx, method, req, reply, conn, options...)
}

// resourceID is the gRPC header with the workflow id of a call. The SDK sets it.
const resourceID = "temporal-resource-id"

// asciiHeader escapes the id in this header. gRPC refuses a header that is not ASCII, but ids of
// events and recipients may contain any letter.
func asciiHeader(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
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
