//go:build !drill_defect

package main

import "herald/internal/channel"

// planted returns the sender unchanged. With the build tag drill_defect it returns a sender with a
// defect, which the drill must find.
func planted(sender channel.Sender) channel.Sender { return sender }
