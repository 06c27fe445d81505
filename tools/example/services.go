package example

import (
	_ "embed" // the services' scripts
	"strings"
)

//go:embed order_service.sql
var orderServiceSQL string

//go:embed wallet_hub.sql
var walletHubSQL string

//go:embed orders.json
var ordersJSON []byte

// The outboxes of the example's two services. sources.yaml lists them, and outboxes.sql
// creates them.
const (
	OrdersTable = "orders.outbox"
	WalletTable = "wallet.outbox"
)

// Topics returns the topics that get the events of the two services.
func Topics() []string {
	return []string{"order-events", "WalletCreated-out-0", "FundsAdded-out-0", "FundsWithdrawn-out-0"}
}

// ServiceScripts returns one SQL script for each of the two services in a run of the example. Each
// script runs in one transaction.
func ServiceScripts(run string) []string {
	return []string{strings.ReplaceAll(orderServiceSQL, "{run}", run), strings.ReplaceAll(walletHubSQL, "{run}", run)}
}

// Orders returns the expected events of the order service. Their types and payloads are in its
// SQL script.
func Orders() ([]ExpectedEvent, error) { return ReadEvents(ordersJSON) }
