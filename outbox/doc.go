// Package outbox writes events into Herald's event_outbox. A business service in Go imports it
// and writes each event in the transaction that writes the service's rows. Herald tells the
// recipients after the commit; if the transaction rolls back, Herald tells nobody.
//
// The connection's search_path finds the table. If Herald has a separate schema, add that
// schema to the search_path of the service's role.
package outbox
