// Package relay moves rows out of outboxes: Herald's own and other services'. It adopts rows as
// events, so that people hear about them, and produces them to Kafka or to a webhook, unchanged.
//
// # Overview
//
// A source is one table of one service. Its rows have an order, and a record may have a key: rows of
// one key must arrive in their order, and rows without a key have no order. The relay owns neither the
// table nor the topic. It reads the table's pending rows, in order, and marks each row once.
//
// Slots divide the work. A row belongs to the slot of its key, or of its event's id if it has no key.
// A poller takes its share of the slots from the source's own database, as locks that end with its
// connection. So one poller alone handles a key. A dead process frees its slots at once, and a dead
// machine within about 20 seconds.
//
// A scan reads pages in one snapshot. For each page it
//
//  1. reads the pending rows of its slots, and the rows that source_row remembers (prepare);
//  2. adopts new rows as events (adopt);
//  3. decides about each row: send it, only mark it, or pass it over (evaluate);
//  4. produces the due rows in one call, in order (produce);
//  5. marks the produced rows in their table (mark), and remembers the refused rows (refuse).
//
// The front reads the next page while it produces one, and marks one while it produces the next.
//
// # Order
//
// In a call, a record of a key is produced only if all earlier records of the key in the call were
// acknowledged (ErrKeyHeld). Between calls, a row that must wait holds its key: source_row has the
// hash of the key of each row that waits, a scan knows the keys that it has refused itself (held),
// and later rows of these keys are passed over. Ended rows, sent or failed for good, free their key.
//
// # Two lanes
//
// Rows that are passed over stay pending, so each scan from the first row would read them again. If
// they fill more than a page, the front moves past them, and follows the new rows. The back then
// sweeps from the first row to the last, a page between two scans of the front. Its next sweep waits
// four times as long as the last sweep took, and only as long as that if a row is due for a retry.
//
// While a key waits, the front passes over its rows: the stored hash holds them. When the back has
// ended the waiting row of a key, rows of that key may lie behind the back and before the front. So
// the key is Released: only the back sends its rows until its sweep has reached the last row. Then all
// rows that the front has left are sent, in order, and the front may send the key again. If a sweep
// passes over a page at most, the front returns to the first row.
//
// # Topics that take nothing
//
// A topic that is missing, forbidden or without a leader backs off: its rows are passed over and hold no
// keys. Each poller finds this out for its slots, and stores it for the next owner (BackOffTopic). A sweep
// that begins after this time tries the topic again (Open), from its first row. The back-off ends
// when a sweep has sent all of the topic's rows in its slots, so no new row overtakes an old row.
//
// # Why nothing is lost
//
// A row is marked as sent only after it was adopted, if people are told, and its topic has
// acknowledged its record. A row that no event can be made of is remembered instead. If the process
// dies before the mark, the row is still pending: the next owner of its slot adopts it again, which
// the event's id makes harmless, and produces it again. So a crash repeats at most two pages of each
// poller. Rows that were produced and could not be marked stay in the process's memory (unmarked), and
// in source_row if their table refuses the mark. No scan begins before they are marked or stored.
//
// A position is stored only when its owner stops in order, and only for exactly its slots. After a
// death or a change of settings the next poller begins at the first row.
//
// # Why it ends
//
// A scan begins no page after five seconds, a page is at most a batch, and a scan times out after 65
// seconds if a server does not answer. A refused row is retried after growing times, until its
// topic takes it or it fails for good. A row that vanished is forgotten (forgetGone), so its key is
// free. Servers out of reach make the poller back off.
package relay
