// Package live holds the WebSockets of a gateway. It passes each message from the broker to the
// sockets of its recipient, and records the clients' acknowledgements. A socket gets missed messages
// from the table, which has every message.
//
// # Overview
//
// A socket has two sources: frames that the broker delivers (live), and pages that it reads from the
// table (page). The broker is quick, but forgets. The table has every notification, but a row enters
// the inbox only after its frame was published. A catch-up joins the two. It has one of four kinds:
//
//   - after: the client names its last notification, and gets everything since.
//   - unread: the client has none, or it is gone. It gets up to MaxUnread unread notifications.
//   - missed: the gateway lost its connection to the broker, or the broker dropped messages.
//   - late: a short and a long time after a catch-up, for rows recorded after it had read past them.
//
// The catch-ups of a socket run one after the other. Each reads pages in the order of the inbox, from
// its first position until no rows are left. A reader of the hub takes a socket, reads one page, and
// wakes the goroutine that writes the socket. When the page is written, the next page is requested.
//
// Order: while a catch-up waits or runs, frames from the broker wait in live. So old notifications
// come before new ones.
//
// Nothing is lost: a socket joins its room before it reads any request, so a message comes from the
// broker, from the table, or from both. Rows become visible out of order, so a catch-up from a time or
// a notification begins a minute (readBack) early. A row that is recorded after the last late catch-up
// is in the inbox, but this socket may not get it.
//
// Nothing comes twice: the socket remembers the last maxSent ids that it has sent, and skips them.
//
// It ends: the position of a catch-up only advances, and a failed page is read again after a growing
// wait. A client that does not take a page in time, or lets too many frames wait, is cut off; it
// reconnects and names its last notification. Pages that were read and not written share one limit of
// memory (heldPages), so the cut also frees the readers for other sockets. A recipient's sockets share
// a rate of pages.
package live
