// Package relay moves rows out of outboxes: Herald's own and other services'. It adopts rows as
// events, so that people hear about them, and produces them to Kafka or to a webhook, unchanged.
//
// # Overview
//
// A source is one table of one service. Its rows have an order, and a record may have a key: rows of
// one key must arrive in their order, and rows without one have none. The relay owns neither the table
// nor the topic. It may only read the table's pending rows, in order, and mark each of them once.
//
// Slots divide the work. A row belongs to the slot of its key, or of its event's id if it has no key.
// A poller takes its share of the slots from the source's own database, as locks that end with its
// connection. So one poller alone handles a key, and a dead poller's slots are free at once.
//
// A look is one walk over pages in a snapshot of at most five seconds. For each page it
//
//  1. reads the pending rows of its slots (prepare), and what source_row remembers of them;
//  2. adopts new rows as events (adopt);
//  3. decides about each row: send it, only mark it, or pass it over (judge);
//  4. produces the due rows in one call, in order (produce);
//  5. marks the produced rows in their table (mark), and remembers the refused rows (refuse).
//
// It reads the next page while it produces one, and marks one while it produces the next.
//
// # Order
//
// In a call, a record of a key is produced only if all earlier records of the key in the call were
// acknowledged (ErrKeyHeld). Between calls, a row that must wait holds its key: source_row has the
// hash of the key of each row that waits, a look knows the keys that it has refused itself (held),
// and later rows of these keys are passed over. Ended rows, sent or failed for good, free their key.
//
// # Two lanes
//
// Rows that are passed over stay pending, so each look from the first row would read them again. If
// they fill more than a page, the front moves past them, and follows the new rows. The back then
// sweeps from the first row to the last, a page between two looks of the front, and takes at most a
// fifth of the time. While a key waits, the front passes over its rows: the stored hash holds them.
// When the back has ended the waiting row of a key, rows of that key may lie behind the back and
// before the front. So the key is Released: only the back sends its rows until its sweep has reached
// the last row. Then all that the front has left is sent, in order, and the front may send the key
// again. If a sweep passes over less than a page, the front returns to the first row.
//
// # Topics that take nothing
//
// A topic that is missing or forbidden rests, in all pollers: its rows are passed over and hold no
// keys. A sweep that begins after the rest tries the topic again (Open), from its first row. The rest
// ends when a sweep has sent all of the topic's rows, so no new row overtakes an old one.
//
// # Why nothing is lost
//
// A row is marked only after it was adopted and after all replicas have its record. If the process
// dies in between, the row is still pending: the next owner of its slot adopts it again, which the
// event's id makes harmless, and produces it again, which is the one repeat of a crash. Rows that
// were produced and could not be marked stay in the process's memory (unmarked), and in source_row if
// their table refuses the mark; nothing else is sent before they are marked or stored. A position is
// stored only when its owner ends in order. After a death or a change of settings the next poller
// begins at the first row.
//
// # Why it ends
//
// Each look reads for at most five seconds and each page at most a batch. A refused row is retried
// after growing times, until it fails for good or its service takes it back; a row that vanished is
// forgotten (forgetGone), so its key is free. Servers out of reach make the poller back off.
package relay
