package main

import (
	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

// newUI returns the Web UI, with every action allowed.
func newUI(s Settings) *server.Server {
	return server.NewServer(server_options.WithConfigProvider(&config.Config{
		TemporalGRPCAddress: frontend(s),
		Host:                host,
		Port:                s.UIPort,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		CORS:                config.CORS{CookieInsecure: true}, // plain HTTP on loopback; signals need the cookie
		DisableNewsFetch:    true,
		HideLogs:            true, // a line for every request
	}))
}
