// A business service in Go imports package outbox, which writes events into
// Herald's event_outbox, in the transaction that writes the service's own rows. From
// that commit on everybody concerned is told; if the transaction rolls back, nobody is.
//
// The table is found by the connection's search_path. Where Herald has a schema of its
// own, the service's role has that schema in its search_path too.
package outbox
