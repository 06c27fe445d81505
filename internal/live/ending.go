package live

import (
	"encoding/json"

	"github.com/coder/websocket"
)

// ending is why the hub closes a socket.
type ending struct {
	cause string // for the client, and for operators
	code  websocket.StatusCode
}

// The endings. 4001: sign in again. 4008: come back with what you have. 1012: come back,
// to another gateway.
var (
	expired     = ending{"expired", 4001}
	deactivated = ending{"deactivated", 4001}
	slow        = ending{"slow", 4008}
	silent      = ending{"silent", 4008} // it does not answer pings
	restarting  = ending{"restarting", websocket.StatusServiceRestart}
	tooLarge    = ending{"too_large", websocket.StatusMessageTooBig}
	violation   = ending{"protocol", websocket.StatusProtocolError}

	// gone is a client that closed the socket, or whose connection broke. It is told nothing.
	gone = ending{"gone", 0}
)

// frame tells the client before the socket is closed.
func (e ending) frame() []byte {
	body, _ := json.Marshal(map[string]string{"type": "error", "code": e.cause}) // strings can be encoded
	return body
}
