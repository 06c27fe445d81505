// Package sandbox stands in for SendGrid, Twilio, FCM and Slack, so that the real SDKs
// run on one machine, with faults on demand. It rejects what the providers reject, in
// their words, and sends nothing: its ledger has what people would have got.
//
// The ledger holds addresses and texts, as evidence. Logs never do.
package sandbox

import (
	"errors"
	"net/http"

	"herald/internal/notification"
)

// Config is the configuration of a sandbox.
type Config struct {
	Ledger string // path of the ledger; created if it does not exist, else continued
	Local  bool   // accept callback URLs that only this machine or its network can reach
}

// Server is the sandbox. It is safe for concurrent use.
type Server struct {
	ledger *ledger
	faults *faults
	mux    *http.ServeMux
}

// New opens the ledger and returns a sandbox without faults. It returns an error if the
// ledger cannot be opened, or the file is not a ledger.
func New(cfg Config) (*Server, error) {
	if cfg.Ledger == "" {
		return nil, errors.New("sandbox: the path of the ledger is missing")
	}
	ledger, err := openLedger(cfg.Ledger)
	if err != nil {
		return nil, err
	}
	s := &Server{ledger: ledger, faults: &faults{byChannel: map[notification.Channel]Fault{}}, mux: http.NewServeMux()}
	s.route(cfg.Local)
	return s, nil
}

func (s *Server) route(local bool) {
	s.mux.Handle("POST /v3/mail/send", s.provide(sendgrid))
	s.mux.Handle("POST /2010-04-01/Accounts/{sid}/Messages.json", s.provide(twilio(local)))
	s.mux.Handle("POST /v1/projects/{project}/messages:send", s.provide(fcm))
	s.mux.Handle("POST /services/{path...}", s.provide(slack))

	s.mux.HandleFunc("GET /{$}", s.page)
	s.mux.HandleFunc("GET /ledger", s.ledger.serve)
	s.mux.HandleFunc("GET /faults", s.faults.list)
	s.mux.HandleFunc("PUT /faults/{channel}", s.faults.set)
	s.mux.HandleFunc("DELETE /faults/{channel}", s.faults.clear)
	s.mux.HandleFunc("DELETE /faults", s.faults.clearAll)
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
}

// ServeHTTP answers as the provider that has the path, or as the sandbox itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close closes the ledger. Requests that come later are answered with 500.
func (s *Server) Close() error { return s.ledger.file.Close() }
