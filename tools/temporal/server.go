package main

import (
	"fmt"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

// host is the only address that the services listen on and announce.
const host = "127.0.0.1"

// shards cannot change once a database exists. Four suit a machine of two to four cores.
const shards = 4

// services lists the services in the order of their ports.
var services = []primitives.ServiceName{
	primitives.FrontendService,
	primitives.HistoryService,
	primitives.MatchingService,
	primitives.WorkerService,
}

// frontend returns the address for clients.
func frontend(s Settings) string { return fmt.Sprintf("%s:%d", host, s.Port) }

func newServer(s Settings, logger log.Logger) (temporal.Server, error) {
	cfg := serverConfig(s)
	authorizer, err := authorization.GetAuthorizerFromConfig(&cfg.Global.Authorization)
	if err != nil {
		return nil, fmt.Errorf("authorizer: %w", err)
	}

	// Static hosts instead of gossip: a restarted server does not wait until its former process
	// counts as dead.
	hosts := map[primitives.ServiceName]static.Hosts{}
	for i, name := range services {
		hosts[name] = static.SingleLocalHost(fmt.Sprintf("%s:%d", host, s.Port+i))
	}
	return temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithDynamicConfigClient(limits(s.Fair)),
		temporal.WithAuthorizer(authorizer),
		temporal.WithLogger(logger),
	)
}

func serverConfig(s Settings) *config.Config {
	rpc := map[string]config.Service{}
	for i, name := range services {
		rpc[string(name)] = config.Service{RPC: config.RPC{GRPCPort: s.Port + i, BindOnIP: host}}
	}
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host},
		},
		Services:            rpc,
		Persistence:         persistence(s),
		ClusterMetadata:     singleCluster(s),
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend(s)}, // unset, the worker service panics
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
		}},
	}
}

func persistence(s Settings) config.Persistence {
	return config.Persistence{
		DefaultStore:     "workflows",
		VisibilityStore:  "visibility",
		NumHistoryShards: shards,
		DataStores: map[string]config.DataStore{
			"workflows":  {SQL: sqlConfig(s, database)},
			"visibility": {SQL: sqlConfig(s, visibilityDatabase)},
		},
	}
}

// sqlConfig limits the connections of one store of one service. Four services with two stores
// each use far fewer than Postgres' 400.
func sqlConfig(s Settings, name string) *config.SQL {
	return &config.SQL{
		PluginName:      postgresql.PluginNamePGX,
		ConnectAddr:     s.Postgres,
		ConnectProtocol: "tcp",
		User:            postgresUser,
		Password:        s.PostgresPassword,
		DatabaseName:    name,
		MaxConns:        20,
		MaxIdleConns:    20,
		MaxConnLifetime: time.Hour,
	}
}

func singleCluster(s Settings) *cluster.Config {
	const name = "active"
	return &cluster.Config{
		FailoverVersionIncrement: 10,
		MasterClusterName:        name,
		CurrentClusterName:       name,
		ClusterInformation: map[string]cluster.ClusterInformation{
			name: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend(s)},
		},
	}
}
