package launch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
)

// events is a history, whole or cut off.
type events struct {
	left []*history.HistoryEvent
	err  error // in place of the first event
}

func (e *events) HasNext() bool { return len(e.left) > 0 || e.err != nil }

func (e *events) Next() (*history.HistoryEvent, error) {
	if e.err != nil {
		return nil, e.err
	}
	next := e.left[0]
	e.left = e.left[1:]
	return next, nil
}

// What a run of release 0.2 has left to do is read from its history, which may end anywhere.
func TestEventRemainder(t *testing.T) {
	t.Parallel()

	tests := []struct {
		history string
		cut     int // how many events there are; 0: all
		want    launch.Remainder
	}{
		{history: "notify_first_sent", cut: 3, want: launch.Remainder{Publish: true}},
		{history: "notify_first_sent"},
		{history: "notify_first_again"},
		{history: "notify_paged", cut: 7, want: launch.Remainder{Publish: true}},
		{history: "notify_paged"},
		{history: "notify_topic"},
		{history: "notify_topic_only", want: launch.Remainder{TopicOnly: true}},
	}
	for _, tt := range tests {
		file, err := os.Open(filepath.Join("..", "..", "workflows", "testdata", "v0.2", tt.history+".json"))
		require.NoError(t, err)
		recorded, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{LastEventID: int64(tt.cut)})
		require.NoError(t, err)
		require.NoError(t, file.Close())

		left, err := remainder(t, &events{left: recorded.GetEvents()})
		require.NoError(t, err)
		require.Equal(t, tt.want, left, "%s %d", tt.history, tt.cut)
	}
	left, err := remainder(t, &events{err: serviceerror.NewNotFound("its retention has ended")})
	require.NoError(t, err)
	require.Equal(t, launch.Remainder{Publish: true}, left)
	_, err = remainder(t, &events{err: serviceerror.NewUnavailable("away")})
	require.ErrorContains(t, err, "away")
}

func remainder(t *testing.T, recorded *events) (launch.Remainder, error) {
	t.Helper()
	server := mocks.NewClient(t)
	server.On("GetWorkflowHistory", mock.Anything, "evt-1", "", false, mock.Anything).Return(recorded)
	return (&launch.Launcher{Client: server}).EventRemainder(t.Context(), "evt-1")
}
