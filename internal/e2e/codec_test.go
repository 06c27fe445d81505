package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/converter"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// Keys of histories, with their ids.
const (
	oldKey = "old:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	newKey = "new:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE="
)

// An installation starts to encrypt, and later replaces its key, while deliveries wait. Temporal stores
// no clear text, and the operator's commands show the same facts as before.
func TestEncryptedHistories(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.fill(postgrestest.Route{EventType: "LATER", Strategy: notification.Delayed, Delay: time.Hour})
	w := s.startAll(loadWorker...)
	before := s.waits("before")
	require.NoError(t, w.stop())

	base := s.env
	s.env = append(slices.Clone(base), "HISTORY_KEYS="+oldKey, "ENCRYPT_HISTORIES=true")
	w = s.startWorker(loadWorker...)
	s.orders("send-now", before) // its history began without encryption
	s.awaitDelivery(before, "SENT")
	s.replays("DeliverNotification", before)
	during, next := s.waits("during"), s.waits("next")
	s.showsEncrypted(during)
	s.decryptsForTemporal(during)
	require.NoError(t, w.stop())

	// A worker without the key fails no workflow.
	s.env = append(slices.Clone(base), "HISTORY_KEYS="+newKey)
	w = s.startWorker(loadWorker...)
	s.orders("send-now", during)
	s.eventually(func() bool {
		return strings.Contains(w.output.String(), `the key \"old\": add this key to HISTORY_KEYS`)
	}, "the worker does not name the key:\n%s", w.output)
	s.fails(1, `the key "old": add this key to HISTORY_KEYS`, "replay", during)
	require.Contains(t, s.starter("delivery", "why", during), "PENDING")
	require.NoError(t, w.stop())

	s.env = append(slices.Clone(base), "HISTORY_KEYS="+newKey+","+oldKey, "ENCRYPT_HISTORIES=true")
	s.startWorker(loadWorker...)
	s.awaitDelivery(during, "SENT")
	s.orders("send-now", next)
	s.awaitDelivery(next, "SENT")
	s.replays("DeliverNotification", next)
	after := s.waits("after")
	require.Equal(t, "new", string(s.encryptedInput(after).GetMetadata()["encryption-key-id"]))
	require.Len(t, s.accepted(), 3+loadChannels)
	for id, messages := range s.accepted() {
		require.Equal(t, 1, messages, id)
	}
}

// waits emits an event whose delivery waits, and returns the delivery's id.
func (s *system) waits(name string) (delivery string) {
	s.t.Helper()
	id := s.emit(s.name+"-"+name, "LATER", "CUSTOMER/1", `{"number":1}`) + "-customer1-EMAIL"
	s.awaitDelivery(id, "PENDING")
	s.awaitBegun(id)
	s.eventually(func() bool { return strings.Contains(s.starter("delivery", "why", id), "it is waiting until") }, "%s does not wait", id)
	return id
}

// showsEncrypted requires that `starter` shows a failure, a pause and a wait, and that Temporal does not.
func (s *system) showsEncrypted(delivery string) {
	s.exec(`ALTER TABLE entity_member RENAME TO our_member`)
	s.exec(`CREATE VIEW entity_member AS SELECT entity_type, entity_id, user_type, user_id, active FROM our_member`)
	s.writeEvents("broken", 1)
	broken := s.eventID("broken", 0)
	s.eventually(func() bool {
		return strings.Contains(s.starter("event", "show", broken), "SQLSTATE 42703")
	}, "nothing is said of %s", broken)
	for _, pending := range s.pending(broken) {
		require.NotContains(s.t, pending.String(), "SQLSTATE")
	}
	s.exec(`CREATE OR REPLACE VIEW entity_member AS SELECT entity_type, entity_id, user_type, user_id, active, role FROM our_member`)
	s.awaitSuccess(broken)
	s.waitForLoad(1)
	s.replays("NotifyEvent", broken)

	poller := s.name + "-outbox-poller-1"
	s.starter("poller", "pause")
	require.Equal(s.t, "PAUSED", s.pollerStatus())
	s.starter("poller", "resume")
	s.eventually(func() bool { return s.pollerStatus() == "RUNNING" }, "the poller does not run")
	s.replays("PollOutbox", poller)

	for _, id := range []string{delivery, broken, broken + "-customer1-EMAIL"} {
		s.requireEncrypted(id)
	}
}

// requireEncrypted requires that Temporal stores no payload in clear text, except search attributes,
// and no message of a failure.
func (s *system) requireEncrypted(id string) {
	recorded, payloads := s.history(id), 0
	require.NoError(s.t, proxy.VisitPayloads(s.t.Context(), recorded, proxy.VisitPayloadsOptions{
		SkipSearchAttributes: true,
		Visitor: func(_ *proxy.VisitPayloadsContext, all []*commonpb.Payload) ([]*commonpb.Payload, error) {
			for _, p := range all {
				require.True(s.t, len(p.Data) == 0 || string(p.Metadata["encoding"]) == "binary/encrypted", "%s: %s", id, p)
				require.NotContains(s.t, string(p.Data), s.name)
				payloads++
			}
			return all, nil
		},
	}))
	require.NotZero(s.t, payloads)
	require.NoError(s.t, proxy.VisitFailures(s.t.Context(), recorded, proxy.VisitFailuresOptions{
		Visitor: func(_ *proxy.VisitFailuresContext, failure *failurepb.Failure) error {
			require.Equal(s.t, "Encoded failure", failure.Message, id)
			return nil
		},
	}))
}

func (s *system) encryptedInput(id string) *commonpb.Payload {
	s.t.Helper()
	return s.history(id).Events[0].GetWorkflowExecutionStartedEventAttributes().GetInput().GetPayloads()[0]
}

// decryptsForTemporal requires that the console decrypts payloads for Temporal's CLI.
func (s *system) decryptsForTemporal(delivery string) {
	s.t.Helper()
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{Endpoint: s.startConsole() + "/codec"})
	shown := must(remote.Decode([]*commonpb.Payload{s.encryptedInput(delivery)}))(s.t)
	require.Contains(s.t, string(shown[0].GetData()), delivery)
	hidden := must(remote.Encode(shown))(s.t)
	require.Equal(s.t, "old", string(hidden[0].GetMetadata()["encryption-key-id"]))
}
