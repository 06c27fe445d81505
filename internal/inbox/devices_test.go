package inbox_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// device registers a device, and returns the answer's status and the device's id.
func (g *process) device(t *testing.T, who notification.RecipientKey, of string) (status int, id string) {
	t.Helper()
	answer, body := g.do(t, request{method: "PUT", path: "/api/devices", token: token(t, who), body: `{"kind":"fcm","token":"` + of + `"}`})
	var device struct{ ID string }
	require.NoError(t, json.Unmarshal(body, &device))
	return answer.StatusCode, device.ID
}

func (g *process) remove(t *testing.T, who notification.RecipientKey, id string) int {
	t.Helper()
	answer, _ := g.do(t, request{method: "DELETE", path: "/api/devices/" + id, token: token(t, who)})
	return answer.StatusCode
}

// owners returns the active devices, as 10 has phone.
func (g *process) owners(t *testing.T) []string {
	t.Helper()
	return postgrestest.List(t, g.store, `SELECT user_id || ' has ' || token FROM recipient_device WHERE active ORDER BY 1`)
}

// Two people share a phone: it belongs to the last one who signed in.
func TestSharedDevice(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	_, id := g.device(t, giulia, "phone")
	_, again := g.device(t, giulia, "phone")
	require.Equal(t, id, again)
	require.Equal(t, []string{"10 has phone"}, g.owners(t))

	_, hers := g.device(t, marco, "phone")
	require.Equal(t, id, hers, "it is the same device")
	require.Equal(t, []string{"11 has phone"}, g.owners(t))
	require.Equal(t, http.StatusNotFound, g.remove(t, giulia, id), "it is not hers any more")

	g.device(t, giulia, "tablet")
	require.Equal(t, []string{"10 has tablet", "11 has phone"}, g.owners(t))
	require.Equal(t, http.StatusNoContent, g.remove(t, marco, id))
	require.Equal(t, []string{"10 has tablet"}, g.owners(t))
	require.Equal(t, http.StatusNotFound, g.remove(t, marco, id))

	var both sync.WaitGroup
	for range 10 {
		for _, who := range []notification.RecipientKey{giulia, marco} {
			both.Go(func() { g.device(t, who, "shared") })
		}
	}
	both.Wait()
	require.Len(t, g.owners(t), 2, "one of them has the shared device")
}

// At 50 devices the oldest one leaves, or an inactive one.
func TestManyDevices(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	for n := range 52 {
		status, _ := g.device(t, giulia, "phone-"+strconv.Itoa(n))
		require.Equal(t, http.StatusOK, status)
	}
	require.Len(t, g.owners(t), 50)
	require.NotContains(t, g.owners(t), "phone-0")
	require.NotContains(t, g.owners(t), "phone-1")
	g.exec(`UPDATE recipient_device SET active = false WHERE token = 'phone-40'`)
	status, _ := g.device(t, giulia, "phone-1")
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, g.owners(t), "phone-40")
	status, _ = g.device(t, giulia, "phone-2")
	require.Equal(t, http.StatusOK, status)
	require.Len(t, g.owners(t), 50)
}

// Devices of a view are another system's.
func TestDevicesOfAView(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	g.exec(`ALTER TABLE recipient_device RENAME TO phone`)
	g.exec(`CREATE VIEW recipient_device AS SELECT * FROM phone`)
	status, _ := g.device(t, giulia, "phone")
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Equal(t, http.StatusNotFound, g.remove(t, giulia, "x"))
}
