package postgres

import "context"

// OpenForGateway returns a store for browsers, and one for webhooks and unsubscribing with a
// quarter as many connections more. So nobody who is signed in keeps out a receipt or a STOP.
func OpenForGateway(ctx context.Context, url string) (browsers, webhooks *Store, err error) {
	if browsers, err = open(ctx, url, "herald-gateway", 1); err != nil {
		return nil, nil, err
	}
	if webhooks, err = open(ctx, url, "herald-webhooks", 4); err != nil {
		browsers.Close()
		return nil, nil, err
	}
	return browsers, webhooks, nil
}
