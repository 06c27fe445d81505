package webhook

import "net"

// UseResolver makes the dialers of a sender look names up in resolver.
func (s *Sender) UseResolver(resolver *net.Resolver) { s.wire = newTransport(s.rules, 1, resolver) }
