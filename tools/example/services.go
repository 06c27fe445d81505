package example

import (
	_ "embed" // what the services do
	"strings"
)

//go:embed order_service.sql
var orderServiceSQL string

//go:embed wallet_hub.sql
var walletHubSQL string

//go:embed orders.json
var ordersJSON []byte

// The outboxes of the example's two services. sources.yaml lists them, and outboxes.sql
// makes them.
const (
	OrdersTable = "orders.outbox"
	WalletTable = "wallet.outbox"
)

// Topics are where the events of the two services go.
func Topics() []string {
	return []string{"order-events", "WalletCreated-out-0", "FundsAdded-out-0", "FundsWithdrawn-out-0"}
}

// ServiceScripts are the steps of the two services in a run of the example: one transaction each.
func ServiceScripts(run string) []string {
	return []string{strings.ReplaceAll(orderServiceSQL, "{run}", run), strings.ReplaceAll(walletHubSQL, "{run}", run)}
}

// Orders returns the events of the order service, without what its own SQL says of them.
func Orders() ([]ExpectedEvent, error) { return ReadEvents(ordersJSON) }
