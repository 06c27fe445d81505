package codec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"herald/internal/codec"
)

// Two keys with their ids.
var (
	keyA = "a:" + strings.Repeat("A", 43) + "="
	keyB = "b:" + strings.Repeat("B", 42) + "A="
)

func newCodec(t *testing.T, keys string, encrypt bool) codec.Codec {
	t.Helper()
	c, err := codec.New(keys, encrypt)
	require.NoError(t, err)
	return c
}

func payload(t *testing.T, value any) *commonpb.Payload {
	t.Helper()
	p, err := converter.GetDefaultDataConverter().ToPayload(value)
	require.NoError(t, err)
	return p
}

func encoded(t *testing.T, c codec.Codec, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	all, err := c.Encode([]*commonpb.Payload{p})
	require.NoError(t, err)
	return all[0]
}

// requireDecodes requires that c decodes p as want.
func requireDecodes(t *testing.T, c codec.Codec, p, want *commonpb.Payload) {
	t.Helper()
	all, err := c.Decode([]*commonpb.Payload{p})
	require.NoError(t, err)
	require.True(t, proto.Equal(want, all[0]), "%v", all[0])
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()

	c := newCodec(t, keyA, true)
	for _, value := range []any{map[string]string{"EventID": "evt-1"}, []byte{0, 1}, "", nil, commonpb.WorkflowType{Name: "Notify"}} {
		plain := payload(t, value)
		hidden := encoded(t, c, plain)
		require.NotContains(t, hidden.String(), "evt-1")
		require.LessOrEqual(t, proto.Size(hidden), proto.Size(plain)+90, "encryption adds a nonce, a tag and metadata")
		require.True(t, proto.Equal(hidden, encoded(t, c, hidden)), "encrypted once")
		requireDecodes(t, c, hidden, plain)
	}
	plain := payload(t, "evt-1")
	require.False(t, proto.Equal(encoded(t, c, plain), encoded(t, c, plain)), "equal payloads are encrypted differently")
	require.True(t, proto.Equal(plain, encoded(t, newCodec(t, keyA, false), plain)), "off")
}

// A worker that encrypts reads older histories in clear text. During a replacement of keys, both
// keys work, even while other processes still encrypt with the old key.
func TestReplaceKeys(t *testing.T) {
	t.Parallel()

	plain := payload(t, "evt-1")
	before, oldFirst, newFirst := newCodec(t, keyA, true), newCodec(t, keyA+", "+keyB, true), newCodec(t, keyB+","+keyA, true)
	for _, writer := range []codec.Codec{{}, newCodec(t, keyA, false), before, oldFirst, newFirst} {
		for _, reader := range []codec.Codec{oldFirst, newFirst, newCodec(t, keyB+","+keyA, false)} {
			requireDecodes(t, reader, encoded(t, writer, plain), plain)
		}
	}
	requireDecodes(t, before, encoded(t, oldFirst, plain), plain)
}

func TestUnreadable(t *testing.T) {
	t.Parallel()

	hidden := encoded(t, newCodec(t, keyA, true), payload(t, "evt-1"))
	changed := proto.CloneOf(hidden)
	changed.Data[len(changed.Data)-1] ^= 1
	short := proto.CloneOf(hidden)
	short.Data = nil
	tests := []struct {
		name    string
		codec   codec.Codec
		payload *commonpb.Payload
		want    string
	}{
		{"no keys", codec.Codec{}, hidden, `encrypted with the key "a": add this key to HISTORY_KEYS`},
		{"another key", newCodec(t, keyB, true), hidden, `encrypted with the key "a": add this key to HISTORY_KEYS`},
		{"another key with this id", newCodec(t, "a"+keyB[1:], true), hidden, `does not match the key "a"`},
		{"changed payload", newCodec(t, keyA, true), changed, `does not match the key "a"`},
		{"payload without a nonce", newCodec(t, keyA, true), short, `does not match the key "a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := tt.codec.Decode([]*commonpb.Payload{tt.payload})
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()

	for name, keys := range map[string]string{
		"no id":           keyA[2:],
		"empty id":        keyA[1:],
		"id with a space": "a b" + keyA[1:],
		"short":           "a:" + strings.Repeat("A", 20) + "==",
		"no base64":       "a:hunter2",
		"same id":         keyA + ",a" + keyB[1:],
		"ends in comma":   keyA + ",",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := codec.New(keys, true)
			require.ErrorContains(t, err, "must be id:key")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
