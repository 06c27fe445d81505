//go:build !drill_defect

package main

import "herald/internal/channel"

// planted returns the sender as it is. The build tag drill_defect plants a defect here, which the
// drill must find.
func planted(sender channel.Sender) channel.Sender { return sender }
